import type { Trouble } from '../../src/verbs/counting.ts';

export const STATES = ['scheduled', 'ready', 'blocked', 'leased', 'completed', 'cancelled', 'dead'] as const;
export type State = (typeof STATES)[number];
export type Counts = Record<State, number>;

export interface Rates {
  enqueued: number;
  claimed: number;
  acked: number;
  nacked: number;
  rescued: number;
  dead: number;
}

export interface QueueOverview {
  name: string;
  paused: boolean;
  troubles: Trouble[];
  counts?: Counts;
  counted_age_seconds: number | null;
  oldest_ready_age_seconds: number | null;
  per_second?: Rates;
  drain_seconds: number | null;
}

export type Scope = 'produce' | 'consume' | 'read' | 'admin';

export interface Series {
  waiting: (number | null)[];
  ready: (number | null)[];
  leased: (number | null)[];
  dead: (number | null)[];
  oldest_ready_age_seconds: (number | null)[];
  enqueued: (number | null)[];
  acked: (number | null)[];
  failed: (number | null)[];
}

/** What was before the page was opened. */
export interface Samples {
  at: string[];
  all?: Series;
  queues: ({ name: string } & Series)[];
}

export interface Caller {
  name: string;
  needs_key: boolean;
  scopes: Scope[];
  queues: string[];
}

export interface Overview {
  version: string;
  trace_url: string | null;
  caller: Caller;
  complete: boolean;
  total: number;
  troubled: number;
  counts: Counts;
  per_second: Rates;
  oldest_ready_age_seconds: number | null;
  drain_seconds: number | null;
  queues: QueueOverview[];
}

export interface Backoff {
  kind: string;
  base_seconds: number;
  max_seconds: number;
  jitter: number;
}

export interface QueueConfig {
  lease_seconds: number;
  max_attempts: number;
  backoff: Backoff;
  retention_seconds: number;
  dead_retention_seconds: number;
  alert_after_seconds: number;
  max_leased?: number;
  rate_limit?: { jobs: number; per_seconds: number };
  max_ready?: number;
}

export interface Queue {
  name: string;
  paused: boolean;
  config: QueueConfig;
  counts: Counts;
  oldest_ready_age_seconds: number | null;
  created_at: string;
}

export interface Job {
  id: string;
  queue: string;
  state: State;
  payload_text?: string;
  /** In lists: its beginning. */
  payload_preview?: string;
  headers: Record<string, string>;
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
  worker: string | null;
  last_error: string | null;
  finished_at: string | null;
}

export interface JobEvent {
  /** Null: when it happened is not kept. */
  at: string | null;
  event: string;
  attempt?: number;
  deliveries?: number;
  worker?: string;
  error?: string;
  run_at?: string;
  leased_at?: string;
  by?: string;
}

export interface Explanation {
  code: string;
  detail: string;
  until?: string;
  job_id?: string;
  blocking_job_id?: string;
}

export interface QueueErrors {
  looked_at: number;
  complete: boolean;
  errors: {
    error: string | null;
    count: number;
    error_contains: string | null;
    newest_job_id: string;
    first_at: string;
    last_at: string;
  }[];
}

export interface WorkersNow {
  workers: {
    worker: string | null;
    leased: number;
    queues: string[];
    since: string | null;
    next_lease_expires_at: string;
  }[];
  total: number;
  complete: boolean;
}

export interface Schedule {
  name: string;
  cron: string;
  timezone: string;
  paused: boolean;
  job: { queue?: string };
  next_run_at: string | null;
  last_run_at: string | null;
  last_error: string | null;
  retry_at: string | null;
}

export interface Operation {
  id: string;
  verb: string;
  queue?: string;
  to?: string | null;
  error?: string | null;
  filter?: Record<string, unknown>;
  dry_run?: boolean;
  state: 'running' | 'done' | 'cancelled' | 'failed';
  matched: number | null;
  done: number;
  skipped: number;
  created_at: string;
  finished_at: string | null;
}

export interface AccessKey {
  id: string;
  name: string;
  scopes: Scope[];
  queues: string[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  old_key_expires_at: string | null;
}

export interface AuditEntry {
  id: string;
  created_at: string;
  actor: string;
  verb: string;
  queue: string | null;
  job_id: string | null;
  schedule: string | null;
  key_id: string | null;
  count: number | null;
  outcome: string;
  address: string | null;
  request_id: string | null;
}
