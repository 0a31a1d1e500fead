import { isOutage } from '../errors.ts';
import type { Job, JobRow, JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Waiters } from '../waiting/waiters.ts';

const deleteCancelled = planned('settle/drop_cancelled');

/** What has to be done after the commit of a statement that ended leases. */
export function createAfterSettle(context: { db: Db; notifier: Notifier; waiters: Waiters }) {
  const { db, notifier, waiters } = context;

  /** A lease has ended. In a queue with max_leased, a claim that waits may now get a job. */
  function leaseEnded(queue: Queue): void {
    if (queue.max_leased !== null) notifier.ready(queue.name);
  }

  /** Deletes the cancelled jobs among these, in a queue that keeps none. After an outage, the pruner deletes them. */
  async function dropCancelled(queue: Queue, rows: { id: string; state: JobState }[]): Promise<void> {
    const cancelled = rows.filter((row) => row.state === 'cancelled');
    if (cancelled.length === 0 || queue.retention_seconds !== 0) return;
    try {
      await db.query(deleteCancelled, { queue_id: queue.id, ids: cancelled.map((row) => row.id) });
    } catch (error) {
      // The settlement has committed. So the answer cannot say that nothing was done.
      if (!isOutage(error)) throw error;
    }
  }

  /** Jobs are back in their queue, cancelled or dead. */
  async function givenBack(queue: Queue, rows: JobRow[]): Promise<Job[]> {
    waiters.changed(rows);
    if (rows.some((row) => row.state === 'ready')) notifier.ready(queue.name);
    else leaseEnded(queue);
    await dropCancelled(queue, rows);
    return rows.map((row) => ({ ...row, queue: queue.name }));
  }

  return { leaseEnded, dropCancelled, givenBack };
}
