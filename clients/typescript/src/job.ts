import type { LeasedJob } from './generated.ts';
import type { Run } from './run.ts';

/** A job as its handler sees it. */
export interface Job<Payload = unknown> {
  readonly id: string;
  readonly queue: string;
  readonly payload: Payload;
  /** The JSON text of the payload, exactly as it was sent. */
  readonly payloadText: string;
  readonly headers: Record<string, string>;
  /** How many attempts are charged, this one too. */
  readonly attempt: number;
  /** How many leases it ever had: a fencing token for your own writes. */
  readonly deliveries: number;
  /** What an earlier attempt reported last. */
  readonly lastProgress: unknown;
  /**
   * The id of its batch, if it is in one. Follow-ups with `batch: job.batch` come into it, also when it is closed. Of a job that is
   * in none, they come into none.
   */
  readonly batch: string | undefined;
  /** All that Dibs says of it. */
  readonly lease: LeasedJob;
  /** Fires when the handler should end. `signal.reason` is a `JobSignal` with a `code`. */
  readonly signal: AbortSignal;
  /** Tells people who look at the job how far it is. Resolves when Dibs has it. Rejects when the lease is lost. */
  progress(value: unknown): Promise<void>;
}

/** What it returns is the result of the job. See `Ack`, `Nack` and `Release` for more. */
export type Handler<Payload = unknown> = (job: Job<Payload>) => unknown;

/** Goes around the handler: calls `next`, and returns what that returns. */
export type Middleware<Payload = unknown> = (job: Job<Payload>, next: () => Promise<unknown>) => unknown;

export const wrapped = <P>(handler: Handler<P>, middleware: Middleware<P>[]): Handler<P> =>
  middleware.reduceRight<Handler<P>>((inner, outer) => (job) => outer(job, async () => inner(job)), handler);

export const createJob = <P>(run: Run, payload: P, progress: (value: unknown) => Promise<void>): Job<P> => ({
  id: run.job.id,
  queue: run.job.queue,
  payload,
  payloadText: run.job.payload_text ?? '',
  headers: run.job.headers,
  attempt: run.job.attempt,
  deliveries: run.job.deliveries,
  lastProgress: run.job.progress,
  batch: run.job.batch ?? undefined,
  lease: run.job,
  signal: run.signal,
  progress,
});
