import { JobSignal, type SignalCode } from './events.ts';
import type { LeasedJob } from './generated.ts';

/**
 * Where a job of this worker stands.
 *
 *   running --the handler ends--> settling --Dibs answers--> done
 *      \--the lease is lost, and the handler throws------------/
 *
 * Its lease is extended until it is done. What an extend says of the lease counts only while it is running: later, the settlement's
 * own answer decides.
 */
export type RunState = 'running' | 'settling' | 'done';

const now = () => performance.now();
/** The first extend comes at a third of the lease, or a little earlier, so that leases do not move in step. */
const share = () => (0.8 + Math.random() * 0.2) / 3;

/** Between the extends of a lease that is about to end with its session. */
const DOUBTED_MS = 1000;

/** What was reported while another report was on its way is sent together. */
export interface Report {
  value: unknown;
  done: ((error?: unknown) => void)[];
}

export class Run {
  readonly job: LeasedJob;
  /** The session that its lease is tied to. */
  readonly session: string | undefined;
  #isDoubted = false;
  state: RunState = 'running';
  /** Fires the handler's signal. */
  readonly #abort = new AbortController();
  /** By the monotonic clock of this process. The server's clock plays no part. */
  leaseEndsAt: number;
  extendAt: number;
  /** An extend is on its way, and not overdue. */
  extending = false;
  extendTurn = 0;
  extendFailures = 0;
  lost = false;
  report: Report | undefined;
  /** Resolves when it is sure that the lease is there, or that it is not. */
  readonly confirmed: Promise<void>;
  #confirm: () => void = () => undefined;
  /** Resolves when the handler has ended. */
  ended: Promise<void> = Promise.resolve();

  /** A doubtful lease may be over already: its job is begun only after an extend. */
  constructor(job: LeasedJob, isDoubtful: boolean, session?: string) {
    this.job = job;
    this.session = session;
    this.leaseEndsAt = now() + job.lease_seconds * 1000;
    this.extendAt = isDoubtful ? now() : this.#next(now());
    this.confirmed = new Promise((resolve) => {
      if (isDoubtful) this.#confirm = resolve;
      else resolve();
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The first code wins. */
  get signalled(): SignalCode | undefined {
    return (this.signal.reason as JobSignal | undefined)?.code;
  }

  fire(code: SignalCode): void {
    this.#abort.abort(new JobSignal(code));
    this.#confirm();
  }

  /** Nobody sends its report any more. */
  dropReport(): void {
    for (const done of this.report?.done ?? []) done(this.signal.reason);
    this.report = undefined;
  }

  /** Its session has ended. Dibs takes the lease back in a moment: only extends tell when it has. */
  doubt(): void {
    this.#isDoubted = true;
    this.extendAt = now();
  }

  beginExtend(): number {
    this.extending = true;
    return ++this.extendTurn;
  }

  /** An extend that was sent at this moment counted. A late answer takes nothing back of what a later extend got. */
  extended(sentAt: number): void {
    const endsAt = sentAt + this.job.lease_seconds * 1000;
    if (endsAt >= this.leaseEndsAt) {
      this.leaseEndsAt = endsAt;
      this.extendAt = this.#next(sentAt);
    }
    this.extendFailures = 0;
    this.#confirm();
  }

  #next(from: number): number {
    const ms = this.job.lease_seconds * 1000 * share();
    return from + (this.#isDoubted ? Math.min(ms, DOUBTED_MS) : ms);
  }
}
