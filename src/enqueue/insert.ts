import { QueueGone } from '../errors.ts';
import type { Job, JobRow } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { type Inserted, type JobToInsert, newJobParameters, toJob } from './newJob.ts';

const statements = {
  // A row without an id stands for all jobs that are ready.
  plain: prepared('enqueue/insert', row<Inserted & { id: string | null }>()),
  unique: prepared('enqueue/insert_unique', row<JobRow>()),
};

export const hasUniqueKey = (job: JobToInsert): boolean => job.unique_key !== null;

/** The first job of each unique key, and all jobs without a key. The other jobs of a key are its duplicates. */
export function firstOfKeys<J extends { unique_key: string | null }>(jobs: J[]): J[] {
  const keys = new Set<string>();
  return jobs.filter(({ unique_key: key }) => key === null || (!keys.has(key) && keys.add(key)));
}

async function insertPlain(
  on: Db,
  queueId: number,
  jobs: JobToInsert[],
  newId: (queueId: number) => string,
): Promise<Job[]> {
  const ids = jobs.map(() => newId(queueId));
  const rows = await on.query(statements.plain, { queue_id: queueId, ...newJobParameters(ids, jobs) });
  if (rows.length === 0) throw new QueueGone();
  const found = new Map(rows.map((row) => [row.id, row]));
  return jobs.map((job, i) => {
    const id = ids[i] as string;
    return toJob(job, id, (found.get(id) ?? found.get(null)) as Inserted);
  });
}

/** Every statement locks its keys in this order, so that no two of them can deadlock. */
const byKey = ([a]: [JobToInsert, string], [b]: [JobToInsert, string]): number =>
  (a.unique_key ?? '') < (b.unique_key ?? '') ? -1 : 1;

async function insertUnique(
  on: Db,
  queueId: number,
  jobs: JobToInsert[],
  newId: (queueId: number) => string,
): Promise<Job[]> {
  const ids = new Map(firstOfKeys(jobs).map((job) => [job, newId(queueId)]));
  const firsts = [...ids].sort(byKey);
  const parameters = newJobParameters(
    firsts.map(([, id]) => id),
    firsts.map(([job]) => job),
  );
  const rows = await on.query(statements.unique, { queue_id: queueId, ...parameters });
  if (rows.length === 0) throw new QueueGone();
  const byId = new Map(rows.map((row) => [row.id, row]));
  const holders = new Map(rows.map((row) => [row.unique_key, row]));
  return jobs.map((job) => {
    const queue = job.queue.name;
    const own = byId.get(ids.get(job) as string);
    if (own) return { ...own, queue };
    return { ...(holders.get(job.unique_key) as JobRow), queue, deduplicated: true };
  });
}

export type Insert = (on: Db, queueId: number, jobs: JobToInsert[]) => Promise<Job[]>;

/**
 * Inserts jobs into one queue, and returns them in the same order. If another job holds the unique key of a job, it
 * returns that other job instead, as `deduplicated`. @throws QueueGone when the queue was deleted
 */
export const createInsert =
  (newId: (queueId: number) => string): Insert =>
  (on, queueId, jobs) =>
    (jobs.some(hasUniqueKey) ? insertUnique : insertPlain)(on, queueId, jobs, newId);
