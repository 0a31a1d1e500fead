import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';

const statements = {
  fold: planned('batches/fold', row<{ id: string; rows: number }>()),
  end: planned('batches/end'),
  followers: planned('batches/due_followers', row<{ tried: number }>()),
  prune: planned('batches/prune'),
};

/** How many ends of jobs are added at once. */
const ROWS = 5000;

/**
 * Adds up what has ended, and looks at each batch of which jobs have ended. That finds one whose last jobs were finished by more
 * transactions at once than end_batch.sql takes one after the other. Then enqueues followers that were held up.
 */
export function followBatches({ db }: { db: Db }) {
  let restsUntil = Number.NEGATIVE_INFINITY;
  return async (): Promise<boolean> => {
    const started = performance.now();
    if (started < restsUntil) return false;
    const batches = await db.query(statements.fold, { limit: ROWS });
    for (const { id } of batches) await db.query(statements.end, { id });
    await db.query(statements.followers);
    const ended = performance.now();
    restsUntil = ended + restAfter(ended - started, 'batches');
    return false;
  };
}

/** Deletes batches that ended long ago. */
export const pruneBatches =
  ({ db }: { db: Db }) =>
  async (): Promise<boolean> => {
    await db.query(statements.prune);
    return false;
  };
