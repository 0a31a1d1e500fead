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
