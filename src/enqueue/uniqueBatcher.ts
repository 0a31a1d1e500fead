import { createBatcher } from '../batching/batcher.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Lead } from '../groups/lead.ts';
import type { Job } from '../job.ts';
import { isKeyTaken, isLockTimeout } from '../postgres/errorClasses.ts';
import { type LockTurn, SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { inTurnOf, type Transactions } from '../postgres/transactions.ts';
import { dealOut, type Insert } from './insert.ts';
import type { InsertNewKeys } from './insertNewKeys.ts';
import { hasUniqueKey, type JobToInsert, replaces } from './newJob.ts';
import { weigh } from './ways.ts';

const BATCH_ROWS = 100;
const BATCH_BYTES = 2 ** 20;

const opensWindow = ({ unique_for_seconds: seconds }: JobToInsert): boolean =>
  seconds !== null && seconds > 0;

/**
 * Enqueues requests that have unique keys. They may have to wait for somebody's open transaction that holds the same key,
 * so they go in no round trip of their queue. A batch that meets such a transaction falls apart into its requests. Then
 * only the requests with that key wait.
 */
export function createUniqueBatcher(context: {
  db: Database;
  arrivals: Arrivals;
  insert: Insert;
  insertNewKeys: InsertNewKeys;
  lead: Lead;
  inserted: (jobs: Job[]) => void;
}) {
  const { db, arrivals, insert, insertNewKeys, lead, inserted } = context;
  /** The keys that requests wait for on this replica, and the number of requests that wait for each. */
  const waitedFor = new Map<string, number>();

  /** Nearly all keys are free, or held by an unfinished job. That is found out first. */
  async function insertOn(on: Transactions, queueId: number, jobs: JobToInsert[]) {
    if (jobs.some(opensWindow) || jobs.some(replaces)) return insert(on, queueId, jobs);
    try {
      return await insertNewKeys(on, queueId, jobs);
    } catch (error) {
      if (!isKeyTaken(error)) throw error;
      return insert(on, queueId, jobs);
    }
  }

  /** Inserts in a transaction of its own. */
  async function insertWithin(turn: LockTurn, queueId: number, jobs: JobToInsert[]): Promise<Job[]> {
    const on = inTurnOf(db, { queue: queueId, ...turn });
    const done = await arrivals.watch(
      () => [queueId],
      async () => {
        const found = await insertOn(on, queueId, jobs);
        await lead(found);
        return found;
      },
    );
    inserted(done);
    return done;
  }

  const batched = createBatcher<JobToInsert[], Job[]>({
    weigh: (jobs) => weigh(jobs, BATCH_ROWS, BATCH_BYTES),
    maxWeight: 1,
    run: async (queueId, requests) =>
      dealOut(await insertWithin({ tryMs: SHORT_LOCK_WAIT_MS }, queueId, requests.flat()), requests),
  });

  async function alone(queueId: number, jobs: JobToInsert[], keys: string[], by?: string): Promise<Job[]> {
    const isHeld = keys.some((key) => waitedFor.has(key));
    for (const key of keys) waitedFor.set(key, (waitedFor.get(key) ?? 0) + 1);
    try {
      return await insertWithin({ isHeld, by }, queueId, jobs);
    } finally {
      for (const key of keys) {
        const others = (waitedFor.get(key) as number) - 1;
        if (others > 0) waitedFor.set(key, others);
        else waitedFor.delete(key);
      }
    }
  }

  return async (queueId: number, jobs: JobToInsert[], by?: string): Promise<Job[]> => {
    const keys = jobs.filter(hasUniqueKey).map((job) => `${queueId} ${job.unique_key}`);
    if (keys.some((key) => waitedFor.has(key))) return alone(queueId, jobs, keys, by);
    try {
      return await batched(queueId, jobs);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      return alone(queueId, jobs, keys, by);
    }
  };
}
