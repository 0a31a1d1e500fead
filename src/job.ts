import type { AlwaysRead } from './jobShapes.ts';

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

/** A job has at most this number of headers. */
export const MOST_HEADERS = 32;

export type JobState = (typeof JOB_STATES)[number];

/** Whether a job has ended, well or not. A dead job may come back, but not by itself. */
export const isFinished = (state: JobState): boolean =>
  state === 'completed' || state === 'cancelled' || state === 'dead';

/** Whether a job may be claimed later, and by nobody yet. */
export const isWaiting = (state: JobState): boolean =>
  state === 'scheduled' || state === 'ready' || state === 'blocked';

/** About how much memory a job takes, by the texts that users and workers sent with it. */
export const sizeOf = ({ payload, headers, progress, result, last_error }: JobRow): number =>
  headers.length +
  (payload?.length ?? 0) +
  (progress?.length ?? 0) +
  (result?.length ?? 0) +
  (last_error?.length ?? 0);

/** The text of a JSON value, as it was sent. It is never parsed and written anew. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A job as statements return it: times in RFC 3339, JSON columns as texts. */
export interface JobRow extends AlwaysRead {
  state: JobState;
  finished_at: string | null;
  result: string | null;
  /** As which job it went to a dead letter queue. Those that look at single jobs return it. */
  moved_to?: string | null;
  /** Some statements return it. */
  payload?: string | null;
  lease_token?: string;
  /** How long the lease was given for. */
  lease_seconds?: number;
  /** Whether a client waits for the end of the job. */
  awaited?: boolean | null;
  /** Whether it came back without its unique key (sql/shared/is_keyless.sql). */
  is_keyless?: boolean | null;
}

export interface Job extends JobRow {
  queue: string;
  /** Set by an enqueue that inserted nothing: this job holds the unique key. */
  deduplicated?: true | undefined;
  /** Set beside `deduplicated` where the enqueue asked for it: whether this job is as it asked now. */
  replaced?: boolean | null | undefined;
}
