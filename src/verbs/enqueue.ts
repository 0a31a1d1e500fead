import type { Job, RawJson } from '../job.ts';
import type { AskedRare } from '../jobShapes.ts';
import type { Hold } from '../memory.ts';
import type { Trace } from '../traceparent.ts';
import type { Looks, Signed, Waits } from './callers.ts';
import type { Backoff } from './queues.ts';

/** A job as a request asks for it. What is left out takes the default of its queue. */
export interface NewJob extends AskedRare {
  /** `default`, if it is left out. */
  queue?: string;
  payload?: RawJson;
  headers?: Record<string, string>;
  /** From -100 to 100, higher first. */
  priority?: number;
  delay_seconds?: number;
  /** RFC 3339. Not beside `delay_seconds`. */
  run_at?: string;
  max_attempts?: number;
  backoff?: Backoff;
  /** What becomes of a waiting job that has the `unique_key`. `keep`, if it is left out. */
  on_duplicate?: string;
  /** How long the job holds its `unique_key`: until it is `finished` (if it is left out), or `claimed`. */
  unique_until?: string;
  /** The batch that it belongs to: an id. */
  batch?: string | undefined;
  /** How long a client waits for the end of the job. */
  awaited_seconds?: number;
  /** Where the job belongs in a trace. It goes into its headers, unless they name a trace. */
  trace?: Trace | undefined;
}

/** Where a field stands in the request: a JSON pointer (RFC 6901) to the job of this number. */
export type PathOf = (i: number) => string;

export interface EnqueueRequest extends Signed {
  /** 1 to 1000. */
  jobs: NewJob[];
  /** Refusals name the wrong field by it. */
  at: PathOf;
}

/** Requests with the same three are one request. The fingerprint is a SHA-256 in hex. */
export interface IdempotentRequest {
  route: string;
  key: string;
  fingerprint: string;
}

/** What a request with a key is to be answered: its jobs, as they were when it was first answered. */
export interface Once {
  /** In the order of the request. Or the one that has finished while `afterwards` waited for it. */
  jobs: Job[];
  /** Set when the request is a repeat, and an earlier one was answered this first. */
  replayed?: true;
  /** In place of the jobs: the record of a Dibs before migration 0027, for the protocol that wrote it. */
  older?: string | undefined;
}

/** What is known of the job of a request after its commit: without the payload, which may be large. */
export type Enqueued = Pick<Job, 'id' | 'deduplicated' | 'replaced'>;

/** What is known of the first job of a request. */
export function enqueuedOf(jobs: Job[]): Enqueued {
  const [{ id, deduplicated, replaced }] = jobs as [Job];
  return { id, deduplicated, replaced };
}

/**
 * What a request does once its jobs are committed, such as waiting for the end of its job. It goes on when its client hangs up,
 * because a repeat of the request is answered the same.
 */
export interface Afterwards {
  /** The longest time that it takes. */
  seconds: number;
  /** The finished job, if it finishes in time. */
  finished(job: Enqueued): Promise<Job | undefined>;
  /** What it holds of the memory budget, apart from its request. */
  hold(): Hold;
  /** Is given the function to call when the client is gone. */
  onHangup(gone: () => void): void;
}

/** Jobs to enqueue once for each key. */
export interface IdempotentEnqueue extends EnqueueRequest {
  request: IdempotentRequest;
  afterwards?: Afterwards | undefined;
}

/** A client waits for the end of a job. */
export interface WaitRequest extends Looks, Waits {
  id: string;
  /** 0 to 60. */
  wait_seconds: number;
  /** The job was enqueued as one that a client waits for. */
  announced?: boolean | undefined;
  /** Nobody else waits for the job, as far as its `awaited_until` tells. */
  sole?: boolean | undefined;
}

/** Jobs in. */
export interface EnqueueVerbs {
  /**
   * Inserts jobs, all or none, and answers them in the order of the request. It creates the queues that do not exist. Where
   * another job has the `unique_key`, it answers that one, as `deduplicated`.
   * Guarantee: when it has answered, the jobs survive any crash.
   * @throws Refusal `invalid_request`, `queue_full`, `too_many_queues`, `rate_limited`, `batch_not_found`, `batch_closed`,
   *   `queue_elsewhere` for a job of a batch in another database, `unavailable`
   */
  enqueue(request: EnqueueRequest): Promise<Job[]>;

  /**
   * Inserts jobs as `enqueue` does, but once for each key. A repeat within 24 hours gets the answer of the first request, on any
   * replica, also when its jobs are long gone. Refusals are not kept.
   * @throws Refusal those of `enqueue`, `idempotency_key_reused` when the key has another fingerprint
   */
  enqueueOnce(request: IdempotentEnqueue): Promise<Once>;

  /**
   * Waits for the end of a job that this request has enqueued. It answers as `waitForJob` does.
   * @throws Refusal `job_not_found`, `unavailable`
   */
  waitForEnqueued(request: WaitRequest): Promise<Job>;
}
