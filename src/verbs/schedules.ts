import type { Job } from '../job.ts';
import type { Trace } from '../traceparent.ts';
import type { Looks, Narrowed } from './callers.ts';
import type { NewJob } from './enqueue.ts';

/** A schedule as a request puts it. */
export interface ScheduleSpec {
  /** Five fields, or six with seconds first. */
  cron: string;
  /** A name of the IANA database. */
  timezone: string;
  paused: boolean;
  job: NewJob;
}

/** A schedule: times in RFC 3339, its job and the payload as JSON texts. */
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

/** A request about one schedule. */
export interface ScheduleName extends Narrowed {
  name: string;
}

export interface SchedulePageRequest extends Narrowed, Looks {
  limit: number;
  /** A page ends when its schedules have this number of bytes together. It has at least one. */
  max_bytes: number;
  /** The last name of the page before. */
  after?: string | undefined;
}

/** It is the last page, if it is shorter than its limit and was not cut. */
export interface SchedulePage {
  schedules: Schedule[];
  isCut: boolean;
}

/** Jobs by cron. Each throws `unavailable`, those about one `schedule_not_found`. */
export interface ScheduleVerbs {
  getSchedule(request: ScheduleName & Looks): Promise<Schedule>;

  /** A page of schedules by name. */
  listSchedules(request: SchedulePageRequest): Promise<SchedulePage>;

  /**
   * Creates a schedule, or replaces all of it.
   * Guarantee: one job for each tick over all replicas. Ticks that were missed while none ran are made up for by one
   * job.
   * @throws Refusal `invalid_request`, `forbidden` for the name of a schedule of another queue
   */
  putSchedule(request: ScheduleName & { spec: ScheduleSpec }): Promise<Schedule>;

  /** Deletes a schedule. The jobs that it made stay. */
  deleteSchedule(request: ScheduleName): Promise<void>;

  /** Enqueues its job now, in addition to its ticks, also while it is paused. @throws Refusal those of `enqueue` */
  triggerSchedule(request: ScheduleName & { trace?: Trace | undefined }): Promise<Job>;
}
