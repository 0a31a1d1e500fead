import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import { isOutage, QueueGone, Refusal } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { idSource } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Clock } from '../postgres/clock.ts';
import { isDataError, isLockTimeout } from '../postgres/errorClasses.ts';
import type { LockTurn } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { eachOf, inSlices } from '../slices.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Capacity } from './capacity.ts';
import { checkKeys, hasKeys, runAtOf } from './checks.ts';
import { createTransact, queueIdsOf, type Within } from './enqueueWithin.ts';
import { createInsert, hasUniqueKey, type Insert, insertShortly } from './insert.ts';
import { createInsertNewKeys } from './insertNewKeys.ts';
import { type JobToInsert, toInsert } from './newJob.ts';
import { createUniqueBatcher, dealOut } from './uniqueBatcher.ts';
import { isHeavy, weigh } from './weight.ts';

const queueNameOf = (job: NewJob) => job.queue ?? 'default';

/** More jobs are prepared in slices: their headers may take 16 MiB. */
const PREPARED_AT_ONCE = 100;

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

/** One batch of large requests is inserted while another commits. Both are full, so to wait would gather nothing. */
const FULL_AT_ONCE = 2;

/** What `work` returns. Undefined when it has to be tried again alone, which tells what is wrong, or waits for a lock. */
const unlessAlone = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error) => {
    const isRefused = error instanceof Refusal && !isOutage(error);
    if (isRefused || isLockTimeout(error) || isDataError(error)) return undefined;
    throw error;
  });

export function createEnqueue(context: {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  clock: Clock;
  notifier: Notifier;
  groups: GroupHeads;
  capacity: Capacity;
  arrivals: Arrivals;
  tally: Pick<Tally, 'enqueued'>;
}) {
  const { db, joinRoundTrip, queues, clock, notifier, groups, capacity, arrivals, tally } = context;
  const newId = idSource(clock.now);
  const insert = createInsert(newId);

  /** Jobs are committed: counts them, and wakes the claims that wait for them. */
  function committed(jobs: Job[], trip?: number): void {
    tally.enqueued(jobs);
    const ready = jobs.filter((job) => job.state === 'ready' && !job.deduplicated);
    for (const name of new Set(ready.map((job) => job.queue))) notifier.ready(name, trip);
  }

  const transact = createTransact({ db, arrivals, insert, groups, inserted: committed });

  const batcher = (insertAll: Insert, how: { joinRoundTrip?: JoinRoundTrip; fullAtOnce?: number }) =>
    createBatcher<JobToInsert[], Job[]>({
      ...how,
      weigh,
      maxWeight: 1,
      async run(queueId, requests, trip) {
        const jobs = await arrivals.watch(
          () => [queueId],
          () => insertAll(trip?.db ?? db, queueId, requests.flat()),
        );
        committed(jobs, trip?.number);
        return dealOut(jobs, requests);
      },
    });
  const light = batcher((on, queueId, jobs) => insertShortly(on, queueId, jobs, newId), { joinRoundTrip });
  const heavy = batcher(insert, { fullAtOnce: FULL_AT_ONCE });
  const unique = createUniqueBatcher({
    db,
    arrivals,
    insert,
    insertNewKeys: createInsertNewKeys(newId),
    inserted: committed,
  });

  /** The times of the jobs. @throws Refusal `invalid_request` */
  function checked(jobs: NewJob[], at: PathOf): (Date | null)[] {
    for (const [i, job] of jobs.entries()) if (hasKeys(job)) checkKeys(job, at(i));
    const now = clock.now();
    return jobs.map((job, i) => (job.run_at === undefined ? null : runAtOf(job, at(i), now)));
  }

  async function enqueueIntoOne(jobs: JobToInsert[], queue: Queue, by?: string): Promise<Job[]> {
    const grouped = jobs.filter((job) => job.group !== null).length;
    const isUnique = jobs.some(hasUniqueKey);
    const batch = isHeavy(jobs, grouped > 0) ? heavy : light;
    if (!isUnique && batch === light) notifier.coming(queue.name);
    const inserted = await (isUnique ? unique(queue.id, jobs, by) : batch(queue.id, jobs));
    if (grouped > 0) await groups.advanceAfter(inserted);
    return inserted;
  }

  const enqueueIntoMany = (jobs: JobToInsert[], by?: string): Promise<Job[]> =>
    transact(
      async () => jobs,
      (_, enqueueIn) => enqueueIn(),
      { queue: jobs[0]?.queue.id, by },
    );

  /**
   * Runs `work` within the capacity of the queues. When a queue was deleted meanwhile, it runs `work` again. `work` opens
   * the jobs when nothing can refuse them any more: that creates the missing queues, and a refusal leaves no queue behind.
   * `known` has the jobs whose queues are there. `isPart`: `work` opens them in a transaction.
   */
  async function intoQueues<T>(
    jobs: NewJob[],
    at: PathOf,
    work: (open: () => Promise<JobToInsert[]>, known: JobToInsert[]) => Promise<T>,
    isPart = false,
  ): Promise<T> {
    const fair = new Set(jobs.filter((job) => job.fairness_key !== undefined).map(queueNameOf));
    const names = new Set(jobs.map(queueNameOf));
    for (;;) {
      const times = checked(jobs, at);
      const found = new Map<string, Queue>();
      const there = names.size > 1 ? await queues.refresh([...names]) : names;
      for (const name of there) {
        const queue = await queues.find(name, fair.has(name));
        if (queue) found.set(name, queue);
      }
      const inFound = () => toInsertIfFound(jobs, found, times);
      const prepared = inFound();
      const known = Array.isArray(prepared) ? prepared : await prepared;
      const open = async () => {
        if (known.length === jobs.length) return known;
        const missing = [...names].filter((name) => !found.has(name));
        for (const queue of await queues.openAll(missing, fair, isPart)) found.set(queue.name, queue);
        return inFound();
      };
      try {
        return await capacity.within(known, clock.now(), () => work(open, known));
      } catch (error) {
        if (!(error instanceof QueueGone)) throw error;
        for (const name of names) queues.changed(name);
      }
    }
  }

  return {
    /** Checks jobs as an enqueue of them would, and does nothing else. @throws Refusal `invalid_request` */
    check(jobs: NewJob[], at: PathOf): void {
      checked(jobs, at);
    },

    /** Inserts jobs of the caller `by`, all or none. Returns them in the same order once they are committed. */
    enqueue: (jobs: NewJob[], at: PathOf, by?: string): Promise<Job[]> =>
      intoQueues(jobs, at, async (open) => {
        const found = await open();
        return queueIdsOf(found).length === 1
          ? enqueueIntoOne(found, found[0]?.queue as Queue, by)
          : enqueueIntoMany(found, by);
      }),

    /**
     * Runs `work`, which inserts these jobs with those of other requests. Undefined when nothing was done: the jobs were
     * refused, a lock was in the way, or they need a transaction of their own.
     */
    enqueueTogether: <T extends { inserted: Job[] }>(
      jobs: NewJob[],
      at: PathOf,
      work: (jobs: JobToInsert[]) => Promise<T | undefined>,
    ): Promise<T | undefined> =>
      unlessAlone(
        intoQueues(jobs, at, async (_, known) => {
          const isShared = known.length === jobs.length && queueIdsOf(known).length === 1;
          if (!isShared || known.some(hasUniqueKey) || isHeavy(known, true)) return undefined;
          const done = await work(known);
          if (done) await groups.advanceAfter(done.inserted);
          return done;
        }),
      ),

    newId,
    /** Is to be called when jobs that others inserted are committed, in this round trip or outside of any. */
    inserted: committed,

    /** Runs `work` in a transaction. The jobs are inserted in it when, and if, `work` calls `enqueueIn`. */
    enqueueWithin: <T>(jobs: NewJob[], at: PathOf, work: Within<T>, turn: LockTurn = {}): Promise<T> =>
      intoQueues(
        jobs,
        at,
        (open) => transact(open, work, { queue: jobs[0] && queueNameOf(jobs[0]), ...turn }),
        true,
      ),
  };
}

export type Enqueue = ReturnType<typeof createEnqueue>;
