import type { QueueConfig } from '../verbs/queues.ts';

/** A queue, with its configuration. */
export interface Queue extends QueueConfig {
  id: number;
  name: string;
  paused: boolean;
  /** Whether it ever had a job with a fairness key. */
  fair: boolean;
  /** Whether groups may have more heads than `group_concurrency`, because that was lowered. */
  is_narrowing: boolean;
  created_at: string;
  /** Set where it lives in another database (elsewhere.ts). */
  database?: string | undefined;
}

export interface QueueRow extends Omit<Queue, 'backoff' | 'rate_limit' | 'database'> {
  backoff: string;
  rate_jobs: number | null;
  rate_seconds: number | null;
}

export const toQueue = ({ backoff, rate_jobs, rate_seconds, ...row }: QueueRow): Queue => ({
  ...row,
  backoff: JSON.parse(backoff),
  rate_limit:
    rate_jobs === null || rate_seconds === null ? null : { jobs: rate_jobs, per_seconds: rate_seconds },
});
