import { QueueGone } from '../errors.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { Misplaced, type Places, queueElsewhere } from '../queues/elsewhere.ts';
import { eachOf, inSlices } from '../slices.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Capacity } from './capacity.ts';
import { checkKeys, hasKeys, refuse, runAtOf } from './checks.ts';
import { checkBatches } from './holdBatches.ts';
import { type JobToInsert, toInsert } from './newJob.ts';

export const queueNameOf = (job: NewJob) => job.queue ?? 'default';
export const firstQueueOf = ([first]: NewJob[]) => first && queueNameOf(first);

/** More jobs are prepared in slices: their headers may take 16 MiB. */
const PREPARED_AT_ONCE = 100;

/** The times of the jobs. `now` is the database's, in milliseconds. @throws Refusal `invalid_request` */
export function checked(jobs: NewJob[], at: PathOf, now: number): (Date | null)[] {
  for (const [i, job] of jobs.entries()) if (hasKeys(job)) checkKeys(job, at(i));
  return jobs.map((job, i) => (job.run_at === undefined ? null : runAtOf(job, at(i), now)));
}

/** The jobs whose queues are found. */
function toInsertIfFound(
  jobs: NewJob[],
  found: Map<string, Queue>,
  times: (Date | null)[],
): JobToInsert[] | Promise<JobToInsert[]> {
  const prepared: JobToInsert[] = [];
  const prepare = (job: NewJob, i: number) => {
    const queue = found.get(queueNameOf(job));
    if (queue) prepared.push(toInsert(job, queue, times[i] ?? null));
  };
  if (jobs.length <= PREPARED_AT_ONCE) {
    jobs.forEach(prepare);
    return prepared;
  }
  return inSlices(eachOf(jobs, prepare)).then(() => prepared);
}

/**
 * A batch is answered before jobs for other databases have arrived. So a unique key is for the database of the first job only.
 * @throws Refusal `invalid_request`
 */
export function refuseKeysElsewhere(
  jobs: NewJob[],
  at: PathOf,
  { elsewhere }: Pick<Places, 'elsewhere'>,
): void {
  const databaseOf = (job: NewJob) => elsewhere(queueNameOf(job))?.database;
  const [first] = jobs as [NewJob];
  for (const [i, job] of jobs.entries())
    if (job.unique_key !== undefined && databaseOf(job) !== databaseOf(first))
      throw refuse(`${at(i)}/unique_key`, 'must not stand in a queue of another database than the first job');
}

/** Work that inserts jobs. */
export interface IntoQueues {
  /**
   * Opens the jobs when nothing can refuse them any more. That creates the missing queues. A refusal leaves no queue behind.
   * `ownBatch`: the batch of the job that adds them.
   */
  open: (ownBatch?: string | null) => Promise<JobToInsert[]>;
  /** The jobs whose queues are there. */
  known: JobToInsert[];
}

export interface HowInto {
  /** The work opens the jobs in a transaction. */
  isPart?: boolean;
  /** The queue that says in which database a request is carried out: in this one only while it lives here. */
  first?: string | undefined;
}

/** Makes the function that checks jobs, finds their queues, and runs work within the capacity of these. */
export function createIntoQueues({
  db,
  queues,
  clock,
  capacity,
  crossing,
}: {
  db: Database;
  queues: Queues;
  clock: Clock;
  capacity: Capacity;
  /** Set where there are several databases. */
  crossing?: Places | undefined;
}) {
  /** The names of those that live in this database. The others are put into `found`. */
  function withoutElsewhere(names: Set<string>, found: Map<string, Queue>): Set<string> {
    for (const name of names) {
      const place = crossing?.elsewhere(name);
      if (place) found.set(name, queueElsewhere(name, place));
    }
    return new Set([...names].filter((name) => !found.has(name)));
  }

  /** Those of the queues that there are. Only where several are named, they are looked up at once. */
  async function find(names: Set<string>, fair: Set<string>): Promise<Map<string, Queue>> {
    const found = new Map<string, Queue>();
    const own = crossing ? withoutElsewhere(names, found) : names;
    const there = own.size > 1 ? await queues.refresh([...own]) : own;
    for (const name of there) {
      const queue = await queues.find(name, fair.has(name));
      if (queue) found.set(name, queue);
    }
    return found;
  }

  /** When a queue was deleted meanwhile, it runs `work` again. @throws Misplaced when `first` lives elsewhere */
  return async function intoQueues<T>(
    jobs: NewJob[],
    at: PathOf,
    work: (into: IntoQueues) => Promise<T>,
    { isPart = false, first }: HowInto = {},
  ): Promise<T> {
    const fair = new Set(jobs.filter((job) => job.fairness_key !== undefined).map(queueNameOf));
    const names = new Set(jobs.map(queueNameOf));
    for (;;) {
      const times = checked(jobs, at, clock.now());
      if (crossing) await crossing.place([...names]);
      if (first !== undefined && crossing?.elsewhere(first)) throw new Misplaced();
      const found = await find(names, fair);
      const inFound = () => toInsertIfFound(jobs, found, times);
      const prepared = inFound();
      const known = Array.isArray(prepared) ? prepared : await prepared;
      const open = async (ownBatch?: string | null) => {
        if (known.length === jobs.length) return known;
        const isMissing = (name: string) => !found.has(name);
        await checkBatches(
          db,
          jobs.filter((job) => isMissing(queueNameOf(job))),
          ownBatch,
        );
        const missing = [...names].filter(isMissing);
        for (const queue of await queues.openAll(missing, fair, isPart)) found.set(queue.name, queue);
        return inFound();
      };
      try {
        return await capacity.within(known, clock.now(), () => work({ open, known }));
      } catch (error) {
        if (!(error instanceof QueueGone)) throw error;
        for (const name of names) queues.changed(name);
      }
    }
  };
}
