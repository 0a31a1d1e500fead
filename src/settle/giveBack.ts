import type { Job, JobRow } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import type { Nack, Release } from '../verbs/settle.ts';
import { clip } from './clip.ts';
import { ids, tokens } from './settleBatch.ts';

const statements = {
  nack: prepared('settle/nack', row<JobRow>()),
  release: prepared('settle/release', row<JobRow>()),
  jobs: prepared('settle/jobs', row<JobRow>()),
};

/** Runs a prepared nack or release, and returns the jobs that it touched. */
export type GiveBack = (on: Db) => Promise<JobRow[]>;

/**
 * Prepares the nack of jobs: reserves their new positions. With `late`, a dead job with a unique key may come back too,
 * if no other job has that key. It fails (isKeyTaken) when another job gets the key meanwhile.
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
      errors: textArray(items.map((i) => (i.error === undefined ? null : clip(i.error)))),
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

/** These jobs as they are now, without their payloads. Their ids ascend. */
export async function currentJobs(db: Db, queue: Queue, ids: string[]): Promise<Job[]> {
  const rows = await db.query(statements.jobs, { queue_id: queue.id, ids });
  return rows.map((row) => ({ ...row, queue: queue.name }));
}
