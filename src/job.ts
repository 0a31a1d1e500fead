export const JOB_STATES = [
  'scheduled',
  'ready',
  'blocked',
  'leased',
  'completed',
  'cancelled',
  'dead',
] as const;

/** The longest delay, expiry, retention or window: 366 days. sql/shared/longest_seconds.sql has the same number. */
export const LONGEST_SECONDS = 366 * 86_400;

export type JobState = (typeof JOB_STATES)[number];

/** The text of a JSON value, as it was sent: never parsed and rebuilt. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
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
