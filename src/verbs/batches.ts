import type { JobState } from '../job.ts';
import type { Trace } from '../traceparent.ts';
import type { Looks, Narrowed, Signed, Waits } from './callers.ts';
import type { PartlyAway } from './databases.ts';
import type { IdempotentRequest, NewJob } from './enqueue.ts';

export const BATCH_STATES = ['open', 'running', 'succeeded', 'ended'] as const;
export type BatchState = (typeof BATCH_STATES)[number];

export const BATCH_FOLLOWERS = ['on_end', 'on_success'] as const;
export type BatchFollower = (typeof BATCH_FOLLOWERS)[number];

export interface NewBatch extends Signed {
  /** Whoever may read this queue sees the batch. It is kept as its jobs are. */
  queue: string;
  name?: string | undefined;
  /** Up to 1000. They may be of any queues of the same database. */
  jobs: NewJob[];
  /** Is enqueued when all jobs are completed. */
  on_success?: NewJob | undefined;
  /** Is enqueued when all jobs are finished. */
  on_end?: NewJob | undefined;
  /** Nothing else comes in. */
  closed: boolean;
  /** Where the request belongs in a trace. Spans of what comes in later link to it. */
  trace?: Trace | undefined;
  /** With it, a repeat within 24 hours creates nothing. */
  once?: IdempotentRequest | undefined;
}

export interface CreatedBatch extends Batch {
  /** The request is a repeat. An earlier one was answered this. */
  replayed?: true;
}

export interface Follower {
  kind: BatchFollower;
  job: NewJob;
}

export const followersOf = (request: NewBatch): Follower[] =>
  BATCH_FOLLOWERS.flatMap((kind) => {
    const job = request[kind];
    return job ? [{ kind, job }] : [];
  });

/** The queues of the jobs and followers of a new batch. */
export const queuesOfBatch = ({ jobs, on_success, on_end }: NewBatch): string[] =>
  [...jobs, on_success, on_end].flatMap((job) => (job === undefined ? [] : [job.queue ?? 'default']));

export interface Batch {
  id: string;
  name: string | null;
  queue: string;
  state: BatchState;
  counts: Record<JobState, number>;
  /** Those that may still be enqueued. */
  followers: BatchFollower[];
  created_at: string;
  closed_at: string | null;
  /** When all jobs were finished, and the batch was closed. */
  finished_at: string | null;
}

/** A request about one batch. */
export interface BatchName extends Narrowed {
  id: string;
}

/** Which batches to list: those before the id `after`. */
export interface BatchPage extends Narrowed, Looks {
  limit: number;
  after?: string | undefined;
  queue?: string | undefined;
  state?: BatchState | undefined;
}

export interface BatchList extends PartlyAway {
  batches: Batch[];
}

export const BATCH_EXPLAIN_CODES = [
  'open',
  'jobs_unfinished',
  'follower_awaited',
  'jobs_dead',
  'finished',
] as const;

/** What a batch waits for. */
export interface BatchExplanation {
  id: string;
  state: BatchState;
  code: (typeof BATCH_EXPLAIN_CODES)[number];
  /** The same in a sentence or two. */
  detail: string;
  /** One of the jobs that it waits for. */
  job_id?: string;
}

/**
 * Jobs that belong together, and the jobs that follow their end. Those about one batch throw `batch_not_found`, and all of them
 * `unavailable`.
 */
export interface BatchVerbs {
  /**
   * Creates a batch with its first jobs, all or nothing. It creates the queues that do not exist.
   * Guarantee: each follower is enqueued exactly once, in the commit that finishes the last job, whatever crashes. One whose unique
   * key an open transaction holds comes after it.
   * With `once`, a repeat is answered what the first request was, also when the batch is long gone. Refusals are not kept.
   * @throws Refusal those of `enqueue`, and `batch_not_found`, `batch_closed` for a batch that a follower joins,
   *   `idempotency_key_reused` when the key has another fingerprint
   */
  createBatch(request: NewBatch): Promise<CreatedBatch>;

  getBatch(request: BatchName & Looks): Promise<Batch>;

  /** Is over when the batch has ended, or after `wait_seconds`, or when its client is gone. */
  waitForBatch(request: BatchName & Waits & { wait_seconds: number }): Promise<void>;

  /** A page of batches, newest first. A page shorter than its limit is the last one. */
  listBatches(request: BatchPage): Promise<BatchList>;

  /** What the batch waits for. */
  explainBatch(request: BatchName & Looks): Promise<BatchExplanation>;

  /** No more jobs come in, but those that its own jobs add with their ack or nack. @throws Refusal `batch_closed` */
  closeBatch(request: BatchName): Promise<Batch>;

  /**
   * Closes the batch, and cancels its jobs that wait, in many small transactions. After a second it answers, and the rest goes on in the
   * background. Those that are leased go on; jobs that they add are cancelled. Nothing follows any more, and nothing follows others
   * into it.
   * @throws Refusal `forbidden` when it has waiting jobs in queues that the caller may not use
   */
  cancelBatch(request: BatchName & Signed): Promise<Batch>;
}
