import type { JobSpec } from './generated.ts';

export interface ProducerOptions {
  /** The queue of jobs that name none. Default: `default`. */
  queue?: string;
  /** For how long a request is repeated while its failures may pass. Default: 30. `Infinity`: for ever. */
  retrySeconds?: number;
  /** Headers for each job, such as a `traceparent`. The job's own go first. */
  headers?(): Record<string, string>;
}

export interface EnqueueOptions {
  /** Default: a new one for each call, so that a repeat after a lost answer enqueues or creates nothing more. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** A batch to create. Its jobs and followers are enqueued as the jobs of the producer are. */
export interface NewBatch {
  /** Whoever may read this queue sees the batch. Its jobs may be of other queues. */
  queue: string;
  /** For people. */
  name?: string;
  /** Its first jobs: up to 1000, all or none. */
  jobs?: JobSpec[];
  /** Is enqueued when all jobs are completed. */
  onSuccess?: JobSpec;
  /** Is enqueued when all jobs are finished. */
  onEnd?: JobSpec;
  /** No more jobs come in, but those that its own jobs add. Default: false. */
  closed?: boolean;
}

export interface WaitOptions {
  /** Default: for ever. */
  timeoutSeconds?: number;
  signal?: AbortSignal;
}
