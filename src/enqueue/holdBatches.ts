import type { RoundTripDb } from '../batching/roundTrip.ts';
import { beginningWith } from '../postgres/act.ts';
import { batchAsRefusal } from '../postgres/errorClasses.ts';
import { type Call, callOf } from '../postgres/pipeline.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { prepared } from '../postgres/statements.ts';

const hold = prepared('batches/hold');

/** A job that may be in a batch. */
interface InBatch {
  batch: string | null;
}

/** Where jobs go into batches: what keeps these open until the commit. Not the batch `own`: a job of it adds them. */
export function holdOf(jobs: InBatch[], own: string | null = null): Call[] {
  const batches = new Set(jobs.map(({ batch }) => batch).filter((batch) => batch !== null && batch !== own));
  return batches.size === 0 ? [] : [callOf(hold, { batches: [...batches] as string[] })];
}

/** A refused job creates no queue. @throws Refusal `batch_not_found`, `batch_closed` */
export async function checkBatches(db: Db, jobs: { batch?: string | undefined }[], own?: string | null) {
  const inBatches = jobs.map(({ batch = null }) => ({ batch }));
  for (const { statement, parameters } of holdOf(inBatches, own))
    await db.query(statement, parameters).catch((error) => {
      throw batchAsRefusal(error);
    });
}

/** Runs the statement that inserts jobs, in a round trip or by itself, once their batches are held. */
export function holding(jobs: InBatch[], db: Database, trip?: RoundTripDb): Db {
  const before = holdOf(jobs);
  if (!trip) return beginningWith(db, before);
  if (before.length === 0) return trip;
  return { query: (statement, parameters) => trip.query(statement, parameters, { before }) };
}
