import type { Job, JobRow } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import { clip } from './clip.ts';
import type { Nack, Release } from './requests.ts';
import { ids, tokens } from './settleBatch.ts';

const statements = {
  nack: prepared('settle/nack', row<JobRow>()),
  release: prepared('settle/release', row<JobRow>()),
  job: prepared('settle/job', row<JobRow>()),
};

/** Runs a prepared nack or release, and returns the jobs that it touched. */
export type GiveBack = (on: Db) => Promise<JobRow[]>;

/**
 * Prepares the nack of jobs: reserves their new positions. With `late`, the nack also touches a dead job with a unique
 * key. It fails (isKeyTaken) when another job has that key by now.
 */
export async function prepareNack(db: Db, queue: Queue, items: Nack[], late = false): Promise<GiveBack> {
  const positions = await nextPositions(db, items.length);
  return (on) =>
    on.query(statements.nack, {
      queue_id: queue.id,
      ids: ids(items),
      queue_backoff: JSON.stringify(queue.backoff),
      lease_tokens: tokens(items),
      positions,
      delays: items.map((i) => i.delay_seconds ?? null),
      refusals: items.map((i) => i.retry === false),
      jitter_shares: items.map(() => Math.random()),
      errors: items.map((i) => (i.error === undefined ? null : clip(i.error))),
      late,
    });
}

/** Prepares the release of jobs, as prepareNack does a nack. */
export async function prepareRelease(
  db: Db,
  queue: Queue,
  items: Release[],
  late = false,
): Promise<GiveBack> {
  const positions = await nextPositions(db, items.length);
  return (on) =>
    on.query(statements.release, {
      queue_id: queue.id,
      ids: ids(items),
      lease_tokens: tokens(items),
      positions,
      delays: items.map((i) => i.delay_seconds ?? 0),
      late,
    });
}

/** The job as it is now, without its payload. */
export async function currentJob(db: Db, queue: Queue, id: string): Promise<Job | undefined> {
  const [row] = await db.query(statements.job, { queue_id: queue.id, id });
  if (!row) return undefined;
  const { payload: _, ...job } = row;
  return { ...job, queue: queue.name };
}
