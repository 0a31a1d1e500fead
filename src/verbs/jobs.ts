import type { Job, JobState, RawJson } from '../job.ts';
import type { AskedChange } from '../jobShapes.ts';
import type { Looks, Narrowed, Signed } from './callers.ts';
import type { PartlyAway } from './databases.ts';
import type { WaitRequest } from './enqueue.ts';

/** Which jobs, beside their queue and state. What is left out filters nothing. Times are in RFC 3339. */
export interface JobFilter {
  group?: string | undefined;
  fairness_key?: string | undefined;
  worker?: string | undefined;
  error_contains?: string | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
}

/** Which jobs to list, and how. */
export interface JobListing extends JobFilter, Narrowed {
  queue?: string;
  state?: JobState;
  unique_key?: string;
  /** Only those of this batch. Beside it, only `queue` and `state` filter. */
  batch?: string | undefined;
  /** Only those whose payload, as it was sent, contains this text. */
  payload_contains?: string | undefined;
  payload: boolean;
  /** Of each payload only so many characters. */
  preview?: number | undefined;
  order: 'newest' | 'oldest';
  limit: number;
  /** A page ends when its jobs have this number of bytes together. It has at least one job. */
  max_bytes: number;
  /** The last id of the page before. */
  after?: string;
}

/** It is the last page, if it is shorter than its limit and was not cut. */
export interface JobPage extends PartlyAway {
  jobs: Job[];
  isCut: boolean;
  /** The search for jobs that match stopped at this id, and goes on behind it. */
  stoppedAt?: string | undefined;
  /** How far a search in one queue looked: at how many jobs, and when the last of them was enqueued. */
  looked?: { jobs: number; to: string | null } | undefined;
}

/** A look at a single job. */
export interface JobLook extends Looks {
  id: string;
}

/** What to change of a job. What is left out stays as it is. */
export interface JobChange extends AskedChange {
  payload?: RawJson;
  run_at?: string;
  expires_in_seconds?: number;
}

export const EXPLAIN_CODES = [
  'next_in_line',
  'delayed',
  'backing_off',
  'behind_in_group',
  'group_paused',
  'queue_paused',
  'max_leased_reached',
  'rate_limited',
  'leased',
  'dead',
  'completed',
  'cancelled',
] as const;

/** The one reason why a job is not running. */
export interface Explanation {
  id: string;
  state: JobState;
  code: (typeof EXPLAIN_CODES)[number];
  /** The same in a sentence or two. */
  detail: string;
  /** The number of jobs that go before it. */
  ahead?: number;
  /** When the reason is over, as far as it is known. */
  until?: string;
  blocking_job_id?: string;
  worker?: string;
  last_error?: string;
}

export const HISTORY_EVENTS = [
  'enqueued',
  'leased',
  'acked',
  'nacked',
  'released',
  'rescued',
  'expired',
  'dead',
  'cancel_requested',
  'cancelled',
  'retried',
  'redriven',
  'changed',
  'moved',
] as const;
export type HistoryEventName = (typeof HISTORY_EVENTS)[number];

export interface HistoryEvent {
  /** Null: not known. */
  at: string | null;
  event: HistoryEventName;
  batch?: string;
  follows?: string;
  attempt?: number;
  deliveries?: number;
  worker?: string;
  leased_at?: string;
  by?: string;
  error?: string;
  run_at?: string;
}

export interface History {
  id: string;
  queue: string;
  events: HistoryEvent[];
  /** Older events were dropped. */
  truncated: boolean;
}

/** Looks at jobs, and changes by hand. Those about one job throw `job_not_found`, and all of them `unavailable`. */
export interface JobVerbs {
  /** The job, with its payload. */
  getJob(request: JobLook): Promise<Job>;

  /**
   * The job when it is finished, or after `wait_seconds`, or when its client is gone: as it is then.
   * Guarantee: a job that somebody waits for is kept until then, with its result, also in a queue that keeps none.
   */
  waitForJob(request: WaitRequest): Promise<Job>;

  /** A page of jobs by id. @throws Refusal `invalid_request` */
  listJobs(request: JobListing): Promise<JobPage>;

  /** Why the job is not running. */
  explainJob(request: JobLook): Promise<Explanation>;

  /** What happened to the job, oldest first. */
  getJobHistory(request: JobLook): Promise<History>;

  /**
   * Cancels a job that waits or is dead. A leased job comes back `leased`: its worker is asked to stop.
   * @throws Refusal `job_finished`
   */
  cancelJob(request: { id: string } & Signed): Promise<Job>;

  /**
   * Makes a dead or scheduled job ready, or blocked in its group, with all its attempts. One that waits already stays
   * as it is.
   * @throws Refusal `job_leased`, `job_finished`, `unique_key_taken`
   */
  retryJob(request: { id: string } & Signed): Promise<Job>;

  /** Changes a job that waits or is dead. @throws Refusal `job_leased`, `job_finished`, `invalid_request` */
  changeJob(request: { id: string; change: JobChange } & Signed): Promise<Job>;
}
