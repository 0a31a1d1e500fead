import { regainIfThere } from '../enqueue/regainKeys.ts';
import { isOutage } from '../errors.ts';
import type { Job, JobRow, JobState } from '../job.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Changed, Waiters } from '../waiting/waiters.ts';

const deleteCancelled = planned('settle/drop_cancelled');

/** What has to be done after the commit of a statement that ended leases: count, and wake who waits. */
export function createAfterSettle(context: {
  db: Db;
  notifier: Notifier;
  waiters: Waiters;
  tally: Pick<Tally, 'acked' | 'nacked' | 'released'>;
}) {
  const { db, notifier, waiters, tally } = context;

  /** In a queue with max_leased, the end of a lease may let a claim that waits get a job. */
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
    await regainIfThere(context, rows);
    if (rows.some((row) => row.state === 'ready')) notifier.ready(queue.name);
    else leaseEnded(queue);
    await dropCancelled(queue, rows);
    return rows.map((row) => ({ ...row, queue: queue.name }));
  }

  return {
    dropCancelled,

    /** Jobs are done: completed, or, without a state, gone. */
    acked(queue: Queue, rows: Changed[]): void {
      tally.acked(queue.id, rows);
      waiters.changed(rows);
      leaseEnded(queue);
    },

    /** Attempts failed. `late`: the sweeper had made these jobs dead before. */
    nacked(queue: Queue, rows: JobRow[], late: boolean): Promise<Job[]> {
      tally.nacked(queue.id, rows, late);
      return givenBack(queue, rows);
    },

    released(queue: Queue, rows: JobRow[]): Promise<Job[]> {
      tally.released(queue.id, rows);
      return givenBack(queue, rows);
    },
  };
}

export type AfterSettle = ReturnType<typeof createAfterSettle>;
