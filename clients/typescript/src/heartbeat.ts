import { backoffMs } from './backoff.ts';
import type { Caller } from './caller.ts';
import { DibsError, isTemporary } from './errors.ts';
import type { Observer, SignalCode } from './events.ts';
import { extendLease, type SettleResult, settleJobs } from './generated.ts';
import type { Report, Run } from './run.ts';
import { listIn } from './shape.ts';
import { after, type Timer } from './timer.ts';

const now = () => performance.now();
const MOST = 1000;
/** An extend that has no answer yet is sent again: after an outage, leases must be extended within 5 s. */
const PATIENCE_SECONDS = 2;
/** However long a Retry-After asks to wait. A third more at most, at random, so that many workers do not come in step. */
const LONGEST_PAUSE_MS = 3000;
/** Dibs answers within 5 s. */
const LONGEST_REQUEST_SECONDS = 10;
/** What a refused extend says of the lease. Others say that the request was wrong. */
const OVER = ['job_not_found', 'lease_lost'];

/** Extends the leases of the runs: each at a third of its length, those that are due soon together. */
export class Heartbeat {
  readonly #client: Caller;
  readonly #runs: Set<Run>;
  readonly #signal: (run: Run, code: SignalCode) => void;
  readonly #observe: Observer;
  #timer: Timer | undefined;

  constructor(
    client: Caller,
    runs: Set<Run>,
    { signal, observe }: { signal(run: Run, code: SignalCode): void; observe: Observer },
  ) {
    this.#client = client;
    this.#runs = runs;
    this.#signal = signal;
    this.#observe = observe;
  }

  /** Looks when the next lease is due. To be called when that may have changed. */
  schedule = (): void => {
    this.#timer?.clear();
    let next = Number.POSITIVE_INFINITY;
    for (const run of this.#runs) if (beats(run)) next = Math.min(next, dueAt(run));
    this.#timer = after(Math.max(0, next - now()), this.#beat);
  };

  /** Sends progress with an extend. */
  report(run: Run, value: unknown): Promise<void> {
    const heard = new Promise<void>((resolve, reject) => {
      if (run.lost || run.state !== 'running') throw run.signal.reason ?? new Error('the job has ended');
      const done = (error?: unknown) => (error === undefined ? resolve() : reject(error));
      run.report = { value, done: [...(run.report?.done ?? []), done] };
      this.schedule();
    });
    // A handler that does not wait for it must not end the process.
    heard.catch(() => undefined);
    return heard;
  }

  stop(): void {
    this.#timer?.clear();
  }

  #beat = (): void => {
    const at = now();
    const due = [...this.#runs].filter((run) => beats(run) && isNear(run, at));
    for (const run of due)
      if (run.state === 'running' && at > run.leaseEndsAt) this.#signal(run, 'lease_expired');
    // A report that is refused must not spoil the extends of others.
    for (const run of due) if (run.report) void this.#extendAndReport(run, run.report);
    const others = due.filter((run) => !run.extending).slice(0, MOST);
    if (others.length > 0) void this.#extend(others);
    this.schedule();
  };

  async #extend(runs: Run[]): Promise<void> {
    await this.#send(runs, async (timeoutSeconds) => {
      const items = runs.map(({ job: { id, lease_token, lease_seconds } }) => ({
        id,
        lease_token,
        lease_seconds,
      }));
      const answer = await settleJobs(this.#client, { extends: items }, { timeoutSeconds });
      return listIn(answer, 'extends', items.length);
    });
  }

  async #extendAndReport(run: Run, report: Report): Promise<void> {
    const { id, lease_token, lease_seconds } = run.job;
    run.report = undefined;
    await this.#send([run], async (timeoutSeconds) => {
      const body = { lease_token, lease_seconds, progress: report.value };
      try {
        const answer = await extendLease(this.#client, id, body, { timeoutSeconds });
        listIn({ extends: [answer] }, 'extends');
        for (const done of report.done) done();
        return [{ ...answer, status: 200 }];
      } catch (error) {
        if (isTemporary(error) && run.state === 'running' && !run.lost) {
          const { value, done } = run.report ?? { value: report.value, done: [] };
          run.report = { value, done: [...report.done, ...done] };
          throw error;
        }
        for (const done of report.done) done(run.lost ? run.signal.reason : error);
        if (!(error instanceof DibsError) || !OVER.includes(error.code)) throw error;
        return [{ id, status: error.status, problem: error.problem }];
      }
    });
  }

  /**
   * A slow answer counts. Without one, the extend is sent again soon: it may be that only this request hangs.
   */
  async #send(runs: Run[], send: (timeoutSeconds: number) => Promise<SettleResult[]>): Promise<void> {
    const sentAt = now();
    const shortest = Math.min(...runs.map((run) => run.job.lease_seconds));
    const turns = new Map(runs.map((run) => [run, run.beginExtend()]));
    const isLatest = (run: Run) => run.extendTurn === turns.get(run);
    // One for all: with one for each, the soonest of a thousand would come at once, and take the others with it.
    const random = Math.random();
    const overdue = after(Math.min(shortest / 3, PATIENCE_SECONDS) * 1000, () => {
      for (const run of runs) if (isLatest(run)) run.extending = false;
      this.schedule();
    });
    try {
      const results = await send(Math.max(1, Math.min(shortest, LONGEST_REQUEST_SECONDS)));
      for (const [i, run] of runs.entries()) this.#answered(run, results[i], sentAt, random);
    } catch (error) {
      let longest = 0;
      for (const run of runs.filter(isLatest)) longest = Math.max(longest, this.#failed(run, error, random));
      this.#observe({ type: 'retrying', request: 'extend', error, seconds: longest / 1000 });
    } finally {
      overdue.clear();
      for (const run of runs) if (isLatest(run)) run.extending = false;
      this.schedule();
    }
  }

  #answered(run: Run, result: SettleResult | undefined, sentAt: number, random: number): void {
    const status = result?.status ?? 500;
    if (status === 200) {
      run.extended(sentAt);
      if (result?.cancel_requested && run.state === 'running') this.#signal(run, 'cancel_requested');
    } else if (status === 404 || status === 409) {
      run.lost = true;
      if (run.state === 'running') this.#signal(run, 'lease_lost');
      run.dropReport();
    } else this.#failed(run, undefined, random);
  }

  /** Tries again soon, while there is something left of the lease, and after that: the lease may still be there. */
  #failed(run: Run, error: unknown, random: number): number {
    const longest = LONGEST_PAUSE_MS * (1 + random / 3);
    const backoff = backoffMs(run.extendFailures, error, () => random);
    const ms = Math.min((run.job.lease_seconds * 1000) / 6, backoff, longest);
    run.extendFailures++;
    run.extendAt = now() + ms;
    return ms;
  }
}

const beats = (run: Run) => run.state !== 'done' && !run.lost && !run.extending;
/** A report goes at once, unless the last extend failed. An expired lease is noticed when it ends. */
const dueAt = (run: Run) => (run.report && run.extendFailures === 0 ? 0 : run.extendAt);
/** Extends go a little early to go together. Those with a report go alone. */
const isNear = (run: Run, at: number) => dueAt(run) <= at + (run.report ? 0 : run.job.lease_seconds * 30);
