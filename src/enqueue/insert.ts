import type { Along, RoundTripDb } from '../batching/roundTrip.ts';
import { QueueGone } from '../errors.ts';
import { isWaiting, type Job, type JobRow } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import { ifAny } from './ifAny.ts';
import {
  freeingOf,
  hasBatch,
  hasGroup,
  hasUniqueKey,
  type Inserted,
  type JobToInsert,
  newJobParameters,
  replaces,
  toJob,
} from './newJob.ts';

/** What is decided about a job. Without an id, it is about all jobs that are ready. */
export type Decided = Inserted & { id: string | null };

/** Which of them inserts what: docs/decisions/0060-ways-in.md. */
const statements = {
  plain: prepared('enqueue/insert', row<Decided>()),
  one: prepared('enqueue/insert_one', row<Decided>()),
  unique: prepared('enqueue/insert_unique', row<JobRow>()),
};

/** The first job of each unique key, and all jobs without a key. The other jobs of a key are its duplicates. */
export function firstOfKeys<J extends { unique_key: string | null }>(jobs: J[]): J[] {
  const keys = new Set<string>();
  return jobs.filter(({ unique_key: key }) => key === null || (!keys.has(key) && keys.add(key)));
}

/**
 * Inserts jobs whose keys cannot conflict. `leads` tells which of them may become the heads of their groups at once.
 */
export const insertOn = (
  on: RoundTripDb,
  {
    queueId,
    ids,
    jobs,
    leads = null,
  }: { queueId: number; ids: string[]; jobs: JobToInsert[]; leads?: boolean[] | null },
  along?: Along<Decided>,
): Promise<Decided[]> => {
  const statement = jobs.length === 1 && leads === null ? statements.one : statements.plain;
  const batches = ifAny(jobs, (job) => job.batch);
  return on.query(
    statement,
    Object.assign(newJobParameters(ids, jobs), { queue_id: queueId, leads, batches }),
    along,
  );
};

/** The jobs, from the rows that came back for them. @throws QueueGone when there are none */
export function toJobs(jobs: JobToInsert[], ids: string[], rows: Decided[]): Job[] {
  if (rows.length === 0) throw new QueueGone();
  const found = new Map(rows.map((row) => [row.id, row]));
  return jobs.map((job, i) => {
    const id = ids[i] as string;
    return toJob(job, id, (found.get(id) ?? found.get(null)) as Inserted);
  });
}

/** Deals out the jobs of a batch to the requests that they came from. */
export function dealOut(jobs: Job[], requests: unknown[][]): Job[][] {
  let taken = 0;
  return requests.map((request) => {
    taken += request.length;
    return jobs.slice(taken - request.length, taken);
  });
}

/** Whether each job is the first one of its group here, and is due at once. Null when no job has a group. */
function leadsOf(jobs: JobToInsert[]): boolean[] | null {
  if (!jobs.some(hasGroup)) return null;
  const groups = new Set<string>();
  return jobs.map(({ group, delay_seconds, run_at }) => {
    if (group === null || groups.has(group)) return false;
    groups.add(group);
    return delay_seconds === 0 && run_at === null;
  });
}

/** Every statement locks its keys in this order, so that no two of them can deadlock. */
const byKey = ([a]: [JobToInsert, string], [b]: [JobToInsert, string]): number =>
  (a.unique_key ?? '') < (b.unique_key ?? '') ? -1 : 1;

/**
 * What is asked for each key, one job for each: the first one, as the last one that replaces it makes it. So a key that many
 * requests replace at once is written once.
 */
function askedOfKeys(jobs: JobToInsert[]): Map<JobToInsert, JobToInsert> {
  const last = new Map(jobs.filter(replaces).map((job) => [job.unique_key, job]));
  return new Map(
    firstOfKeys(jobs).map((first) => {
      const by = first.unique_key === null ? undefined : last.get(first.unique_key);
      if (!by) return [first, first];
      const {
        payload,
        headers,
        priority,
        run_at,
        delay_seconds,
        expires_in_seconds,
        max_attempts,
        on_duplicate,
      } = by;
      return [
        first,
        {
          ...first,
          payload,
          headers,
          priority,
          run_at,
          delay_seconds,
          expires_in_seconds,
          max_attempts,
          on_duplicate,
        },
      ];
    }),
  );
}

/** The answer for a job whose key another one holds. */
function duplicateOf(job: JobToInsert, holder: JobRow): Job {
  const found = { ...holder, queue: job.queue.name, deduplicated: true as const };
  return replaces(job) ? { ...found, replaced: isWaiting(holder.state) } : found;
}

export type Insert = (on: Db, queueId: number, jobs: JobToInsert[]) => Promise<Job[]>;

/** Makes the functions that insert jobs into one queue, and return them in the same order. */
export function createInsert(newId: (queueId: number) => string) {
  async function insertPlain(on: Db, queueId: number, jobs: JobToInsert[], leads: boolean[] | null = null) {
    const ids = jobs.map((job) => job.id ?? newId(queueId));
    return toJobs(jobs, ids, await insertOn(on, { queueId, ids, jobs, leads }));
  }

  const insertUnique: Insert = async (on, queueId, jobs) => {
    const asked = askedOfKeys(jobs);
    const ids = new Map([...asked.keys()].map((job) => [job, job.id ?? newId(queueId)]));
    const firsts = [...ids]
      .map(([job, id]): [JobToInsert, string] => [asked.get(job) ?? job, id])
      .sort(byKey);
    const parameters = newJobParameters(
      firsts.map(([, id]) => id),
      firsts.map(([job]) => job),
    );
    const replacing = textArray(firsts.flatMap(([job]) => (replaces(job) && job.unique_key) || []));
    const freeing = freeingOf(firsts.map(([job]) => job));
    const inBatches = firsts.filter(([job]) => hasBatch(job)).map(([job, id]) => [id, job.batch]);
    const batches = inBatches.length > 0 ? JSON.stringify(Object.fromEntries(inBatches)) : null;
    const rows = await on.query(statements.unique, {
      queue_id: queueId,
      ...parameters,
      replacing,
      batches,
      freeing,
    });
    if (rows.length === 0) throw new QueueGone();
    const byId = new Map(rows.map((row) => [row.id, row]));
    const holders = new Map(rows.map((row) => [row.unique_key, row]));
    return jobs.map((job) => {
      const own = byId.get(ids.get(job) as string);
      if (own) return { ...own, queue: job.queue.name };
      return duplicateOf(job, holders.get(job.unique_key) as JobRow);
    });
  };

  return {
    /**
     * Jobs of any kind, in a transaction of any length. If another job holds the unique key of a job, it returns that other
     * job instead, as `deduplicated`. @throws QueueGone when the queue was deleted
     */
    insert: ((on, queueId, jobs) =>
      jobs.some(hasUniqueKey) ? insertUnique(on, queueId, jobs) : insertPlain(on, queueId, jobs)) as Insert,

    /**
     * Jobs without unique keys, in a short transaction: another one that gives a group its head waits for its end. A job that
     * comes into an empty group is its head at once. @throws QueueGone when the queue was deleted
     */
    insertShortly: ((on, queueId, jobs) => insertPlain(on, queueId, jobs, leadsOf(jobs))) as Insert,
  };
}
