import { randomUUID } from 'node:crypto';
import { checkKeys, refuse } from '../enqueue/checks.ts';
import type { Enqueue } from '../enqueue/enqueue.ts';
import { Refusal, scheduleNotFound } from '../errors.ts';
import { type Job, RawJson } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { NewJob } from '../verbs/enqueue.ts';
import type {
  Schedule,
  ScheduleName,
  SchedulePage,
  SchedulePageRequest,
  ScheduleSpec,
} from '../verbs/schedules.ts';
import type { RequestOf } from '../verbs.ts';
import { cronProblem, isTimezone, nextTick } from './cron.ts';

const statements = {
  now: planned('postgres/now', row<{ now: string }>()),
  find: planned('schedules/find', row<Schedule>()),
  list: planned('schedules/list', row<Schedule & { found: number }>()),
  put: planned('schedules/put', row<Schedule>()),
  delete: planned('schedules/delete'),
};

/** The job that a schedule puts into its queue. */
export function jobOf({ job, payload }: Pick<Schedule, 'job' | 'payload'>): NewJob {
  const rest: NewJob = JSON.parse(job);
  return payload === null ? rest : { ...rest, payload: new RawJson(payload) };
}

/** The first tick after a moment. @throws Refusal `invalid_request`, naming the field */
export function firstTick({ cron, timezone, job }: ScheduleSpec, after: Date): string | null {
  if (!isTimezone(timezone)) throw refuse('/timezone', 'must be a time zone of the IANA database');
  const problem = cronProblem(cron, timezone, after);
  if (problem) throw refuse('/cron', problem);
  if (job.run_at !== undefined)
    throw refuse(
      '/job/run_at',
      'is not allowed in a schedule. Use delay_seconds, which counts from the tick',
    );
  if (job.batch !== undefined)
    throw refuse('/job/batch', 'is not allowed in a schedule: a batch ends, and a schedule does not');
  checkKeys(job, '/job');
  return nextTick(cron, timezone, after);
}

/** Shows schedules and changes them. ticker.ts runs them. */
export function scheduleAdmin(context: { db: Db; enqueue: Enqueue['enqueue'] }) {
  const { db, enqueue } = context;

  async function get({ name, visible = null }: ScheduleName): Promise<Schedule> {
    const [row] = await db.query(statements.find, { name, visible });
    if (!row) throw scheduleNotFound(name);
    return row;
  }

  return {
    get,

    /**
     * A page of schedules by name, after the name `after`. It is the last one, if it is shorter than its limit and was
     * not cut.
     */
    async list({ limit, max_bytes, after = '', visible = null }: SchedulePageRequest): Promise<SchedulePage> {
      const schedules = await db.query(statements.list, { after, limit, max_bytes, visible });
      return { schedules, isCut: (schedules[0]?.found ?? 0) > schedules.length };
    },

    /** Creates a schedule, or replaces all of it. @throws Refusal `invalid_request` */
    async put({ name, spec, visible = null }: RequestOf<'putSchedule'>): Promise<Schedule> {
      const [row] = await db.query(statements.now);
      const first = firstTick(spec, new Date((row as { now: string }).now));
      const { payload, ...job } = spec.job;
      const [schedule] = await db.query(statements.put, {
        name,
        cron: spec.cron,
        timezone: spec.timezone,
        paused: spec.paused,
        job: JSON.stringify(job),
        payload: payload?.text ?? null,
        next_run_at: spec.paused ? null : first,
        revision: randomUUID(),
        visible,
      });
      if (!schedule) throw new Refusal('forbidden', 'Another queue has a schedule of this name.');
      return schedule;
    },

    /** Deletes a schedule. The jobs that it made stay. */
    async remove({ name, visible = null }: ScheduleName): Promise<void> {
      const rows = await db.query(statements.delete, { name, visible });
      if (rows.length === 0) throw scheduleNotFound(name);
    },

    /** Enqueues the job of a schedule now, in addition to its ticks, also while the schedule is paused. */
    async trigger({ trace, ...named }: RequestOf<'triggerSchedule'>): Promise<Job> {
      const [job] = await enqueue([{ ...jobOf(await get(named)), trace }], () => '');
      return job as Job;
    },
  };
}
