import { ifAny } from '../enqueue/ifAny.ts';
import { type JobToInsert, newJobParameters, toJob } from '../enqueue/newJob.ts';
import { unavailable } from '../errors.ts';
import { idSource } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { type AttemptsOf, dueAt, toldAttempts } from './told.ts';

const statement = planned('relay/write', row<{ created_at: string }>());

/**
 * Writes jobs down that go to queues in other databases, with their ids there. `isFull`: so many wait for a queue already that there
 * is no place for more.
 */
export function createWrite(clock: Clock, attemptsOf: AttemptsOf, isFull: (queueId: number) => boolean) {
  const newId = idSource(clock.now);

  /** Jobs for one queue. Returns them as they are until they arrive. */
  return async function write(transaction: Db, jobs: JobToInsert[]): Promise<Job[]> {
    const { queue } = jobs[0] as JobToInsert;
    if (isFull(queue.id))
      throw unavailable(
        `Too many jobs wait for queue ${queue.name}, whose database is away. Nothing was done. Try again later.`,
      );
    const ids = jobs.map(() => newId(queue.id));
    const [written] = await transaction.query(statement, {
      queue_id: queue.id,
      queue: queue.name,
      ...newJobParameters(ids, jobs),
      on_duplicates: ifAny(jobs, (job) => job.on_duplicate),
      unique_untils: ifAny(jobs, (job) => job.unique_until),
    });
    const { created_at } = written as { created_at: string };
    return jobs.map((job, i) => {
      const run_at = dueAt(created_at, job.run_at?.toISOString() ?? null, job.delay_seconds);
      const told = toJob(job, ids[i] as string, { state: 'scheduled', run_at, created_at });
      return Object.assign(told, { max_attempts: toldAttempts(told.max_attempts, queue.id, attemptsOf) });
    });
  };
}
