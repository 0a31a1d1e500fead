import { QueueGone } from '../errors.ts';
import type { Job, JobRow } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { type Inserted, type JobToInsert, newJobParameters, toJob } from './newJob.ts';

type Decided = Inserted & { id: string | null };

const statements = {
  // A row without an id stands for all jobs that are ready.
  plain: prepared('enqueue/insert', row<Decided>()),
  grouped: prepared('enqueue/insert_grouped', row<Decided>()),
  unique: prepared('enqueue/insert_unique', row<JobRow>()),
};

export const hasUniqueKey = (job: JobToInsert): boolean => job.unique_key !== null;

/** The first job of each unique key, and all jobs without a key. The other jobs of a key are its duplicates. */
export function firstOfKeys<J extends { unique_key: string | null }>(jobs: J[]): J[] {
  const keys = new Set<string>();
  return jobs.filter(({ unique_key: key }) => key === null || (!keys.has(key) && keys.add(key)));
}

/** The jobs, from the rows that came back for them. @throws QueueGone when there are none */
function toJobs(jobs: JobToInsert[], ids: string[], rows: Decided[]): Job[] {
  if (rows.length === 0) throw new QueueGone();
  const found = new Map(rows.map((row) => [row.id, row]));
  return jobs.map((job, i) => {
    const id = ids[i] as string;
    return toJob(job, id, (found.get(id) ?? found.get(null)) as Inserted);
  });
}

type InsertWith = (
  on: Db,
  queueId: number,
  jobs: JobToInsert[],
  newId: (queueId: number) => string,
) => Promise<Job[]>;

const insertPlain: InsertWith = async (on, queueId, jobs, newId) => {
  const ids = jobs.map(() => newId(queueId));
  const rows = await on.query(statements.plain, { queue_id: queueId, ...newJobParameters(ids, jobs) });
  return toJobs(jobs, ids, rows);
};

const hasGroup = (job: JobToInsert): boolean => job.group !== null;

/** Whether each job is the first one of its group here, and is due at once. */
function leadsOf(jobs: JobToInsert[]): boolean[] {
  const groups = new Set<string>();
  return jobs.map(({ group, delay_seconds, run_at }) => {
    if (group === null || groups.has(group)) return false;
    groups.add(group);
    return delay_seconds === 0 && run_at === null;
  });
}

/**
 * Inserts jobs without unique keys. A job that comes into an empty group is its head at once. This is for short
 * transactions: another one that gives the group a head waits for the end of this one.
 */
export const insertShortly: InsertWith = async (on, queueId, jobs, newId) => {
  if (!jobs.some(hasGroup)) return insertPlain(on, queueId, jobs, newId);
  const ids = jobs.map(() => newId(queueId));
  const parameters = { queue_id: queueId, leads: leadsOf(jobs), ...newJobParameters(ids, jobs) };
  return toJobs(jobs, ids, await on.query(statements.grouped, parameters));
};

/** Every statement locks its keys in this order, so that no two of them can deadlock. */
const byKey = ([a]: [JobToInsert, string], [b]: [JobToInsert, string]): number =>
  (a.unique_key ?? '') < (b.unique_key ?? '') ? -1 : 1;

const insertUnique: InsertWith = async (on, queueId, jobs, newId) => {
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
};

export type Insert = (on: Db, queueId: number, jobs: JobToInsert[]) => Promise<Job[]>;

/**
 * Inserts jobs into one queue, and returns them in the same order. If another job holds the unique key of a job, it
 * returns that other job instead, as `deduplicated`. @throws QueueGone when the queue was deleted
 */
export const createInsert =
  (newId: (queueId: number) => string): Insert =>
  (on, queueId, jobs) =>
    (jobs.some(hasUniqueKey) ? insertUnique : insertPlain)(on, queueId, jobs, newId);
