export const JOB_STATES = [
  'scheduled',
  'ready',
  'blocked',
  'leased',
  'completed',
  'cancelled',
  'dead',
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** The text of a JSON value, as it was sent: never parsed and rebuilt. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** How long a job rests after a failed attempt; `jitter` is the largest share by which a delay is shortened. */
export interface Backoff {
  kind: 'exponential' | 'linear' | 'constant';
  base_seconds: number;
  max_seconds: number;
  jitter: number;
}

/** Limits of a queue; null for none. */
export interface QueueLimits {
  /** Leases at once. */
  max_leased: number | null;
  /** Claims in any window of that length. */
  rate_limit: { jobs: number; per_seconds: number } | null;
  /** Ready and blocked jobs, from which on enqueues are refused. */
  max_ready: number | null;
}

export interface QueueConfig extends QueueLimits {
  lease_seconds: number;
  max_attempts: number;
  backoff: Backoff;
  retention_seconds: number;
  dead_retention_seconds: number;
}

export interface NewJob {
  queue?: string;
  payload?: RawJson;
  headers?: Record<string, string>;
  priority?: number;
  delay_seconds?: number;
  run_at?: string;
  max_attempts?: number;
  backoff?: Backoff;
  unique_key?: string;
  unique_for_seconds?: number;
  group?: string;
  fairness_key?: string;
  expires_in_seconds?: number;
  /** Somebody waits for its end, for so long. */
  awaited_seconds?: number;
}

/** What a schedule is made of; its job's payload stands beside the job. */
export interface ScheduleSpec {
  cron: string;
  timezone: string;
  paused: boolean;
  job: NewJob;
}

/** A schedule as statements return it: times in RFC 3339, its job and that one's payload as texts. */
export interface Schedule {
  name: string;
  cron: string;
  timezone: string;
  paused: boolean;
  /** A NewJob but for its payload. */
  job: string;
  payload: string | null;
  next_run_at: string | null;
  last_run_at: string | null;
}

/** A job as statements return it: times in RFC 3339, JSON columns as texts. `payload` is there where it was asked for. */
export interface JobRow {
  id: string;
  state: JobState;
  priority: number;
  attempt: number;
  max_attempts: number;
  deliveries: number;
  group: string | null;
  fairness_key: string | null;
  unique_key: string | null;
  run_at: string;
  created_at: string;
  lease_expires_at: string | null;
  finished_at: string | null;
  worker: string | null;
  last_error: string | null;
  headers: string;
  progress: string | null;
  result: string | null;
  payload?: string | null;
  lease_token?: string;
  /** Whether somebody waits for its end. */
  awaited?: boolean | null;
}

export interface Job extends JobRow {
  queue: string;
  /** Of an enqueue: another job holds the unique key; this is that one, and nothing was inserted. */
  deduplicated?: true | undefined;
}

export interface LeasedJob extends Job {
  payload: string;
  lease_token: string;
  lease_expires_at: string;
}

/** What a settling call did, where its answer isn't the job. */
export interface Acked {
  id: string;
  state: 'completed';
  /** The jobs inserted with the ack. */
  enqueued: Job[];
}

/** The job, and those inserted with the nack, where any were sent with it. */
export interface Nacked extends Job {
  enqueued?: Job[];
}

export interface Extended {
  id: string;
  state: 'leased';
  lease_expires_at: string;
  cancel_requested: boolean;
}

export interface Ack {
  id: string;
  lease_token: string;
  result?: RawJson;
  enqueue?: NewJob[];
}

export interface Nack {
  id: string;
  lease_token: string;
  error?: string;
  delay_seconds?: number;
  retry?: boolean;
  enqueue?: NewJob[];
}

export interface Release {
  id: string;
  lease_token: string;
  delay_seconds?: number;
}

export interface Extend {
  id: string;
  lease_token: string;
  lease_seconds: number;
  progress?: RawJson;
}
