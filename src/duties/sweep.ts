import type { Clock } from '../clock.ts';
import type { Db } from '../db.ts';
import type { Pace } from '../pace.ts';
import { placesFor } from '../positions.ts';
import type { Queues } from '../queues.ts';
import type { Settlement } from '../settle.ts';
import { prepared, type Statement } from '../sql.ts';
import type { JobState } from '../types.ts';
import type { Wakes } from '../wakes.ts';
import { sweepHorizon } from './horizon.ts';

interface Context {
  db: Db;
  queues: Queues;
  wakes: Wakes;
  settlement: Settlement;
  clock: Clock;
  pace: Pace;
}

/** One chunk of a sweep: runs `move`, queue by queue, for the first jobs that `due` finds, and tells how far they went. */
async function sweep(
  { db, queues, wakes, settlement }: Context,
  { due, move, from, size }: { due: Statement; move: Statement; from: string; size: number },
) {
  const found = await db.query<{ queue_id: number; ids: string[]; last: string }>(due, [from, size]);
  let rows = 0;
  let moved = 0;
  for (const { queue_id, ids: arrived } of found) {
    rows += arrived.length;
    const { ids, positions } = await placesFor(db, arrived);
    const jobs = await db.query<{ id: string; state: JobState }>(move, [queue_id, ids, positions]);
    moved += jobs.length;
    const queue = await queues.byId(queue_id);
    if (!queue) continue;
    await settlement.dropCancelled(queue, jobs);
    if (queue.max_leased !== null || jobs.some((job) => job.state === 'ready')) wakes.ready(queue.name);
  }
  const last = found[0]?.last;
  // A chunk that only found what others have locked, all of one moment, would find the same again.
  return { rows, next: rows === size && (moved > 0 || last !== from) ? last : undefined };
}

function sweeper(context: Context, due: Statement, move: Statement): () => Promise<boolean> {
  const horizon = sweepHorizon(context.clock);
  const chunk = context.pace.chunks();
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

const dueLeases = prepared('due_leases');
const expire = prepared('expire');
const dueJobs = prepared('due_jobs');
const promote = prepared('promote');

/** Takes back the leases that ran out: ready again, dead when out of attempts, cancelled when that was asked for. */
export const reviveExpired = (context: Context) => sweeper(context, dueLeases, expire);

/** Makes scheduled jobs ready when their time has come. */
export const promoteDue = (context: Context) => sweeper(context, dueJobs, promote);
