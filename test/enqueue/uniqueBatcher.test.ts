import pg from 'pg';
import { expect, test } from 'vitest';
import type { JobToInsert } from '../../src/enqueue/newJob.ts';
import { createUniqueBatcher } from '../../src/enqueue/uniqueBatcher.ts';
import { createArrivals } from '../../src/floor/arrivals.ts';
import type { Job } from '../../src/job.ts';
import type { LockTurn } from '../../src/postgres/lockWait.ts';
import type { Database } from '../../src/postgres/pool.ts';

const lockTimeout = () =>
  Object.assign(new pg.DatabaseError('canceling statement due to lock timeout', 0, 'error'), {
    code: '55P03',
  });

test('only requests with a key that another transaction holds wait, also beside jobs without a key', async () => {
  let waiting = 0;
  let held: string | undefined = 'held';
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  // Its statements tell the turn that they wait in.
  const db = { pipeline: async (...[, , turn]: unknown[]) => turn } as unknown as Database;
  const insert = async (on: unknown, _queueId: number, jobs: JobToInsert[]) => {
    if (jobs.some((job) => job.unique_key === held)) {
      const turn = (await (on as Database).pipeline([])) as LockTurn;
      if (turn.tryMs !== undefined) throw lockTimeout();
      waiting++;
      await released;
    }
    return jobs.map((job) => ({ unique_key: job.unique_key }) as Job);
  };
  const enqueue = createUniqueBatcher({
    db,
    arrivals: createArrivals(db),
    insert,
    lead: async () => undefined,
    insertNewKeys: insert,
    inserted: () => undefined,
  });
  const send = (...keys: (string | null)[]) =>
    enqueue(
      7,
      keys.map((unique_key) => ({ unique_key, payload: '1', headers: '{}' }) as JobToInsert),
    );

  const first = send('held', null);
  await expect.poll(() => waiting).toBe(1);
  expect(await send('free', null)).toHaveLength(2);
  const same = send('held', null);
  await expect.poll(() => waiting).toBe(2);
  held = undefined;
  release();
  expect((await Promise.all([first, same])).flat()).toHaveLength(4);
});
