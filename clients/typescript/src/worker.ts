import { backoffMs } from './backoff.ts';
import { type Caller, RawJson } from './caller.ts';
import { DibsError, isTemporary, mayBeDone } from './errors.ts';
import { JobSignal, type Observer, type SignalCode, type WorkerEvent } from './events.ts';
import {
  claimJobs,
  type LeasedJob,
  type Problem,
  type SettleResult,
  type SettleResults,
} from './generated.ts';
import { Heartbeat } from './heartbeat.ts';
import { createJob, type Handler, type Middleware, wrapped } from './job.ts';
import { Outbox, requestOf, type Settlement, settlementOf } from './outbox.ts';
import { Ack, Nack, type Outcome, outcomeOf, Release } from './outcome.ts';
import { Run } from './run.ts';

export interface WorkerOptions {
  queues: string[];
  /** How many jobs it works on at once, up to 1000. Default: 10. */
  concurrency?: number;
  /** Default: the queue's. It is extended while the handler runs, so it need not be as long as the work. */
  leaseSeconds?: number;
  /** How long a claim waits for jobs, up to 60. Default: 20. */
  waitSeconds?: number;
  /** Shown to people who look at a job. */
  name?: string;
  /** How long `stop` lets handlers go on. Then their signals fire. A second later their jobs are released. Default: 25. */
  stopSeconds?: number;
  /** What the handler gets as `job.payload`. Default: `JSON.parse`. When it throws, the job is nacked. */
  decode?(text: string, job: LeasedJob): unknown;
  /** Around each handler, the first one outermost. */
  middleware?: Middleware[];
  /** Is told all that the worker does. */
  observe?: Observer;
}

/** The request that wants jobs. The same `claim_id` is sent until an answer comes, so that no lease is lost with an answer. */
interface Claim {
  id: string;
  sentAt: number;
  waitSeconds: number;
  isRepeated: boolean;
  /** The leases that it has got. A repeat is answered the same ones. */
  tokens: Set<string>;
  hangUp: AbortController;
}

const now = () => performance.now();
/** How long a handler may take to end after its signal, when the worker stops. */
const LAST_MS = 1000;
/** How long the worker then tries to send what is left, and how long it tries to take back a claim. */
const FLUSH_MS = 5000;

/**
 * Claims jobs, lets the handler work on them, extends their leases, and settles them.
 *
 *   new --run()--> running --stop(), or a refused claim--> stopping --nothing is left, or time is up--> stopped
 *
 * Three kinds of request go side by side, at most one of each: a claim that waits for jobs (`#claim`), a settlement of all that is
 * done (`#isSettling`), and an attempt to take back a claim when the worker stops (`#isClosing`). While no claim waits, a settlement
 * carries one that does not wait: then there is one request for each job. `#pump` looks at what stands, and sends what is due. It
 * is called after each change. Extends go by themselves, see Heartbeat.
 */
export class Worker<Payload = unknown> {
  readonly #client: Caller;
  readonly #options: WorkerOptions;
  readonly #concurrency: number;
  readonly #handler: Handler<Payload>;
  readonly #runs = new Set<Run>();
  readonly #outbox = new Outbox();
  readonly #heartbeat: Heartbeat;
  #phase: 'new' | 'running' | 'stopping' | 'stopped' = 'new';
  #claim: Claim | undefined;
  #isClaiming = false;
  #isSettling = false;
  /** The settlement on its way carries the claim. */
  #carriesClaim = false;
  #isClosing = false;
  #claimFailures = 0;
  #claimNotBefore = 0;
  #settleFailures = 0;
  #settleNotBefore = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closeUntil = 0;
  #stopTimers: ReturnType<typeof setTimeout>[] = [];
  #error: unknown;
  #end: () => void = () => undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor(client: Caller, options: WorkerOptions, handler: Handler<Payload>) {
    this.#client = client;
    this.#options = options;
    this.#concurrency = options.concurrency ?? 10;
    if (!Number.isInteger(this.#concurrency) || this.#concurrency < 1 || this.#concurrency > 1000)
      throw new RangeError('concurrency must be a whole number from 1 to 1000');
    this.#handler = wrapped(handler, (options.middleware ?? []) as Middleware<Payload>[]);
    this.#heartbeat = new Heartbeat(client, this.#runs, { signal: this.#signal, observe: this.#observe });
  }

  /** Works until `stop`. @throws DibsError when Dibs refuses a claim for good: a name that is wrong, a key that may not */
  async run(): Promise<void> {
    if (this.#phase !== 'new') throw new Error('a worker runs once');
    this.#phase = 'running';
    this.#pump();
    await this.#ended;
    if (this.#error !== undefined) throw this.#error;
  }

  /** Takes no more jobs, and lets the handlers end. A second call may make the time shorter. */
  async stop({ deadlineSeconds = this.#options.stopSeconds ?? 25 } = {}): Promise<void> {
    if (this.#phase === 'new') this.#finish();
    if (this.#phase === 'stopped') return;
    if (this.#phase === 'running') {
      this.#phase = 'stopping';
      this.#closeUntil = now() + FLUSH_MS;
      this.#observe({ type: 'stopping' });
    }
    this.#at(deadlineSeconds * 1000, () => {
      for (const run of this.#working()) this.#signal(run, 'stopping');
    });
    this.#at(deadlineSeconds * 1000 + LAST_MS, () => {
      for (const run of this.#working()) this.#settle(run, new Release());
    });
    this.#at(deadlineSeconds * 1000 + LAST_MS + FLUSH_MS, () => this.#finish());
    this.#pump();
    await this.#ended;
  }

  #at(ms: number, act: () => void): void {
    this.#stopTimers.push(setTimeout(act, ms));
  }

  #observe = (event: WorkerEvent): void => {
    try {
      this.#options.observe?.(event);
    } catch {
      // An observer that fails must not stop the work.
    }
  };

  #working = () => [...this.#runs].filter((run) => run.state === 'running');

  #signal = (run: Run, code: SignalCode): void => {
    if (run.signalled) return;
    this.#observe({ type: 'signalled', job: run.job, code });
    run.fire(code);
  };

  get #free(): number {
    return this.#concurrency - this.#working().length;
  }

  /** Sends what is due. What is not due yet sets a timer. */
  #pump(): void {
    clearTimeout(this.#timer);
    if (this.#phase === 'new' || this.#phase === 'stopped') return;
    const at = now();
    const waits: number[] = [];
    if (this.#outbox.size > 0 && !this.#isSettling) {
      const wait = Math.max(this.#settleNotBefore - at, this.#outbox.waitMs(at) ?? 0);
      if (wait <= 0) void this.#sendSettlements(this.#mayClaim() && this.#claimNotBefore <= at);
      else waits.push(wait);
    }
    const isClosable = this.#phase === 'stopping' && this.#claim && !this.#isClosing && !this.#carriesClaim;
    if (isClosable) {
      if (at > this.#closeUntil) this.#claim = undefined;
      else waits.push(this.#closeUntil - at + 1);
    }
    if (this.#mayClaim() || (isClosable && this.#claim)) {
      if (this.#claimNotBefore > at) waits.push(this.#claimNotBefore - at);
      else void (isClosable ? this.#closeClaim() : this.#sendClaim());
    }
    if (waits.length > 0) this.#timer = setTimeout(() => this.#pump(), Math.min(...waits));
    const isIdle = !this.#isClaiming && !this.#isSettling && !this.#isClosing;
    if (this.#phase === 'stopping' && isIdle && !this.#claim && this.#runs.size === 0) this.#finish();
  }

  #mayClaim = () => this.#phase === 'running' && !this.#isClaiming && this.#free > 0;

  #finish(): void {
    if (this.#phase === 'stopped') return;
    this.#phase = 'stopped';
    clearTimeout(this.#timer);
    for (const timer of this.#stopTimers) clearTimeout(timer);
    this.#heartbeat.stop();
    this.#claim?.hangUp.abort();
    this.#observe({ type: 'stopped', error: this.#error });
    this.#end();
  }

  // ---- Claiming

  /** The body of the claim. An unanswered one goes again, with its id. */
  #nextClaim(waitSeconds: number): object {
    this.#claim ??= {
      id: crypto.randomUUID(),
      sentAt: 0,
      waitSeconds,
      isRepeated: false,
      tokens: new Set(),
      hangUp: new AbortController(),
    };
    this.#claim.sentAt = now();
    this.#claim.waitSeconds = waitSeconds;
    const { queues, leaseSeconds, name } = this.#options;
    return {
      queues,
      limit: Math.max(1, this.#free),
      lease_seconds: leaseSeconds,
      wait_seconds: waitSeconds,
      worker: name,
      claim_id: this.#claim.id,
      payload_format: 'text',
    };
  }

  async #sendClaim(): Promise<void> {
    this.#isClaiming = true;
    const claim = this.#nextClaim(this.#options.waitSeconds ?? 20);
    const open = this.#claim as Claim;
    try {
      this.#claimed(open, (await claimJobs(this.#client, claim, { signal: open.hangUp.signal })).jobs);
    } catch (error) {
      // If not, it was closed meanwhile.
      if (this.#claim === open) this.#claimFailed(error);
    } finally {
      this.#isClaiming = false;
      this.#pump();
    }
  }

  /**
   * A claim that waits, or whose answer was lost, is repeated by one that does not wait. It takes the place of the first, and gets what
   * the first got. So when the worker stops, no job is left behind with a lease.
   */
  async #closeClaim(): Promise<void> {
    this.#isClosing = true;
    const open = this.#claim as Claim;
    try {
      const { jobs } = await claimJobs(
        this.#client,
        { ...this.#nextClaim(0), limit: 1 },
        { timeoutSeconds: 5 },
      );
      this.#claimed(open, jobs);
      open.hangUp.abort();
    } catch (error) {
      this.#claimFailed(error);
    } finally {
      this.#isClosing = false;
      this.#pump();
    }
  }

  #claimed(claim: Claim, jobs: LeasedJob[]): void {
    if (this.#claim === claim) this.#claim = undefined;
    this.#claimFailures = 0;
    const lateMs = now() - claim.sentAt - claim.waitSeconds * 1000;
    const fresh = jobs.filter((job) => !claim.tokens.has(job.lease_token));
    if (fresh.length > 0) this.#observe({ type: 'claimed', jobs: fresh });
    for (const job of fresh) {
      claim.tokens.add(job.lease_token);
      const run = new Run(job, claim.isRepeated || lateMs > job.lease_seconds * 333);
      const before = [...this.#runs].filter((other) => other.job.id === job.id);
      this.#runs.add(run);
      if (this.#phase === 'running') run.ended = this.#work(run, before);
      else this.#settle(run, new Release());
    }
    this.#heartbeat.schedule();
  }

  #claimFailed(error: unknown): void {
    if (this.#claim) this.#claim.isRepeated = true;
    if (!isTemporary(error)) {
      this.#claim?.hangUp.abort();
      this.#claim = undefined;
      this.#error ??= error;
      void this.stop();
      return;
    }
    const ms = backoffMs(this.#claimFailures++, error);
    this.#claimNotBefore = now() + ms;
    this.#observe({ type: 'retrying', request: 'claim', error, seconds: ms / 1000 });
  }

  // ---- Working

  /** A job may come back while its old handler, whose lease is lost, still runs here: the new one waits for the end of that. */
  async #work(run: Run, before: Run[]): Promise<void> {
    await Promise.all([run.confirmed, ...before.map((other) => other.ended)]);
    const outcome = run.signalled
      ? this.#outcomeAfterSignal(run, run.signal.reason)
      : await this.#handle(run);
    // It was released meanwhile, because the worker's time was over.
    if (run.state !== 'running') return;
    if (outcome) this.#settle(run, outcome);
    else {
      this.#done(run);
      this.#observe({ type: 'lost', job: run.job, verb: undefined });
      this.#pump();
    }
  }

  async #handle(run: Run): Promise<Outcome | undefined> {
    const startedAt = now();
    const end = (error?: unknown) =>
      this.#observe({ type: 'ended', job: run.job, seconds: (now() - startedAt) / 1000, error });
    this.#observe({ type: 'started', job: run.job });
    try {
      const payload = this.#decoded(run.job) as Payload;
      const job = createJob(run, payload, (value) => this.#heartbeat.report(run, value));
      const answer = await this.#handler(job);
      end();
      return answer instanceof Ack ? answer : new Ack({ result: answer });
    } catch (error) {
      end(error);
      return this.#outcomeAfterSignal(run, error);
    }
  }

  #decoded(job: LeasedJob): unknown {
    const text = job.payload_text as string;
    try {
      return this.#options.decode ? this.#options.decode(text, job) : JSON.parse(text);
    } catch (error) {
      throw new Nack(`the payload cannot be decoded: ${error}`);
    }
  }

  /** What a handler throws after its signal is no failure of the job, unless it says so itself. */
  #outcomeAfterSignal(run: Run, error: unknown): Outcome | undefined {
    const code = run.signalled;
    if (code === 'lease_lost') return undefined;
    const isOwn = error instanceof Nack || error instanceof Release || error instanceof Ack;
    if (code === undefined || isOwn) return outcomeOf(error);
    if (code === 'cancel_requested')
      return new Nack(error instanceof JobSignal ? 'cancelled' : outcomeOf(error).toString());
    return new Release();
  }

  #done(run: Run): void {
    run.state = 'done';
    this.#runs.delete(run);
    for (const done of run.report?.done.splice(0) ?? []) done();
  }

  // ---- Settling

  #settle(run: Run, outcome: Outcome): void {
    run.state = 'settling';
    this.#outbox.add(settlementOf(run, outcome));
    this.#pump();
  }

  async #sendSettlements(withClaim: boolean): Promise<void> {
    this.#isSettling = true;
    if (withClaim) {
      this.#isClaiming = true;
      this.#carriesClaim = true;
    }
    // Handlers that end together are settled together.
    await undefined;
    const batch = this.#outbox.take(now());
    const { text, parts } = requestOf(batch, withClaim ? this.#nextClaim(0) : undefined);
    try {
      const answer: SettleResults = await this.#client.request({
        method: 'POST',
        path: '/jobs/settle',
        body: new RawJson(text),
      });
      this.#settleFailures = 0;
      for (const { list, items } of parts)
        for (const [i, settlement] of items.entries()) this.#answered(settlement, answer[list][i]);
      if (withClaim) this.#claimAnswered(answer);
    } catch (error) {
      this.#batchFailed(batch, error);
      if (withClaim && this.#claim) this.#claim.isRepeated = true;
      // What was refused were settlements. The claim goes by itself.
      if (withClaim && !isTemporary(error)) this.#claim = undefined;
    } finally {
      this.#isSettling = false;
      if (withClaim) {
        this.#isClaiming = false;
        this.#carriesClaim = false;
      }
      this.#pump();
    }
  }

  #claimAnswered({ jobs, problem }: SettleResults): void {
    if (problem) this.#claimFailed(new DibsError(problem));
    else if (this.#claim) this.#claimed(this.#claim, jobs ?? []);
  }

  #answered(settlement: Settlement, result: SettleResult | undefined): void {
    const { run, verb, isRepeated } = settlement;
    const status = result?.status ?? 500;
    const isGone = status === 404 || status === 409;
    if (result && (status < 300 || (isGone && isRepeated))) {
      this.#done(run);
      this.#observe({ type: 'settled', job: run.job, verb, result });
    } else if (isGone) {
      this.#done(run);
      this.#observe({ type: 'lost', job: run.job, verb });
    } else {
      const error = new DibsError(
        (result?.problem ?? { status, code: 'internal', detail: 'no result' }) as Problem,
      );
      if (isTemporary(error)) this.#again(settlement, error);
      else this.#refused(settlement, error);
    }
  }

  #batchFailed(batch: Settlement[], error: unknown): void {
    const mayCount = mayBeDone(error);
    for (const settlement of batch) if (mayCount) settlement.isRepeated = true;
    // One of them may be what Dibs fails at.
    if (error instanceof DibsError && error.status === 500) for (const one of batch) one.isAlone = true;
    if (isTemporary(error)) {
      const ms = backoffMs(this.#settleFailures++, error);
      this.#settleNotBefore = now() + ms;
      this.#outbox.add(...batch);
      this.#observe({ type: 'retrying', request: 'settle', error, seconds: ms / 1000 });
    } else if (batch.length > 1) {
      for (const settlement of batch) settlement.isAlone = true;
      this.#outbox.add(...batch);
    } else for (const settlement of batch) this.#refused(settlement, error);
  }

  #again(settlement: Settlement, error: unknown): void {
    const ms = backoffMs(settlement.failures++, error);
    settlement.notBefore = now() + ms;
    this.#outbox.add(settlement);
    this.#observe({ type: 'retrying', request: 'settle', error, seconds: ms / 1000 });
  }

  /** Dibs takes the ack never: its result is too large, or a follow-up is wrong. To do the work again would not help. */
  #refused({ run, verb }: Settlement, error: unknown): void {
    this.#observe({ type: 'refused', job: run.job, verb, error });
    const isForbidden = error instanceof DibsError && (error.status === 401 || error.status === 403);
    if (verb === 'ack' && !isForbidden)
      this.#settle(run, new Nack(`the ack was refused: ${(error as Error).message}`, { retry: false }));
    else this.#done(run);
  }
}
