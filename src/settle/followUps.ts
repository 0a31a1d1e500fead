import type { Enqueue } from '../enqueue/enqueue.ts';
import type { NewJob } from '../enqueue/newJob.ts';
import { jobNotFound, leaseLost } from '../errors.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { Job, JobRow } from '../job.ts';
import { LONG_LOCK_WAIT_MS, lockTimeoutOf, orUnavailable } from '../postgres/lockWait.ts';
import { type Database, type Db, isKeyTaken } from '../postgres/pool.ts';
import type { Semaphore } from '../postgres/semaphore.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Waiters } from '../waiting/waiters.ts';
import type { Ack, Acked, Nack, Nacked } from './requests.ts';
import type { Found } from './settleBatch.ts';
import { ackedAs, type Settlement } from './verbs.ts';

const statements = {
  settled: prepared('settle/untouched', row<Found>()),
  limits: planned('postgres/transaction_limits'),
  chained: planned('settle/keep_follow_ups'),
};

type At = (i: number) => string;

/**
 * Settlements with jobs that follow from them, each in one transaction: the jobs are there if and only if it counted.
 * Those without any go on to the settlement as it is.
 */
export function createFollowUps(context: {
  db: Database;
  queues: Queues;
  waiters: Waiters;
  settlement: Settlement;
  enqueueWithin: Enqueue['enqueueWithin'];
  inTransactionSlot: Semaphore;
  groups: GroupHeads;
}) {
  const { db, queues, waiters, settlement, enqueueWithin, inTransactionSlot, groups } = context;

  /** The job, whose last lease this was. @throws Refusal `lease_lost` or `job_not_found` */
  async function find(
    queue: Queue,
    { id, lease_token }: { id: string; lease_token: string },
  ): Promise<Found> {
    const [found] = await db.query(statements.settled, { queue_id: queue.id, ids: [id] });
    if (!found) throw jobNotFound(id);
    if (found.lease_token !== lease_token) throw leaseLost(id);
    return found;
  }

  /**
   * Runs `settle` and, if it touches the job, the insertion of those that follow where it calls `enqueueIn`, in one
   * transaction.
   */
  async function together<T>(
    jobs: NewJob[],
    at: At,
    settle: (transaction: Db, enqueueIn: () => Promise<Job[]>) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    return orUnavailable(
      inTransactionSlot(() =>
        enqueueWithin(jobs, at, async (transaction, enqueueIn) => {
          await transaction.query(statements.limits, { lock_timeout: lockTimeoutOf(LONG_LOCK_WAIT_MS) });
          return settle(transaction, enqueueIn);
        }),
      ),
      'Another request holds this job, or one of the jobs in enqueue, for too long.',
    );
  }

  async function ackWith(jobs: NewJob[], item: Ack, at: At): Promise<Acked> {
    const queue = await queues.ofJob(item.id);
    // Before anything else: an ack that doesn't count creates no queue, and one that has counted is answered as it was.
    const before = await find(queue, item);
    if (before.state === 'completed') return ackedAs(before);
    const done = await together(jobs, at, async (transaction, enqueueIn) => {
      // First, so that a job that follows may have the unique_key which this one leaves.
      const [row] = await settlement.complete(queue, [item], transaction);
      if (!row) return undefined;
      const enqueued = await enqueueIn();
      if (!row.state) return { row, enqueued };
      const answered = JSON.stringify(enqueued);
      await transaction.query(statements.chained, { queue_id: queue.id, id: row.id, enqueued: answered });
      return { row, enqueued: JSON.parse(answered) as Job[] };
    });
    if (done) {
      waiters.changed([done.row]);
      settlement.freed(queue);
      const acked: Acked = { id: item.id, state: 'completed', enqueued: done.enqueued };
      await groups.advanceAfter([{ ...acked, group: done.row.group }]);
      return acked;
    }
    const since = await find(queue, item);
    if (since.state !== 'completed') throw leaseLost(item.id);
    return ackedAs(since);
  }

  async function nackWith(jobs: NewJob[], item: Nack, at: At): Promise<Nacked> {
    const queue = await queues.ofJob(item.id);
    const before = await find(queue, item);
    if (before.state === 'completed') throw leaseLost(item.id);
    const nack = await settlement.nacking(queue, [item], true);
    let done: { row: JobRow; enqueued: Job[] } | undefined;
    try {
      done = await together(jobs, at, async (transaction, enqueueIn) => {
        const [row] = await nack(transaction);
        return row && { row, enqueued: row.state === 'dead' ? await enqueueIn() : [] };
      });
    } catch (error) {
      // The sweeper made it dead, and its unique key was taken since: it stays so, and not by this nack.
      const job = isKeyTaken(error) ? await settlement.standing(queue, item.id) : undefined;
      if (!job) throw error;
      return { ...job, enqueued: [] };
    }
    if (!done) {
      await find(queue, item);
      throw leaseLost(item.id);
    }
    const [job] = await settlement.gaveBack(queue, [done.row]);
    await groups.advanceAfter([job as Job]);
    return { ...(job as Job), enqueued: done.enqueued };
  }

  return {
    /** The job is done; those in `enqueue` are inserted with that. `at` gives the JSON pointer of the i-th of them. */
    ack: (item: Ack, at: At): Promise<Acked> =>
      item.enqueue?.length ? ackWith(item.enqueue, item, at) : settlement.ack(item),

    /** The attempt failed; if the job is dead by that, those in `enqueue` are inserted with it. */
    async nack(item: Nack, at: At): Promise<Nacked> {
      if (item.enqueue?.length) return nackWith(item.enqueue, item, at);
      const job = await settlement.nack(item);
      return item.enqueue ? { ...job, enqueued: [] } : job;
    },
  };
}
