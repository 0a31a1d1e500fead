import { idempotencyKeyReused } from '../errors.ts';
import type { Job } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { eachOf, inSlices } from '../slices.ts';
import type { IdempotentRequest, Once } from '../verbs/enqueue.ts';
import { ifAny } from './ifAny.ts';

/*
 * The jobs that are kept for 24 hours, by idempotency key.
 *
 * Two statements are planned at each call. The table is empty in most places. A plan that was made then would read all of
 * it once there are keys.
 */

interface Found {
  matches: boolean;
  open: boolean | null;
  older: string | null;
  ordinality: number | null;
}

const statements = {
  find: planned('enqueue/idempotency_find', row<Found & Job>()),
  take: prepared('enqueue/idempotency_take'),
  keep: planned('enqueue/idempotency_keep'),
};

export interface Kept extends Once {
  /** True while the request may still be answered otherwise. */
  open: boolean;
}

/** What is kept of this request. @throws Refusal `idempotency_key_reused` when another request has used the key */
export async function recall(
  db: Db,
  { route, key, fingerprint }: IdempotentRequest,
): Promise<Kept | undefined> {
  const found = await db.query(statements.find, { route, key, fingerprint });
  const [first] = found;
  if (!first) return undefined;
  if (!first.matches) throw idempotencyKeyReused(key);
  const open = first.open === true;
  return first.older === null ? { jobs: found, open } : { jobs: [], older: first.older, open };
}

/** Takes the key for a transaction. False when jobs are kept under it already. */
export async function takeKey(
  transaction: Db,
  { route, key, fingerprint }: IdempotentRequest,
): Promise<boolean> {
  const taken = await transaction.query(statements.take, { route, key, fingerprint });
  return taken.length > 0;
}

/** Keeps the jobs of a request that has taken its key. For `openSeconds`, others may replace them. */
export const keepJobs = (
  on: Db,
  request: IdempotentRequest,
  jobs: Job[],
  openSeconds?: number,
): Promise<void> => keepRows(on, request, jobs, openSeconds);

/** Keeps what has some of the fields of jobs. */
export async function keepRows(
  on: Db,
  { route, key }: IdempotentRequest,
  jobs: Partial<Job>[],
  openSeconds?: number,
): Promise<void> {
  const texts: string[] = [];
  await inSlices(eachOf(jobs, (job) => texts.push(JSON.stringify(job))));
  await on.query(statements.keep, {
    route,
    key,
    jobs: `[${texts.join(',')}]`,
    replaced: ifAny(jobs, (job) => job.replaced ?? null),
    batches: ifAny(jobs, (job) => job.batch ?? null),
    open_seconds: openSeconds ?? null,
  });
}
