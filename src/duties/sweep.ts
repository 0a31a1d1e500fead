import type { Db } from '../db.ts';
import { placesFor } from '../positions.ts';
import type { Queues } from '../queues.ts';
import type { Settlement } from '../settle.ts';
import { prepared, type Statement } from '../sql.ts';
import type { JobState } from '../types.ts';
import type { Wakes } from '../wakes.ts';

/** As many as due_leases.sql and due_jobs.sql look at. */
const BATCH = 1000;

interface Context {
  db: Db;
  queues: Queues;
  wakes: Wakes;
  settlement: Settlement;
}

/** Runs `move` for the jobs that `due` finds, queue by queue; tells whether there may be more. */
async function sweep(context: Context, due: Statement, move: Statement): Promise<boolean> {
  const { db, queues, wakes, settlement } = context;
  const found = await db.query<{ queue_id: number; ids: string[] }>(due);
  let total = 0;
  for (const { queue_id, ids: due } of found) {
    total += due.length;
    const { ids, positions } = await placesFor(db, due);
    const rows = await db.query<{ id: string; state: JobState }>(move, [queue_id, ids, positions]);
    const queue = await queues.byId(queue_id);
    if (!queue) continue;
    await settlement.dropCancelled(queue, rows);
    if (rows.some((row) => row.state === 'ready')) wakes.ready(queue.name);
  }
  return total >= BATCH;
}

const dueLeases = prepared('due_leases');
const expire = prepared('expire');
const dueJobs = prepared('due_jobs');
const promote = prepared('promote');

/** Takes back the leases that ran out: ready again, dead when out of attempts, cancelled when that was asked for. */
export const reviveExpired = (context: Context) => () => sweep(context, dueLeases, expire);

/** Makes scheduled jobs ready when their time has come. */
export const promoteDue = (context: Context) => () => sweep(context, dueJobs, promote);
