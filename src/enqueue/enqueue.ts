import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrips.ts';
import { QueueGone } from '../errors.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { idSource } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Clock } from '../postgres/clock.ts';
import { createLockWait, SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Capacity } from './capacity.ts';
import { checkUnique, type PathOf, runAtOf } from './checks.ts';
import { createTransact, queueIdsOf, type Within } from './enqueueWithin.ts';
import { createInsert, hasUniqueKey } from './insert.ts';
import { type JobToInsert, type NewJob, toInsert } from './newJob.ts';
import { createUniqueBatcher, dealOut } from './uniqueBatcher.ts';
import { isHeavy, weigh } from './weight.ts';

const queueNameOf = (job: NewJob) => job.queue ?? 'default';

export function createEnqueue(context: {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  clock: Clock;
  notifier: Notifier;
  groups: GroupHeads;
  capacity: Capacity;
}) {
  const { db, joinRoundTrip, queues, clock, notifier, groups, capacity } = context;
  const insert = createInsert(idSource(clock.now));

  /** Wakes the claims that wait for new jobs. */
  function wakeClaims(jobs: Job[], trip?: number): void {
    const ready = jobs.filter((job) => job.state === 'ready' && !job.deduplicated);
    for (const name of new Set(ready.map((job) => job.queue))) notifier.ready(name, trip);
  }

  const transact = createTransact({ db, insert, groups, inserted: wakeClaims });
  const waitForLocks = createLockWait();

  const batcher = (roundTrips?: JoinRoundTrip) =>
    createBatcher<JobToInsert[], Job[]>({
      joinRoundTrip: roundTrips,
      weigh,
      maxWeight: 1,
      async run(queueId, requests, trip) {
        const jobs = await insert(trip?.db ?? db, queueId, requests.flat());
        wakeClaims(jobs, trip?.number);
        return dealOut(jobs, requests);
      },
    });
  const light = batcher(joinRoundTrip);
  const heavy = batcher();
  const unique = createUniqueBatcher({ db, waitForLocks, insert, inserted: wakeClaims });

  /** Finds the queues of the jobs, and creates the missing ones. */
  async function withQueues(jobs: NewJob[], at: PathOf): Promise<JobToInsert[]> {
    // The checks come before a queue is created: a refused request changes nothing.
    const times = jobs.map((job, i) => runAtOf(job, at(i), clock.now()));
    for (const [i, job] of jobs.entries()) checkUnique(job, at(i));
    const fair = new Set(jobs.filter((job) => job.fairness_key !== undefined).map(queueNameOf));
    const found = new Map<string, Queue>();
    for (const name of new Set(jobs.map(queueNameOf)))
      found.set(name, await queues.open(name, fair.has(name)));
    return jobs.map((job, i) => toInsert(job, found.get(queueNameOf(job)) as Queue, times[i] ?? null));
  }

  async function enqueueIntoOne(jobs: JobToInsert[], queue: Queue): Promise<Job[]> {
    const grouped = jobs.filter((job) => job.group !== null).length;
    const isUnique = jobs.some(hasUniqueKey);
    if (!isUnique && !isHeavy(jobs) && grouped < jobs.length) notifier.coming(queue.name);
    const inserted = await (isUnique ? unique : isHeavy(jobs) ? heavy : light)(queue.id, jobs);
    if (grouped > 0) await groups.advanceAfter(inserted);
    return inserted;
  }

  async function enqueueIntoMany(jobs: JobToInsert[]): Promise<Job[]> {
    const attempt = (lockWaitMs: number) => transact(jobs, (_, enqueueIn) => enqueueIn(), lockWaitMs);
    return jobs.some(hasUniqueKey) ? waitForLocks(attempt) : attempt(SHORT_LOCK_WAIT_MS);
  }

  /** Runs `work` within the capacity of the queues. When a queue was deleted meanwhile, it runs `work` again. */
  async function intoQueues<T>(
    jobs: NewJob[],
    at: PathOf,
    work: (jobs: JobToInsert[]) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const found = await withQueues(jobs, at);
      try {
        return await capacity.within(found, clock.now(), () => work(found));
      } catch (error) {
        if (!(error instanceof QueueGone)) throw error;
        for (const job of found) queues.changed(job.queue.name);
      }
    }
  }

  return {
    /** Checks jobs as an enqueue of them would, and does nothing else. @throws Refusal `invalid_request` */
    check(jobs: NewJob[], at: PathOf): void {
      for (const [i, job] of jobs.entries()) {
        runAtOf(job, at(i), clock.now());
        checkUnique(job, at(i));
      }
    },

    /** Inserts jobs, all or none. Returns them in the same order once they are committed. */
    enqueue: (jobs: NewJob[], at: PathOf): Promise<Job[]> =>
      intoQueues(jobs, at, (found) =>
        queueIdsOf(found).length === 1
          ? enqueueIntoOne(found, found[0]?.queue as Queue)
          : enqueueIntoMany(found),
      ),

    /** Runs `work` in a transaction. The jobs are inserted in it when, and if, `work` calls `enqueueIn`. */
    enqueueWithin: <T>(jobs: NewJob[], at: PathOf, work: Within<T>): Promise<T> =>
      intoQueues(jobs, at, (found) => transact(found, work)),
  };
}

export type Enqueue = ReturnType<typeof createEnqueue>;
