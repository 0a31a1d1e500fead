import { HOME } from '../../config/databases.ts';
import { QueueGone } from '../../errors.ts';
import { FIRST_ID, LAST_ID } from '../../ids.ts';
import { SHORT_LOCK_WAIT_MS } from '../../postgres/lockWait.ts';
import { planned } from '../../postgres/statements.ts';
import { refuseBusy } from './busy.ts';
import {
  adoptSessions,
  type Context,
  expectMine,
  hasArrived,
  noteCommits,
  refuseCopies,
  SLICE,
  welcome,
} from './context.ts';
import { copyQueue } from './copy.ts';

/* The steps of a relocation, from the source to the target. */

/** An estimate of how fast jobs are copied, on the safe side. See docs/performance.md. */
const JOBS_PER_SECOND = 15_000;
const BYTES_PER_SECOND = 15_000_000;
const LEAST_SECONDS = 1;

const statements = {
  size: { ...planned('relocation/size'), timeoutMs: 120_000 },
  lock: planned('changing/queue_lock'),
  leave: planned('relocation/leave'),
  record: planned('relocation/record'),
  takeOut: planned('relocation/take_out'),
  dropJobs: planned('relocation/drop_jobs'),
  dropRest: planned('relocation/drop_rest'),
  forget: planned('relocation/forget'),
};

/** Counts the jobs. Then calls for the queue wait. */
export async function count({ record, relocation, source }: Context): Promise<void> {
  const { queue_id, dry_run } = relocation;
  const [size] = await source.base.db.query(statements.size, { queue_id });
  const { jobs, bytes } = size as { jobs: number; bytes: number };
  const seconds = LEAST_SECONDS + jobs / JOBS_PER_SECOND + bytes / BYTES_PER_SECOND;
  await record.counted(relocation, jobs, Math.ceil(seconds * 10) / 10);
  if (dry_run) {
    relocation.phase = 'ended';
    return;
  }
  // A transaction that holds the queue would keep it from leaving. Calls need not wait for that.
  await source.base.db.query(statements.lock, { queue_id }, { queue: queue_id, tryMs: SHORT_LOCK_WAIT_MS });
  await record.next(relocation, 'leaving', { unlessStopped: true, with: 'hold' });
}

/** Whoever may see the queue reads why its relocation failed. */
const namesNoOther = () => false;

/**
 * Takes the row of the queue out of the source, and then its jobs. `evenBusy`: whatever keeps the queue there.
 * @throws NotWanted; QueueGone; Refusal `queue_busy`
 */
async function leave({ record, relocation, source, stop }: Context, evenBusy = false): Promise<void> {
  const { db, queues } = source.base;
  const { id, queue_id, queue, target } = relocation;
  const asked = { queue_id, relocation: id };
  await db.transaction(
    async (transaction) => {
      // A batch may have come since the relocation was asked for. Whoever makes one holds the queue until its commit.
      const held = await transaction.query(statements.lock, { queue_id });
      await expectMine(record, relocation, source, transaction);
      if (held.length > 0 && !evenBusy) await refuseBusy(transaction, queue_id, queue, namesNoOther);
      await transaction.query(statements.leave, { ...asked, target });
    },
    { queue: queue_id },
  );
  queues.changed(queue);
  const [left] = await db.query(statements.record, { queue_id });
  if (!left) throw new QueueGone();
  if (left.relocation !== id || left.role !== 'leaving') {
    await record.expectMine(relocation);
    throw new Error(`The note that the queue is ${left.role} by relocation ${left.relocation} is in the way`);
  }
  for (let before = LAST_ID, count = SLICE; count === SLICE; ) {
    stop.throwIfAborted();
    const turn = { queue: queue_id };
    const [taken] = await db.query(statements.takeOut, { ...asked, before, limit: SLICE }, turn);
    count = taken?.count ?? 0;
    before = taken?.first_id ?? before;
  }
}

/**
 * The target has the queue already, and home had forgotten that. What home itself has of it, where it is the source, is from before,
 * and leaves.
 */
export async function goOnThere(context: Context): Promise<void> {
  const { record, relocation, source } = context;
  if (source.name === HOME)
    await leave(context, true).catch((error) => {
      if (!(error instanceof QueueGone)) throw error;
    });
  await record.next(relocation, 'arriving');
}

/** Lets the queue leave, and copies it. */
export async function leaveAndCopy(context: Context): Promise<void> {
  const { record, relocation, source, target, stop, copied } = context;
  if (await hasArrived(target, relocation)) return goOnThere(context);
  await leave(context);
  await copyQueue({ source: source.base.db, target: target.base.db }, relocation, {
    copied,
    signal: stop,
    async beforeCommit() {
      await noteCommits(context, relocation.attempt);
      await record.next(relocation, 'arriving', { unlessStopped: true });
    },
  });
}

/** The queue lives in the target from now on. @throws NotWanted */
async function settle({ record, relocation, target }: Context): Promise<void> {
  await adoptSessions(target, relocation.queue_id);
  await record.next(relocation, 'cleaning', { with: 'switch' });
  welcome(target, relocation.queue);
}

/** If the copy has arrived, the queue lives in the target from now on. If not, another one is made. @throws NotWanted */
export async function switchOver(context: Context): Promise<void> {
  const { record, relocation } = context;
  if (await refuseCopies(context)) return settle(context);
  await noteCommits(context, 0);
  await record.next(relocation, 'leaving');
}

/** Deletes what the source still has of the queue. */
export async function clean({ record, relocation, source, target }: Context): Promise<void> {
  const { id, queue_id } = relocation;
  const { db } = source.base;
  const asked = { queue_id, relocation: id };
  for (let after = FIRST_ID, count = SLICE; count === SLICE; ) {
    const [dropped] = await db.query(statements.dropJobs, { ...asked, after, limit: SLICE });
    count = dropped?.count ?? 0;
    after = dropped?.last_id ?? after;
  }
  await db.query(statements.dropRest, asked);
  for (const engine of [source, target]) await engine.base.db.query(statements.forget, asked);
  await record.ended(relocation, 'done');
}
