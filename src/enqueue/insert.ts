import { QueueGone } from '../errors.ts';
import type { Job, JobRow } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';

const statements = { plain: prepared('enqueue/insert'), unique: prepared('enqueue/insert_unique') };

/** A job on its way into its queue: the columns as enqueue.sql takes them. */
export interface JobToInsert {
  queue: Queue;
  delay_seconds: number;
  run_at: Date | null;
  priority: number;
  max_attempts: number;
  backoff: string | null;
  headers: string;
  payload: string;
  unique_key: string | null;
  unique_for_seconds: number | null;
  group: string | null;
  fairness_key: string | null;
  expires_in_seconds: number | null;
  awaited_seconds: number | null;
}

interface Identified {
  job: JobToInsert;
  id: string;
}

/** What the database decided: of the one job, or, without an id, of all those that are ready. */
type Inserted = Pick<JobRow, 'state' | 'run_at' | 'created_at'> & { id: string | null };

export const hasKey = (job: JobToInsert): boolean => job.unique_key !== null;

/** A column that most jobs go without. */
const ifAny = <T>(jobs: JobToInsert[], pick: (job: JobToInsert) => T | null): (T | null)[] | null =>
  jobs.some((job) => pick(job) !== null) ? jobs.map(pick) : null;

/** What both statements take first. */
function parametersOf(queueId: number, ids: string[], jobs: JobToInsert[]): unknown[] {
  return [
    queueId,
    ids,
    jobs.map((j) => j.delay_seconds),
    jobs.map((j) => j.run_at?.toISOString() ?? null),
    jobs.map((j) => j.priority),
    jobs.map((j) => j.max_attempts),
    jobs.map((j) => j.backoff),
    jobs.map((j) => j.headers),
    textArray(jobs.map((j) => j.payload)),
    ifAny(jobs, (j) => j.unique_key),
    ifAny(jobs, (j) => j.group),
    ifAny(jobs, (j) => j.fairness_key),
    ifAny(jobs, (j) => j.expires_in_seconds),
    ifAny(jobs, (j) => j.awaited_seconds),
  ];
}

async function insertPlain(
  on: Db,
  queueId: number,
  jobs: JobToInsert[],
  newId: (queueId: number) => string,
): Promise<Job[]> {
  const ids = jobs.map(() => newId(queueId));
  const parameters = [...parametersOf(queueId, ids, jobs), null];
  const rows = await on.query<Inserted>(statements.plain, parameters);
  if (rows.length === 0) throw new QueueGone();
  const times = new Map(rows.map((row) => [row.id, row]));
  return jobs.map((job, i) => {
    const id = ids[i] as string;
    return enqueued(job, id, (times.get(id) ?? times.get(null)) as Inserted);
  });
}

/** Locks are taken in one order, so that no two such statements can deadlock. */
const byKey = ({ job: a }: Identified, { job: b }: Identified): number =>
  (a.unique_key ?? '') < (b.unique_key ?? '') ? -1 : 1;

async function insertUnique(
  on: Db,
  queueId: number,
  jobs: JobToInsert[],
  newId: (queueId: number) => string,
): Promise<Job[]> {
  const ids = new Map<JobToInsert, string>();
  const keys = new Set<string>();
  for (const job of jobs) {
    if (job.unique_key !== null && keys.has(job.unique_key)) continue;
    if (job.unique_key !== null) keys.add(job.unique_key);
    ids.set(job, newId(queueId));
  }
  const firsts = [...ids].map(([job, id]) => ({ job, id })).sort(byKey);
  const asked = firsts.map(({ job }) => job);
  const parameters = parametersOf(
    queueId,
    firsts.map(({ id }) => id),
    asked,
  );
  const rows = await on.query<JobRow>(statements.unique, [
    ...parameters,
    ifAny(asked, (j) => j.unique_for_seconds),
  ]);
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

export function inserting(newId: (queueId: number) => string) {
  /**
   * Inserts jobs into one queue, and returns them in the same order; in the place of one whose unique key another holds, that
   * one, as `deduplicated`.
   */
  return function insert(on: Db, queueId: number, jobs: JobToInsert[]): Promise<Job[]> {
    return (jobs.some(hasKey) ? insertUnique : insertPlain)(on, queueId, jobs, newId);
  };
}

function enqueued(job: JobToInsert, id: string, row: Inserted): Job {
  return {
    id,
    queue: job.queue.name,
    state: row.state,
    priority: job.priority,
    attempt: 0,
    max_attempts: job.max_attempts,
    deliveries: 0,
    group: job.group,
    fairness_key: job.fairness_key,
    unique_key: job.unique_key,
    run_at: row.run_at,
    created_at: row.created_at,
    lease_expires_at: null,
    finished_at: null,
    worker: null,
    last_error: null,
    headers: job.headers,
    progress: null,
    result: null,
  };
}
