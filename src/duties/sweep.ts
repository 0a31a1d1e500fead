import type { Clock } from '../clock.ts';
import type { Db } from '../db.ts';
import { nextPositions } from '../positions.ts';
import type { Queues } from '../queues.ts';
import type { Settlement } from '../settle.ts';
import { prepared, type Statement } from '../sql.ts';
import type { JobState } from '../types.ts';
import type { Wakes } from '../wakes.ts';
import { sweepHorizon } from './horizon.ts';

/** As many as due_leases.sql and due_jobs.sql look at. */
const BATCH = 1000;

interface Context {
  db: Db;
  queues: Queues;
  wakes: Wakes;
  settlement: Settlement;
  clock: Clock;
}

/** Runs `move` for each queue in which `due` finds jobs whose time came after `after`; tells whether there may be more. */
async function sweep(context: Context, due: Statement, move: Statement, after: string): Promise<boolean> {
  const { db, queues, wakes, settlement } = context;
  const found = await db.query<{ queue_id: number; due: number }>(due, [after]);
  let total = 0;
  for (const { queue_id, due: count } of found) {
    total += count;
    const positions = await nextPositions(db, count);
    const rows = await db.query<{ id: string; state: JobState }>(move, [queue_id, positions, after]);
    const queue = await queues.byId(queue_id);
    if (!queue) continue;
    await settlement.dropCancelled(queue, rows);
    if (rows.some((row) => row.state === 'ready')) wakes.ready(queue.name);
  }
  return total >= BATCH;
}

function sweeper(context: Context, due: Statement, move: Statement): () => Promise<boolean> {
  const horizon = sweepHorizon(context.clock);
  return () => horizon.from((after) => sweep(context, due, move, after));
}

const dueLeases = prepared('due_leases');
const expire = prepared('expire');
const dueJobs = prepared('due_jobs');
const promote = prepared('promote');

/** Takes back the leases that ran out: ready again, dead when out of attempts, cancelled when that was asked for. */
export const reviveExpired = (context: Context) => sweeper(context, dueLeases, expire);

/** Makes scheduled jobs ready when their time has come. */
export const promoteDue = (context: Context) => sweeper(context, dueJobs, promote);
