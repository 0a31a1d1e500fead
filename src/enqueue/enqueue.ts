import { createBatcher } from '../batching/batcher.ts';
import { createRoundTrips, type JoinRoundTrip, RANKS } from '../batching/roundTrips.ts';
import { invalidRequest, QueueGone } from '../errors.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { idSource } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Clock } from '../postgres/clock.ts';
import { createLockWait, lockTimeout, SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database, Db } from '../postgres/pool.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { KEPT_SECONDS } from '../waiting/waiters.ts';
import type { WithinCapacity } from './capacity.ts';
import { hasKey, inserting, type JobToInsert } from './insert.ts';
import type { NewJob } from './newJob.ts';
import { createUniqueBatcher } from './uniqueBatcher.ts';

const LONGEST_DELAY_MS = 366 * 86_400_000;
const BATCH_ROWS = 1000;
const BATCH_BYTES = 4 * 2 ** 20;
/** A request with more than this takes part in no round and has lanes of its own, so that small ones never wait for its insert. */
const HEAVY_BYTES = 64 * 1024;
const HEAVY_ROWS = 100;

const queueNameOf = (job: NewJob) => job.queue ?? 'default';
const weigh = (jobs: JobToInsert[]) => jobs.length / BATCH_ROWS + bytesOf(jobs) / BATCH_BYTES;
const bytesOf = (jobs: JobToInsert[]) => jobs.reduce((bytes, job) => bytes + job.payload.length, 0);
const isHeavy = (jobs: JobToInsert[]) => jobs.length > HEAVY_ROWS || bytesOf(jobs) > HEAVY_BYTES;

const queueIdsOf = (jobs: JobToInsert[]) => [...new Set(jobs.map((j) => j.queue.id))].sort((a, b) => a - b);

/** PostgreSQL keeps no half of a surrogate pair, and what it keeps is looked for in what it answers. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

/** @throws Refusal `invalid_request`, naming the field below `at` */
export function checkUnique(job: NewJob, at: string): void {
  if (job.unique_for_seconds !== undefined && job.unique_key === undefined)
    throw invalidRequest([{ in: 'body', path: `${at}/unique_for_seconds`, message: 'needs a unique_key' }]);
}

/** Work in a transaction of which the insertion of jobs, by `enqueueIn`, is a part. */
type Within<T> = (transaction: Db, enqueueIn: () => Promise<Job[]>) => Promise<T>;

export function enqueueing(context: {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  clock: Clock;
  notifier: Notifier;
  groups: GroupHeads;
  admit: WithinCapacity;
}) {
  const { db, joinRoundTrip, queues, clock, notifier, groups, admit } = context;
  const write = inserting(idSource(clock.now));

  /** The time that a job asks for. @throws Refusal `invalid_request`, naming the field below `at`. */
  function askedTime(job: NewJob, at: string): Date | null {
    if (job.run_at === undefined) return null;
    const path = `${at}/run_at`;
    if (job.delay_seconds !== undefined)
      throw invalidRequest([{ in: 'body', path, message: 'must not stand beside delay_seconds' }]);
    const time = new Date(job.run_at);
    if (Number.isNaN(time.getTime()))
      throw invalidRequest([{ in: 'body', path, message: 'must be a time that exists' }]);
    if (time.getTime() > clock.now() + LONGEST_DELAY_MS)
      throw invalidRequest([{ in: 'body', path, message: 'must be within 366 days from now' }]);
    // A year before the first is none to PostgreSQL, and what is past is now anyway.
    return new Date(Math.max(time.getTime(), 0));
  }

  function incoming(job: NewJob, queue: Queue, run_at: Date | null): JobToInsert {
    return {
      queue,
      run_at,
      delay_seconds: job.delay_seconds ?? 0,
      priority: job.priority ?? 0,
      max_attempts: job.max_attempts ?? queue.max_attempts,
      backoff: job.backoff ? JSON.stringify(job.backoff) : null,
      headers: job.headers ? JSON.stringify(job.headers) : '{}',
      payload: job.payload?.text ?? 'null',
      unique_key: job.unique_key === undefined ? null : wellFormed(job.unique_key),
      unique_for_seconds: job.unique_for_seconds ?? null,
      group: job.group ?? null,
      fairness_key: job.fairness_key ?? null,
      expires_in_seconds: job.expires_in_seconds ?? null,
      awaited_seconds: job.awaited_seconds === undefined ? null : job.awaited_seconds + KEPT_SECONDS,
    };
  }

  /** The jobs with their queues, which are created where there are none. */
  async function takeIn(jobs: NewJob[], at: (i: number) => string): Promise<JobToInsert[]> {
    // Before a queue is created: a refused request changes nothing.
    const times = jobs.map((job, i) => askedTime(job, at(i)));
    const keyed = new Set(jobs.filter((job) => job.fairness_key !== undefined).map(queueNameOf));
    for (const [i, job] of jobs.entries()) checkUnique(job, at(i));
    const found = new Map<string, Queue>();
    for (const name of new Set(jobs.map(queueNameOf)))
      found.set(name, await queues.open(name, keyed.has(name)));
    return jobs.map((job, i) => incoming(job, found.get(queueNameOf(job)) as Queue, times[i] ?? null));
  }

  /** Tells the claims that wait of new jobs. */
  function wake(jobs: Job[], round?: number): void {
    const ready = jobs.filter((job) => job.state === 'ready' && !job.deduplicated);
    for (const name of new Set(ready.map((job) => job.queue))) notifier.ready(name, round);
  }

  const lanesOf = (joinRoundTrip: JoinRoundTrip) =>
    createBatcher<JobToInsert[], Job[]>({
      joinRoundTrip,
      weigh,
      maxWeight: 1,
      async run(queueId, requests, trip) {
        const jobs = await write(trip.db, queueId, requests.flat());
        wake(jobs, trip.number);
        let taken = 0;
        return requests.map((request) => {
          taken += request.length;
          return jobs.slice(taken - request.length, taken);
        });
      },
    });
  const light = lanesOf(joinRoundTrip);
  const heavy = lanesOf(createRoundTrips(db)(RANKS.enqueue));
  const waitForLocks = createLockWait();
  const keyed = createUniqueBatcher({ db, waitForLocks, write, written: wake });

  /** Queues in the order of their ids, so that no two such transactions can deadlock. */
  async function writeIn(transaction: Db, jobs: JobToInsert[]): Promise<Job[]> {
    const written = new Map<JobToInsert, Job>();
    for (const id of queueIdsOf(jobs)) {
      const own = jobs.filter((j) => j.queue.id === id);
      const rows = await write(transaction, id, own);
      for (const [i, job] of own.entries()) written.set(job, rows[i] as Job);
    }
    return jobs.map((job) => written.get(job) as Job);
  }

  /** Runs `work` when there is room for the jobs in all of their queues, asked for in the order of the queues' ids. */
  async function admitted<T>(jobs: JobToInsert[], work: () => Promise<T>): Promise<T> {
    if (jobs.every(({ queue }) => queue.max_ready === null)) return work();
    const now = clock.now();
    let inside = work;
    for (const id of queueIdsOf(jobs).reverse()) {
      const own = jobs.filter(({ queue }) => queue.id === id);
      const atOnce = own.filter((job) => job.delay_seconds === 0 && (job.run_at?.getTime() ?? 0) <= now);
      const next = inside;
      inside = () => admit(own[0]?.queue as Queue, { jobs: atOnce.length, weight: weigh(own) }, next);
    }
    return inside();
  }

  async function writeOne(jobs: JobToInsert[], queue: Queue): Promise<Job[]> {
    const grouped = jobs.filter((job) => job.group !== null).length;
    const keys = jobs.some(hasKey);
    if (!keys && !isHeavy(jobs) && grouped < jobs.length) notifier.coming(queue.name);
    const written = await (keys ? keyed : isHeavy(jobs) ? heavy : light)(queue.id, jobs);
    if (grouped > 0) await groups.advanceAfter(written);
    return written;
  }

  /** Waits no longer than so for the transactions of others that have a key of these jobs. */
  async function transact<T>(
    jobs: JobToInsert[],
    work: Within<T>,
    lockTimeoutMs = SHORT_LOCK_WAIT_MS,
  ): Promise<T> {
    let written: Job[] = [];
    const result = await db.transaction(async (transaction) => {
      if (jobs.some(hasKey)) {
        const { statement, parameters } = lockTimeout(lockTimeoutMs);
        await transaction.query(statement, parameters);
      }
      return work(transaction, async () => {
        written = await writeIn(transaction, jobs);
        return written;
      });
    });
    wake(written);
    await groups.advanceAfter(written);
    return result;
  }

  async function writeAcross(jobs: JobToInsert[]): Promise<Job[]> {
    const insert = (ms: number) => transact(jobs, (_, enqueueIn) => enqueueIn(), ms);
    return jobs.some(hasKey) ? waitForLocks(insert) : insert(SHORT_LOCK_WAIT_MS);
  }

  /** Takes jobs in and runs `work` with them, again when one of their queues was deleted meanwhile. */
  async function intoQueues<T>(
    jobs: NewJob[],
    at: (i: number) => string,
    work: (taken: JobToInsert[]) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const taken = await takeIn(jobs, at);
      try {
        return await admitted(taken, () => work(taken));
      } catch (error) {
        if (!(error instanceof QueueGone)) throw error;
        for (const job of taken) queues.changed(job.queue.name);
      }
    }
  }

  return {
    /** Refuses, before anything is done, what enqueueing these jobs would refuse. @throws Refusal `invalid_request` */
    check(jobs: NewJob[], at: (i: number) => string): void {
      for (const [i, job] of jobs.entries()) {
        askedTime(job, at(i));
        checkUnique(job, at(i));
      }
    },

    /**
     * Inserts jobs, all or none, and returns them in the same order once they are committed.
     * `at` gives the JSON pointer of the i-th job within its request.
     */
    enqueue: (jobs: NewJob[], at: (i: number) => string): Promise<Job[]> =>
      intoQueues(jobs, at, (taken) =>
        queueIdsOf(taken).length === 1 ? writeOne(taken, taken[0]?.queue as Queue) : writeAcross(taken),
      ),

    /** Runs `work` in one transaction with the insertion of jobs, which happens where it calls `enqueueIn`, if it does. */
    enqueueWithin: <T>(jobs: NewJob[], at: (i: number) => string, work: Within<T>): Promise<T> =>
      intoQueues(jobs, at, (taken) => transact(taken, work)),
  };
}

export type Enqueueing = ReturnType<typeof enqueueing>;
