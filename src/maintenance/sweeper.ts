import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { positionsFor } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Changed, Waiters } from '../waiting/waiters.ts';
import { createScanHorizon, type ScanHorizon } from './scanHorizon.ts';

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

/** Jobs of one queue whose time has come. `last` is the latest of these times. */
interface Due {
  queue_id: number;
  ids: string[];
  last: string;
}

const statements = {
  dueLeases: prepared('maintenance/due_leases', row<Due>()),
  rescue: prepared('maintenance/rescue', row<Moved & Changed>()),
  dueScheduled: prepared('maintenance/due_scheduled', row<Due>()),
  promote: prepared('maintenance/promote', row<Moved>()),
  dueExpiries: prepared('maintenance/due_expiries', row<Due>()),
  expire: prepared('maintenance/expire', row<Moved & Changed>()),
};

/** One kind of sweep: a statement that finds jobs, and `move`, which moves those of one queue in the order of their times. */
interface Sweep {
  due: typeof statements.dueLeases;
  move(db: Db, queueId: number, ids: string[]): Promise<(Moved & Changed)[]>;
}

/** Moves the first jobs whose time has come, from `from` on, queue by queue. Returns their number, and where to go on. */
async function sweepChunk(
  { db, queues, notifier, waiters, settlement, groups }: Context,
  { due, move }: Sweep,
  from: string,
  limit: number,
): Promise<{ found: number; next: string | undefined }> {
  const batches = await db.query(due, { from, limit });
  let found = 0;
  let moved = 0;
  for (const { queue_id, ids } of batches) {
    found += ids.length;
    const jobs = await move(db, queue_id, ids);
    moved += jobs.length;
    waiters.changed(jobs);
    const queue = await queues.byId(queue_id);
    if (!queue) continue;
    await settlement.dropCancelled(queue, jobs);
    if (queue.max_leased !== null || jobs.some((job) => job.state === 'ready')) notifier.ready(queue.name);
    await groups.advanceAfter(jobs);
  }
  const last = batches[0]?.last;
  // When others hold locks on a whole chunk of jobs of one time, the next chunk would find the same jobs again.
  return { found, next: found === limit && (moved > 0 || last !== from) ? last : undefined };
}

function sweeper(
  context: Context,
  sweep: Sweep,
  horizon: ScanHorizon = createScanHorizon(context.clock),
): () => Promise<boolean> {
  const chunk = context.throttle.chunks();
  return () =>
    horizon.from(async (from) => {
      let next: string | undefined;
      await chunk(async (limit) => {
        const done = await sweepChunk(context, sweep, from, limit);
        next = done.next;
        return done.found;
      });
      return next;
    });
}

/** Takes back leases that ran out. Their jobs are ready again, dead when out of attempts, or cancelled if a client asked. */
export const rescueLeases = (context: Context) =>
  sweeper(context, {
    due: statements.dueLeases,
    move: async (db, queue_id, due) =>
      db.query(statements.rescue, { queue_id, ...(await positionsFor(db, due)) }),
  });

/** Makes scheduled jobs ready, or blocked in their groups, when their `run_at` has come. */
export const promoteScheduled = (context: Context) =>
  sweeper(context, {
    due: statements.dueScheduled,
    move: async (db, queue_id, due) =>
      db.query(statements.promote, { queue_id, ...(await positionsFor(db, due)) }),
  });

/** A job that comes back after it has expired lies below the scan horizon. Only a full scan finds it. */
const EXPIRIES_FULL_SCAN_MS = 400;

/** Makes jobs dead that have expired and still wait. */
export const expireJobs = (context: Context) =>
  sweeper(
    context,
    {
      due: statements.dueExpiries,
      move: (db, queue_id, due) => db.query(statements.expire, { queue_id, ids: due.toSorted() }),
    },
    createScanHorizon(context.clock, EXPIRIES_FULL_SCAN_MS),
  );
