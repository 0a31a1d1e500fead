import { firstOfKeys } from '../enqueue/insert.ts';
import { jobNotFound, Refusal, unavailable } from '../errors.ts';
import type { Job, JobRow } from '../job.ts';
import { actOn, beginningWith } from '../postgres/act.ts';
import { isKeyTaken, isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue } from '../queues/cache.ts';
import type { Signed } from '../verbs/callers.ts';
import { currentJobs, type GiveBack } from './giveBack.ts';
import { type Item, ids, type Outcomes, type Untouched } from './settleBatch.ts';

/** After this time, jobs that were not tried yet are refused: their request has waited long enough. */
const GIVE_UP_MS = 2000;
/** A part of a batch waits so long for a lock. The whole batch has already waited SHORT_LOCK_WAIT_MS. */
const PART_LOCK_WAIT_MS = 2;
/** Batches that are tried at once, and batches that are taken apart at once. */
const AT_ONCE = 2;

/**
 * Waits for work. Returns false when nothing was done: another job has one of the unique keys, or is about to get it.
 */
async function unlessKeyHeld(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (!isKeyTaken(error) && !isLockTimeout(error)) throw error;
    return false;
  }
}

/**
 * Settles jobs late: their leases ran out, and the sweeper made them dead. Nobody has leased them since, so a nack or
 * release still counts. A job that would come back stays dead when another job has its unique key by now, or is about
 * to take it in an open transaction. Such a transaction may stay open for long, and hold many keys. So a batch that
 * meets one is taken apart until only the jobs with held keys are left. The batches of the queue do not wait for all
 * this.
 */
export function createLateSettlement(db: Database) {
  const tried = createSemaphore(AT_ONCE);
  const takenApart = createSemaphore(AT_ONCE);

  return async function settleLate<I extends Item & Signed>(
    queue: Queue,
    items: I[],
    found: Map<string, Untouched>,
    verb: {
      prepare(items: I[]): Promise<GiveBack>;
      givenBack(rows: JobRow[]): Promise<Job[]>;
    },
  ): Promise<Outcomes<Job>> {
    const giveUpAt = performance.now() + GIVE_UP_MS;
    const outcomes: Outcomes<Job> = new Map();

    async function settle(some: I[], tryMs: number): Promise<void> {
      const giveBack = await verb.prepare(some);
      const on = beginningWith(inTurnOf(db, { queue: queue.id, tryMs }), actOn(some));
      const jobs = await verb.givenBack(await giveBack(on));
      for (const job of jobs) outcomes.set(job.id, job);
    }

    /** Settles parts, smaller ones after each that fails and larger ones after each that does not. */
    async function settleInParts(some: I[]): Promise<void> {
      let size = some.length >> 1;
      for (let at = 0; at < some.length; ) {
        if (performance.now() > giveUpAt) {
          const refusal = unavailable(
            'Other transactions have locked too many unique keys. Try again later.',
          );
          for (const { id } of some.slice(at)) outcomes.set(id, refusal);
          return;
        }
        const part = some.slice(at, at + size);
        const isSettled = await unlessKeyHeld(settle(part, PART_LOCK_WAIT_MS));
        // A job that is left alone with a held key stays dead.
        if (isSettled || part.length === 1) at += part.length;
        size = isSettled ? part.length * 2 : Math.max(1, part.length >> 2);
      }
    }

    const keyed = items.map((item) => ({ item, unique_key: found.get(item.id)?.unique_key ?? null }));
    const firsts = firstOfKeys(keyed).map(({ item }) => item);
    try {
      const isSettled = await unlessKeyHeld(tried(() => settle(firsts, SHORT_LOCK_WAIT_MS)));
      if (!isSettled && firsts.length > 1) await takenApart(() => settleInParts(firsts));
      const left = ids(items).filter((id) => !outcomes.has(id));
      if (left.length > 0) for (const job of await currentJobs(db, queue, left)) outcomes.set(job.id, job);
    } catch (error) {
      // What has come back is committed, and is answered as that.
      if (outcomes.size === 0 || !(error instanceof Refusal)) throw error;
      for (const { id } of items) if (!outcomes.has(id)) outcomes.set(id, error);
    }
    for (const { id } of items) if (!outcomes.has(id)) outcomes.set(id, jobNotFound(id));
    return outcomes;
  };
}
