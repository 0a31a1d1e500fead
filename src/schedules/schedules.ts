import { randomUUID } from 'node:crypto';
import { checkUnique, type Enqueueing } from '../enqueue/enqueue.ts';
import type { NewJob } from '../enqueue/newJob.ts';
import { type FieldError, invalidRequest, scheduleNotFound } from '../errors.ts';
import { type Job, RawJson } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { cronProblem, isTimezone, nextTick } from './cron.ts';
import type { Schedule, ScheduleSpec } from './schedule.ts';

const statements = {
  now: planned('postgres/now'),
  find: planned('schedules/find'),
  list: planned('schedules/list'),
  put: planned('schedules/put'),
  delete: planned('schedules/delete'),
};

/** The job that a schedule puts into its queue. */
export function jobOf({ job, payload }: Pick<Schedule, 'job' | 'payload'>): NewJob {
  const rest: NewJob = JSON.parse(job);
  return payload === null ? rest : { ...rest, payload: new RawJson(payload) };
}

/** The first tick after a moment. @throws Refusal `invalid_request`, naming the field */
function firstTick({ cron, timezone, job }: ScheduleSpec, after: Date): string | null {
  const refuse = (field: string, message: string) =>
    invalidRequest([{ in: 'body', path: `/${field}`, message } satisfies FieldError]);
  if (!isTimezone(timezone)) throw refuse('timezone', 'must be a time zone of the IANA database');
  const problem = cronProblem(cron, timezone, after);
  if (problem) throw refuse('cron', problem);
  if (job.run_at !== undefined)
    throw refuse(
      'job/run_at',
      'must not stand in a schedule; delay_seconds may, and counts from the tick on',
    );
  checkUnique(job, '/job');
  return nextTick(cron, timezone, after);
}

/** Looking at schedules, and changing them; what makes them run is the duty. */
export function scheduleAdmin(context: { db: Db; enqueue: Enqueueing['enqueue'] }) {
  const { db, enqueue } = context;

  async function get(name: string): Promise<Schedule> {
    const [row] = await db.query<Schedule>(statements.find, [name]);
    if (!row) throw scheduleNotFound(name);
    return row;
  }

  return {
    get,

    /** A page of schedules by name, after the given one; a page shorter than its limit is the last one. */
    list: (limit: number, after = '') => db.query<Schedule>(statements.list, [after, limit]),

    /** Creates a schedule, or replaces it whole. @throws Refusal `invalid_request` */
    async put(name: string, spec: ScheduleSpec): Promise<Schedule> {
      const [row] = await db.query<{ now: string }>(statements.now);
      const first = firstTick(spec, new Date((row as { now: string }).now));
      const { payload, ...job } = spec.job;
      const [schedule] = await db.query<Schedule>(statements.put, [
        name,
        spec.cron,
        spec.timezone,
        spec.paused,
        JSON.stringify(job),
        payload?.text ?? null,
        spec.paused ? null : first,
        randomUUID(),
      ]);
      return schedule as Schedule;
    },

    /** Deletes a schedule; the jobs that it made stay. */
    async remove(name: string): Promise<void> {
      const rows = await db.query(statements.delete, [name]);
      if (rows.length === 0) throw scheduleNotFound(name);
    },

    /** Puts its job into the queue now, besides its ticks, paused or not; as `enqueue` does, also where its key is taken. */
    async trigger(name: string): Promise<Job> {
      const [job] = await enqueue([jobOf(await get(name))], () => '');
      return job as Job;
    },
  };
}
