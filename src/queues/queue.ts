/** How long a job rests after a failed attempt. `jitter` is the largest fraction by which a delay is shortened. */
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
}
