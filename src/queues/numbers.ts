import { tooManyQueues } from '../errors.ts';
import { MOST_QUEUE_NUMBERS } from '../ids.ts';
import { isWithoutQueueNumber } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

/** The search for free numbers begins when this number was given. Before, there are enough new ones. */
const SEARCH_FROM = MOST_QUEUE_NUMBERS / 4;
/** One run searches this number of them. */
const SEARCHED = 10_000;

const statements = {
  numbers: planned('queues/numbers', row<{ last: number; reusable: number }>()),
  findFree: planned('queues/find_free', row<{ queue_id: number }>()),
};

/** Returns what `work` returns, which may create a queue. @throws Refusal `too_many_queues` */
export async function orTooManyQueues<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isWithoutQueueNumber(error) ? tooManyQueues() : error;
  }
}

/** Knows how many numbers of queues are left, and finds those that can be used again. */
export function createQueueNumbers({ db }: { db: Db }) {
  let used: number | undefined;
  let searched = 0;

  return {
    /**
     * How many numbers cannot be given to a new queue now. It is exact only while less than a fifth of all can be
     * given.
     */
    used: () => used,

    async run(): Promise<boolean> {
      const [found] = await db.query(statements.numbers);
      const { last, reusable } = found as { last: number; reusable: number };
      used = last - reusable;
      if (last < SEARCH_FROM) return false;
      await db.query(statements.findFree, { after: searched });
      searched = searched + SEARCHED >= last ? 0 : searched + SEARCHED;
      return false;
    },
  };
}

export type QueueNumbers = ReturnType<typeof createQueueNumbers>;
