import type { NewJob } from '../enqueue/newJob.ts';

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
