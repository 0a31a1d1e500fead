import type { NewJob } from '../enqueue/newJob.ts';

/** A schedule as a request puts it. */
export interface ScheduleSpec {
  cron: string;
  timezone: string;
  paused: boolean;
  job: NewJob;
}

/** A schedule as statements return it: times in RFC 3339, its job and the payload as JSON texts. */
export interface Schedule {
  name: string;
  cron: string;
  timezone: string;
  paused: boolean;
  /** A NewJob without its payload. */
  job: string;
  payload: string | null;
  next_run_at: string | null;
  last_run_at: string | null;
  /** Why its tick was refused. Null since a tick was taken. */
  last_error: string | null;
  /** When the refused tick is tried again. */
  retry_at: string | null;
}
