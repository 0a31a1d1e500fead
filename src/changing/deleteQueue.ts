import type { CountCache } from '../counting/countCache.ts';
import { queueHasBatch, queueNotEmpty, type Refusal, rethrowPartlyDone } from '../errors.ts';
import type { QueueLooks } from '../looking/queues.ts';
import type { Purge } from '../operations/purge.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { RequestOf } from '../verbs.ts';

const statements = {
  lock: planned('changing/queue_lock'),
  empty: planned('changing/queue_empty', row<{ has_jobs: boolean; has_batch: boolean }>()),
  delete: planned('changing/queue_delete'),
};

/** The verb that deletes a queue, with `force` its jobs too. */
export function createDeleteQueue(context: {
  db: Database;
  queues: Queues;
  looks: QueueLooks;
  purge: Purge;
  countCache: CountCache;
}) {
  const { db, queues, looks, purge, countCache } = context;

  /**
   * Without `force`, it deletes only a queue that has no jobs and no batch that is not finished. With `force` it deletes
   * the jobs that came since the queue was cleared. None can come while it holds the lock. Returns why it did not.
   */
  const removeLocked = (queue: Queue, force: boolean, by?: string): Promise<Refusal | undefined> =>
    inTurnOf(db, { queue: queue.id, by }).transaction(async (transaction) => {
      const queue_id = queue.id;
      await transaction.query(statements.lock, { queue_id });
      if (force) await purge.clearLocked(queue, transaction);
      const [row] = await transaction.query(statements.empty, { queue_id });
      if (row?.has_jobs) return queueNotEmpty(queue.name);
      if (row?.has_batch && !force) return queueHasBatch(queue.name);
      await transaction.query(statements.delete, { queue_id });
      return undefined;
    });

  /**
   * Deletes most jobs before the queue is locked. First it takes the lock for a moment: where somebody holds it for
   * long, the request is refused before any job is deleted.
   */
  async function clear(queue: Queue, by?: string): Promise<void> {
    await inTurnOf(db, { queue: queue.id, by }).query(statements.lock, { queue_id: queue.id });
    await purge.clear(queue).catch(rethrowPartlyDone);
  }

  /** @throws Refusal `queue_not_empty` */
  return async ({ queue: name, force, by }: RequestOf<'deleteQueue'>): Promise<void> => {
    const queue = await looks.current(name);
    if (force) await clear(queue, by);
    const refusal = await removeLocked(queue, force, by).catch(force ? rethrowPartlyDone : undefined);
    queues.changed(name);
    countCache.drop(queue.id);
    if (refusal) throw refusal;
    return purge.clearWindows(queue);
  };
}
