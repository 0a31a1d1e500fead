import { createBatcher } from '../batching/batcher.ts';
import { createRoundTrips, RANKS } from '../batching/roundTrips.ts';
import type { Job } from '../job.ts';
import { SHORT_LOCK_WAIT_MS, type WaitForLocks, withLockTimeout } from '../postgres/lockWait.ts';
import { type Database, type Db, isLockTimeout } from '../postgres/pool.ts';
import type { JobToInsert } from './insert.ts';

const BATCH_ROWS = 100;
const BATCH_BYTES = 2 ** 20;

/**
 * Enqueues requests that have unique keys. They may run into the open transaction of somebody who has enqueued with the same
 * key, so they take no part in the rounds of their queue; a batch that does falls apart, and of its requests only those
 * that are about that key go on waiting.
 */
export function createUniqueBatcher(context: {
  db: Database;
  waitForLocks: WaitForLocks;
  write: (on: Db, queueId: number, jobs: JobToInsert[]) => Promise<Job[]>;
  written: (jobs: Job[]) => void;
}) {
  const { db, waitForLocks, write, written } = context;
  /** The keys that somebody waits for here, and how many do. */
  const awaited = new Map<string, number>();

  /** Writes in a transaction of its own that waits no longer than so for any lock. */
  async function writeWithin(ms: number, queueId: number, jobs: JobToInsert[]): Promise<Job[]> {
    const jobsWritten = await write(withLockTimeout(db, ms), queueId, jobs);
    written(jobsWritten);
    return jobsWritten;
  }

  const lanes = createBatcher<JobToInsert[], Job[]>({
    joinRoundTrip: createRoundTrips(db)(RANKS.enqueue),
    weigh: (jobs) =>
      jobs.length / BATCH_ROWS + jobs.reduce((bytes, job) => bytes + job.payload.length, 0) / BATCH_BYTES,
    maxWeight: 1,
    oneAtATime: true,
    async run(queueId, groups) {
      const jobs = await writeWithin(SHORT_LOCK_WAIT_MS, queueId, groups.flat());
      let taken = 0;
      return groups.map((group) => {
        taken += group.length;
        return jobs.slice(taken - group.length, taken);
      });
    },
  });

  async function alone(queueId: number, jobs: JobToInsert[], keys: string[]): Promise<Job[]> {
    for (const key of keys) awaited.set(key, (awaited.get(key) ?? 0) + 1);
    try {
      return await waitForLocks((ms) => writeWithin(ms, queueId, jobs));
    } finally {
      for (const key of keys) {
        const others = (awaited.get(key) as number) - 1;
        if (others > 0) awaited.set(key, others);
        else awaited.delete(key);
      }
    }
  }

  return async (queueId: number, jobs: JobToInsert[]): Promise<Job[]> => {
    const keys = jobs.map((job) => `${queueId} ${job.unique_key}`);
    if (keys.some((key) => awaited.has(key))) return alone(queueId, jobs, keys);
    try {
      return await lanes(queueId, jobs);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      return alone(queueId, jobs, keys);
    }
  };
}
