import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';

const statement = planned('changing/queue_lock');

/**
 * Waits for enqueues and advances of a queue that began before a change of it: they hold its row, and may have made heads. It
 * does not wait for long: a transaction of a user that enqueues makes none.
 */
export async function afterHolders(db: Database, queue_id: number): Promise<void> {
  await inTurnOf(db, { queue: queue_id, tryMs: SHORT_LOCK_WAIT_MS })
    .query(statement, { queue_id })
    .catch((error) => {
      if (!isLockTimeout(error)) throw error;
    });
}
