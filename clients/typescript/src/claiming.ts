import { backoffMs } from './backoff.ts';
import type { Caller } from './caller.ts';
import { DibsError, isTemporary } from './errors.ts';
import type { Observer } from './events.ts';
import { claimJobs, type LeasedJob } from './generated.ts';
import { Run } from './run.ts';
import { listIn } from './shape.ts';
import type { WorkerOptions } from './workerOptions.ts';

/** The request that wants jobs. The same `claim_id` is sent until an answer comes, so that no lease is lost with an answer. */
export interface Claim {
  id: string;
  sentAt: number;
  waitSeconds: number;
  isRepeated: boolean;
  /** The session that its leases are tied to. A repeat names the same one: else it would be another claim. */
  session: string | undefined;
  /** The leases that it has got. A repeat is answered the same ones. */
  tokens: Set<string>;
  hangUp: AbortController;
}

const now = () => performance.now();
/** A claim that waits at least so long is answered empty later than this. */
const LEAST_WAIT_SECONDS = 1;
const EARLY_MS = 500;

/** What claiming needs of its worker. */
export interface Claimant {
  client: Caller;
  options: WorkerOptions;
  free(): number;
  /** The session for a new claim. */
  session(): string | undefined;
  /** Dibs says that this session has ended. */
  sessionOver(session: string): void;
  /** Takes a lease that a claim got. */
  take(run: Run): void;
  /** Dibs refuses the claim for good. */
  refused(error: unknown): void;
  observe: Observer;
  /** Something has changed. */
  pump(): void;
}

/** Gets jobs: one claim at a time, by itself or with a settlement. */
export class Claiming {
  readonly #worker: Claimant;
  /** The claim that has no answer yet. */
  open: Claim | undefined;
  /** A request with it is on its way. */
  isSending = false;
  /** A settlement carries it. */
  isCarried = false;
  /** A request that takes it back is on its way. */
  isClosing = false;
  /** By the monotonic clock: no request before this. */
  notBefore = 0;
  #failures = 0;

  constructor(worker: Claimant) {
    this.#worker = worker;
  }

  /** The body of the claim. An unanswered one goes again, with its id. */
  next(waitSeconds: number): object {
    this.open ??= {
      id: crypto.randomUUID(),
      sentAt: 0,
      waitSeconds,
      isRepeated: false,
      session: this.#worker.session(),
      tokens: new Set(),
      hangUp: new AbortController(),
    };
    this.open.sentAt = now();
    this.open.waitSeconds = waitSeconds;
    const { queues, leaseSeconds, name } = this.#worker.options;
    return {
      queues,
      limit: Math.max(1, this.#worker.free()),
      lease_seconds: leaseSeconds,
      wait_seconds: waitSeconds,
      worker: name,
      claim_id: this.open.id,
      session: this.open.session,
      payload_format: 'text',
    };
  }

  async send(): Promise<void> {
    this.isSending = true;
    const claim = this.next(this.#worker.options.waitSeconds ?? 20);
    const open = this.open as Claim;
    try {
      const answer = await claimJobs(this.#worker.client, claim, { signal: open.hangUp.signal });
      this.claimed(open, listIn(answer, 'jobs'));
    } catch (error) {
      // If not, it was closed meanwhile.
      if (this.open === open) this.failed(error);
    } finally {
      this.isSending = false;
      this.#worker.pump();
    }
  }

  /**
   * A claim that waits, or whose answer was lost, is repeated by one that does not wait. It takes the place of the first, and gets what
   * the first got. So when the worker stops, no job is left behind with a lease.
   */
  async close(): Promise<void> {
    this.isClosing = true;
    const open = this.open as Claim;
    try {
      const claim = { ...this.next(0), limit: 1 };
      const answer = await claimJobs(this.#worker.client, claim, { timeoutSeconds: 5 });
      this.claimed(open, listIn(answer, 'jobs'));
      open.hangUp.abort();
    } catch (error) {
      this.failed(error);
    } finally {
      this.isClosing = false;
      this.#worker.pump();
    }
  }

  claimed(claim: Claim, jobs: LeasedJob[]): void {
    if (this.open === claim) this.open = undefined;
    const tookMs = now() - claim.sentAt;
    // Whoever answers so would do it again and again.
    const isEarly = jobs.length === 0 && claim.waitSeconds >= LEAST_WAIT_SECONDS && tookMs < EARLY_MS;
    if (isEarly) this.#pause();
    else this.#failures = 0;
    const lateMs = tookMs - claim.waitSeconds * 1000;
    const fresh = jobs.filter((job) => !claim.tokens.has(job.lease_token));
    if (fresh.length > 0) this.#worker.observe({ type: 'claimed', jobs: fresh });
    for (const job of fresh) {
      claim.tokens.add(job.lease_token);
      this.#worker.take(new Run(job, claim.isRepeated || lateMs > job.lease_seconds * 333, claim.session));
    }
  }

  /** A repeated one goes by itself: Dibs may fail at the settlement that carried it. */
  mayBeCarried(at: number): boolean {
    return this.notBefore <= at && !this.open?.isRepeated;
  }

  /** The settlement with the claim failed. If it was the claim that is refused, it is refused once more by itself. */
  carrierFailed(error: unknown, notBefore: number): void {
    this.notBefore = Math.max(this.notBefore, notBefore);
    if (this.open && isTemporary(error)) this.open.isRepeated = true;
  }

  failed(error: unknown): void {
    const { open } = this;
    if (open) open.isRepeated = true;
    if (!isTemporary(error)) {
      open?.hangUp.abort();
      this.open = undefined;
      const isOver = error instanceof DibsError && error.code === 'session_not_found';
      if (isOver && open?.session !== undefined) this.#worker.sessionOver(open.session);
      else this.#worker.refused(error);
      return;
    }
    const ms = this.#pause(error);
    this.#worker.observe({ type: 'retrying', request: 'claim', error, seconds: ms / 1000 });
  }

  #pause(error?: unknown): number {
    const ms = backoffMs(this.#failures++, error);
    this.notBefore = now() + ms;
    return ms;
  }
}
