import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import { isOutage, Refusal } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { idSource } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Clock } from '../postgres/clock.ts';
import { batchAsRefusal, isDataError, isLockTimeout } from '../postgres/errorClasses.ts';
import type { LockTurn } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queues } from '../queues/cache.ts';
import type { Places } from '../queues/elsewhere.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Capacity } from './capacity.ts';
import { createTransact, type RelayOut, type Within } from './enqueueWithin.ts';
import { holding } from './holdBatches.ts';
import { createInsert, dealOut, type Insert } from './insert.ts';
import { createInsertNewKeys } from './insertNewKeys.ts';
import { checked, createIntoQueues, firstQueueOf, type HowInto, refuseKeysElsewhere } from './intoQueues.ts';
import { hasBatch, hasGroup, type JobToInsert, queueIdsOf } from './newJob.ts';
import { createUniqueBatcher } from './uniqueBatcher.ts';
import { wayOf, weigh } from './ways.ts';

/** One batch of large requests is inserted while another commits. Both are full, so to wait would gather nothing. */
const FULL_AT_ONCE = 2;

/** What `work` returns. Undefined when it has to be tried again alone, which tells what is wrong, or waits for a lock. */
const unlessAlone = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch((error) => {
    const isRefused = error instanceof Refusal && !isOutage(error);
    if (isRefused || isLockTimeout(error) || isDataError(error)) return undefined;
    throw error;
  });

interface Context {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  clock: Clock;
  notifier: Notifier;
  groups: GroupHeads;
  capacity: Capacity;
  arrivals: Arrivals;
  tally: Pick<Tally, 'enqueued'>;
  /** Both are set where there are several databases. */
  crossing?: Places | undefined;
  relay?: RelayOut | undefined;
}

/** The ways in (ways.ts) for jobs whose queues are there. `committed` is called once jobs are. */
function createWays(context: Context, committed: (jobs: Job[], trip?: number) => void) {
  const { db, joinRoundTrip, notifier, groups, arrivals, relay } = context;
  const newId = idSource(context.clock.now);
  const { insert, insertShortly } = createInsert(newId);
  const transact = createTransact({ db, arrivals, insert, groups, relay, inserted: committed });

  const insertAndLead: Insert = async (on, queueId, jobs) => {
    const inserted = await insert(on, queueId, jobs);
    await groups.lead(inserted);
    return inserted;
  };

  const batcher = (insertAll: Insert, how: { joinRoundTrip?: JoinRoundTrip; fullAtOnce?: number }) =>
    createBatcher<JobToInsert[], Job[]>({
      ...how,
      weigh,
      maxWeight: 1,
      async run(queueId, requests, trip) {
        const jobs = await arrivals.watch(
          () => [queueId],
          () => {
            const jobs = requests.flat();
            return insertAll(holding(jobs, db, trip?.db), queueId, jobs);
          },
        );
        committed(jobs, trip?.number);
        return dealOut(jobs, requests);
      },
    });
  const shared = batcher(insertShortly, { joinRoundTrip });
  const heavy = batcher(insertAndLead, { fullAtOnce: FULL_AT_ONCE });
  const unique = createUniqueBatcher({
    db,
    arrivals,
    insert,
    insertNewKeys: createInsertNewKeys(newId),
    lead: groups.lead,
    inserted: committed,
  });

  async function enqueueOneWay(jobs: JobToInsert[], by?: string): Promise<Job[]> {
    const [{ queue }] = jobs as [JobToInsert];
    const way = wayOf(jobs, false);
    if (way === 'several')
      return transact(
        async () => jobs,
        (_, enqueueIn) => enqueueIn(),
        { queue: queue.id, by },
      );
    if (way === 'shared') notifier.coming(queue.name);
    const inserted = await { shared, heavy, unique }[way](queue.id, jobs, by);
    if (jobs.some(hasGroup)) await groups.advanceAfter(inserted);
    return inserted;
  }

  /** Inserts the jobs of one request, and returns them. */
  const enqueueFound = (jobs: JobToInsert[], by?: string): Promise<Job[]> =>
    jobs.some(hasBatch)
      ? enqueueOneWay(jobs, by).catch((error) => Promise.reject(batchAsRefusal(error)))
      : enqueueOneWay(jobs, by);

  return { newId, insert, transact, enqueueFound };
}

export function createEnqueue(context: Context) {
  const { arrivals, clock, notifier, groups, tally, crossing } = context;
  const intoQueues = createIntoQueues(context);

  /** Jobs are committed: counts them, and wakes the claims that wait for them. */
  function committed(jobs: Job[], trip?: number): void {
    tally.enqueued(jobs);
    const ready = jobs.filter((job) => job.state === 'ready' && (!job.deduplicated || job.replaced));
    for (const name of new Set(ready.map((job) => job.queue))) notifier.ready(name, trip);
  }

  const { newId, insert, transact, enqueueFound } = createWays(context, committed);

  return {
    /** Checks jobs as an enqueue of them would, and does nothing else. @throws Refusal `invalid_request` */
    check(jobs: NewJob[], at: PathOf): void {
      checked(jobs, at, clock.now());
    },

    /** Inserts jobs of the caller `by`, all or none. Returns them in the same order once they are committed. */
    enqueue: (jobs: NewJob[], at: PathOf, by?: string): Promise<Job[]> =>
      intoQueues(
        jobs,
        at,
        async ({ open }) => {
          if (crossing) refuseKeysElsewhere(jobs, at, crossing);
          return enqueueFound(await open(), by);
        },
        { first: firstQueueOf(jobs) },
      ),

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
        intoQueues(jobs, at, async ({ known }) => {
          if (known.length < jobs.length || wayOf(known, true) !== 'shared') return undefined;
          if (!known.some(hasGroup)) return work(known);
          const done = await arrivals.watch(
            () => queueIdsOf(known),
            async () => {
              const worked = await work(known);
              if (worked) await groups.lead(worked.inserted);
              return worked;
            },
          );
          if (done) await groups.advanceAfter(done.inserted);
          return done;
        }),
      ),

    newId,
    /** Inserts jobs into one queue, in a transaction of the caller. */
    insert,
    /** Is to be called when jobs that others inserted are committed, in this round trip or outside of any. */
    inserted: committed,

    /** Runs `work` in a transaction. The jobs are inserted in it when, and if, `work` calls `enqueueIn`. */
    enqueueWithin: <T>(
      jobs: NewJob[],
      at: PathOf,
      work: Within<T>,
      { first, ...turn }: LockTurn & Pick<HowInto, 'first'> = {},
    ): Promise<T> =>
      intoQueues(jobs, at, ({ open }) => transact(open, work, { queue: firstQueueOf(jobs), ...turn }), {
        isPart: true,
        first,
      }),
  };
}

export type Enqueue = ReturnType<typeof createEnqueue>;
