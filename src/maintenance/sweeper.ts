import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, type Statement } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { positionsFor } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Changed, Waiters } from '../waiting/waiters.ts';
import { createScanHorizon } from './scanHorizon.ts';

interface Context {
  db: Db;
  queues: Queues;
  notifier: Notifier;
  waiters: Waiters;
  settlement: Settlement;
  clock: Clock;
  throttle: BulkThrottle;
  groups: GroupHeads;
}

/** Moves jobs of one queue, in the order in which they are due. */
type Move = (db: Db, queueId: number, ids: string[]) => Promise<(Moved & Changed)[]>;

/** They arrive anew. */
const anew =
  (statement: Statement): Move =>
  async (db, queueId, due) => {
    const { ids, positions } = await positionsFor(db, due);
    return db.query(statement, [queueId, ids, positions]);
  };

/** One chunk of a sweep: runs `move`, queue by queue, for the first jobs that `due` finds, and tells how far they went. */
async function sweep(
  { db, queues, notifier, waiters, settlement, groups }: Context,
  { due, move, from, size }: { due: Statement; move: Move; from: string; size: number },
) {
  const found = await db.query<{ queue_id: number; ids: string[]; last: string }>(due, [from, size]);
  let rows = 0;
  let moved = 0;
  for (const { queue_id, ids } of found) {
    rows += ids.length;
    const jobs = await move(db, queue_id, ids);
    moved += jobs.length;
    waiters.changed(jobs);
    const queue = await queues.byId(queue_id);
    if (!queue) continue;
    await settlement.dropCancelled(queue, jobs);
    if (queue.max_leased !== null || jobs.some((job) => job.state === 'ready')) notifier.ready(queue.name);
    await groups.advanceAfter(jobs);
  }
  const last = found[0]?.last;
  // A chunk that only found what others have locked, all of one moment, would find the same again.
  return { rows, next: rows === size && (moved > 0 || last !== from) ? last : undefined };
}

function sweeper(
  context: Context,
  due: Statement,
  move: Move,
  horizon = createScanHorizon(context.clock),
): () => Promise<boolean> {
  const chunk = context.throttle.chunks();
  return () =>
    horizon.from(async (from) => {
      let next: string | undefined;
      await chunk(async (size) => {
        const swept = await sweep(context, { due, move, from, size });
        next = swept.next;
        return swept.rows;
      });
      return next;
    });
}

const dueLeases = prepared('maintenance/due_leases');
const expire = anew(prepared('maintenance/rescue'));
const dueJobs = prepared('maintenance/due_scheduled');
const promote = anew(prepared('maintenance/promote'));
const dueExpiries = prepared('maintenance/due_expiries');
const bury = prepared('maintenance/expire');

/** A job that comes back after its time lies below the horizon: only a full scan finds it. */
const COME_BACK_MS = 400;

/** Takes back the leases that ran out: ready again, dead when out of attempts, cancelled when that was asked for. */
export const rescueLeases = (context: Context) => sweeper(context, dueLeases, expire);

/** Makes scheduled jobs ready when their time has come, or lets them arrive in their groups. */
export const promoteScheduled = (context: Context) => sweeper(context, dueJobs, promote);

/** Makes jobs dead that still wait although their time is over. */
export const expireJobs = (context: Context) =>
  sweeper(
    context,
    dueExpiries,
    (db, queueId, due) => db.query<Moved & Changed>(bury, [queueId, due.toSorted()]),
    createScanHorizon(context.clock, COME_BACK_MS),
  );
