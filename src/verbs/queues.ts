import type { JobState } from '../job.ts';
import type { Looks, Narrowed, Signed } from './callers.ts';
import type { PartlyAway } from './databases.ts';

/** The name of a queue or schedule. */
export const QUEUE_NAME = '^[A-Za-z0-9._:-]{1,128}$';

export const isQueueName = (text: string): boolean => new RegExp(QUEUE_NAME).test(text);

/** The delay before a job is retried. `jitter` is the largest fraction by which a delay is shortened. */
export interface Backoff {
  kind: 'exponential' | 'linear' | 'constant';
  base_seconds: number;
  max_seconds: number;
  jitter: number;
}

/** Limits of a queue. Null: no limit. */
export interface QueueLimits {
  /** Leases at once. */
  max_leased: number | null;
  /** Claimed jobs in any window of this length. */
  rate_limit: { jobs: number; per_seconds: number } | null;
  /** Ready and blocked jobs. Enqueues beyond this number are refused. */
  max_ready: number | null;
}

export interface QueueConfig extends QueueLimits {
  lease_seconds: number;
  max_attempts: number;
  backoff: Backoff;
  retention_seconds: number;
  dead_retention_seconds: number;
  /** A job that is ready for longer is an alert. */
  alert_after_seconds: number;
  /** A job of this queue that becomes dead goes there. Null: it stays. */
  dead_letter_queue: string | null;
  /** How many jobs of one group may be leased at once. */
  group_concurrency: number;
  /** How many jobs of one group a claim may get. */
  group_batches: number;
}

export interface QueueCounts {
  counts: Record<JobState, number>;
  oldest_ready_age_seconds: number | null;
}

export interface QueueStatus extends QueueConfig, QueueCounts {
  name: string;
  paused: boolean;
  created_at: string;
  /** Where it is. Left out where there is one database. */
  database?: string;
  /** The groups that are paused. Only of a queue that is asked for alone, and has some. */
  paused_groups?: string[] | undefined;
}

/** How a queue should be. */
export interface QueueWish {
  config: QueueConfig;
  /** In which database it should be. Left out: a new queue gets one, any other stays where it is. */
  database?: string | undefined;
}

/** A request about one queue. */
export interface QueueName {
  queue: string;
}

/** Which queues to list: those behind the name `after` that contain a text. */
export interface QueuePage extends Narrowed, Looks {
  limit: number;
  after?: string | undefined;
  name_contains?: string | undefined;
}

export interface QueueList extends PartlyAway {
  queues: QueueStatus[];
}

export const QUEUE_EXPLAIN_CODES = [
  'ready',
  'empty',
  'paused',
  'max_leased_reached',
  'rate_limited',
  'all_leased',
  'all_delayed',
  'all_blocked',
] as const;

/** What a claim would get now. If it would get nothing: the one reason. */
export interface QueueExplanation {
  queue: string;
  code: (typeof QUEUE_EXPLAIN_CODES)[number];
  /** The same in a sentence or two. */
  detail: string;
  /** When the reason is over, as far as it is known. */
  until?: string;
  /** The job that the reason is about. */
  job_id?: string;
}

/** Jobs that are dead for one reason: their errors differ in numbers and ids only. */
export interface QueueError {
  /** The first line, with a `#` for each number and id. Null: they have no error. */
  error: string | null;
  count: number;
  /** Finds these jobs as a filter. Null: no text does. */
  error_contains: string | null;
  newest_job_id: string;
  first_at: string;
  last_at: string;
}

export interface QueueErrors {
  queue: string;
  /** How many dead jobs were looked at, the newest ones. */
  looked_at: number;
  /** All dead jobs were looked at, and all their errors are shown. */
  complete: boolean;
  errors: QueueError[];
}

export interface WorkersRequest extends Narrowed, Looks {
  /** Only the leases of this queue. */
  queue?: string | undefined;
}

export interface WorkerNow {
  /** Null: all those that gave no name. */
  worker: string | null;
  leased: number;
  queues: string[];
  /** When the oldest of its leases began. Null: not known. */
  since: string | null;
  next_lease_expires_at: string;
}

export interface WorkersNow extends PartlyAway {
  workers: WorkerNow[];
  /** How many there are. Those with most leases are shown. */
  total: number;
  /** All leases were looked at. */
  complete: boolean;
}

export interface GroupName extends QueueName {
  group: string;
}

export interface GroupStatus extends GroupName {
  paused: boolean;
}

/** Which dead jobs to make ready. */
export interface RedriveWish extends Signed, Narrowed {
  /** At most this number, oldest first. */
  limit?: number | undefined;
  error_contains?: string | undefined;
  /** In place of dead jobs, the dead letters of this queue: each goes back to the queue from which it came. */
  home?: boolean | undefined;
}

/**
 * Looks at queues, and changes of them. Each throws `queue_not_found` unless it creates the queue, and `unavailable`.
 */
export interface QueueVerbs {
  /** The queue, with the groups of it that are paused. */
  getQueue(request: QueueName & Looks): Promise<QueueStatus>;

  /** A page of queues by name. A page shorter than its limit is the last one. */
  listQueues(request: QueuePage): Promise<QueueList>;

  /** What a claim would get now. */
  explainQueue(request: QueueName & Looks): Promise<QueueExplanation>;

  /** Why jobs are dead: the newest ones, grouped by their errors. @throws Refusal `queue_not_found` */
  getQueueErrors(request: QueueName & Looks): Promise<QueueErrors>;

  /** Who has leases now. */
  listWorkers(request: WorkersRequest): Promise<WorkersNow>;

  /**
   * Replaces the configuration. It creates the queue, and its dead letter queue, when there is none. All replicas go by it
   * within a second.
   * @throws Refusal `too_many_queues`, `queue_elsewhere` (also of the dead letter queue), `queue_busy` of that, `invalid_request` for an unknown
   *   database, and for dead letter queues that make a circle
   */
  configureQueue(request: QueueName & Signed & Narrowed & QueueWish): Promise<QueueStatus>;

  /**
   * The queue accepts jobs and gives none to claims. It creates the queue when there is none. @throws Refusal
   * `too_many_queues`
   */
  pauseQueue(request: QueueName & Signed): Promise<QueueStatus>;

  resumeQueue(request: QueueName & Signed): Promise<QueueStatus>;

  /**
   * The group accepts jobs and gives none to claims. One that is leased goes on. It creates the queue when there is none.
   * @throws Refusal `too_many_queues`, `too_many_paused_groups`
   */
  pauseGroup(request: GroupName & Signed): Promise<GroupStatus>;

  /** The group goes on, in its order. */
  resumeGroup(request: GroupName & Signed): Promise<GroupStatus>;

  /** Deletes a queue, with `force` its jobs too. @throws Refusal `queue_not_empty` */
  deleteQueue(request: QueueName & Signed & { force: boolean }): Promise<void>;

  /**
   * Deletes the jobs in these states that were there at the call. Answers their number. It takes as long as it needs,
   * in many small transactions. When it is refused, a part may be done.
   */
  purgeQueue(request: QueueName & Signed & { states: JobState[] }): Promise<number>;

  /**
   * Makes dead jobs ready again, with all their attempts. Answers their number. It takes as long as `purgeQueue` may. Dead
   * letters stay whose queue is gone, or is not the caller's.
   */
  redriveQueue(request: QueueName & RedriveWish): Promise<number>;
}
