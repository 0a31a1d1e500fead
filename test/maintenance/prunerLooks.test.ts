import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { pruneJobs } from '../../src/maintenance/pruner.ts';
import type { Db } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { buffers, outline, prepare } from '../support/plans.ts';

describe('looks for jobs to prune', () => {
  let now = 0;
  beforeEach(() => {
    now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => vi.restoreAllMocks());

  /** A database that takes so long to look at all jobs. It ends a statement after 2300 ms. */
  function prunerOver(ms: number) {
    const whole: boolean[] = [];
    const query = async (_: Statement, { since_seconds }: { since_seconds: number | null }) => {
      whole.push(since_seconds === null);
      now += since_seconds === null ? Math.min(ms, 2300) : 1;
      if (ms > 2300 && since_seconds === null)
        throw Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '57014' });
      return [];
    };
    const throttle = { chunks: () => async (work: (limit: number) => Promise<number>) => work(1000) };
    return { whole, prune: pruneJobs({ db: { query } as unknown as Db, throttle: throttle as never }) };
  }

  const secondsOf = async (prune: () => Promise<boolean>, seconds: number) => {
    for (const end = now + seconds * 1000; now < end; now += 1000) await prune();
  };

  test('go over all of them each second while that is quick', async () => {
    const { whole, prune } = prunerOver(3);
    await secondsOf(prune, 10);
    expect(whole).not.toContain(false);
  });

  test('go over all of them in a 200th of the time where index entries of jobs that are gone make that slow', async () => {
    const { whole, prune } = prunerOver(1000);
    await secondsOf(prune, 600);
    expect(whole.filter(Boolean)).toHaveLength(3);
    expect(whole.length).toBeGreaterThan(500);
  });

  test('go on without, where that runs into the time limit of a statement', async () => {
    const { whole, prune } = prunerOver(10_000);
    await prune();
    await prune();
    expect(whole).toEqual([true, false, false]);
  });
});

test('a look at the last minute reads none of the jobs that were pruned before', async () => {
  const database = await createDatabase();
  const client = await openClient(database.url);
  await client.query(`insert into dibs.queues (name, retention_seconds) values ('kept', 60)`);
  await client.query(
    `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, finished_at)
     select q.id, gen_random_uuid(), 'completed', now(), 5, 1, 0, '{}', '1', now() - interval '1 hour'
     from dibs.queues q, generate_series(1, 20000)`,
  );
  const holder = await openClient(database.url);
  await holder.query('begin isolation level repeatable read');
  await holder.query('select 1');
  await client.query('delete from dibs.jobs');
  const { run } = await prepare(client, 'maintenance/prunable', 'custom');
  const whole = await run({ since_seconds: null });
  const recent = await run({ since_seconds: 60 });
  expect(buffers(recent), outline(recent)).toBeLessThan(buffers(whole) / 5);
  await Promise.all([client.end(), holder.end()]);
  await database.drop();
});
