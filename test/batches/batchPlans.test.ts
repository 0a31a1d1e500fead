import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { type Mode, outline, type PlanNode, prepare, rowsTouched } from '../support/plans.ts';

const MANY = 30_000;
const FEW = 10;
const HISTORIES = {
  'never analyzed': '',
  'analyzed while empty': 'vacuum analyze dibs.jobs, dibs.batches, dibs.queues',
};
const MODES: Mode[] = ['generic', 'custom'];

const idOf = (n: number) => `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const LARGE = idOf(1);
const SMALL = idOf(2);

/** Two batches of one queue, beside as many jobs that are in none. */
async function makeBatches(client: pg.Client): Promise<void> {
  await client.query(`insert into dibs.queues (id, name) values (1, 'q')`);
  const jobs = (from: number, count: number, batch: string | null) =>
    client.query(
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, batch_id)
       select 1, (lpad(to_hex($1 + n), 8, '0') || '-0000-7000-8000-000000000001')::uuid, 'ready', now(), 5, 1, 0, '{}', '1', $2::uuid
       from generate_series(1, $3::integer) n`,
      [from, batch, count],
    );
  for (const id of [LARGE, SMALL])
    await client.query('insert into dibs.batches (id, queue_id, closed_at) values ($1, 1, now())', [id]);
  await jobs(0, MANY, LARGE);
  await jobs(100_000, FEW, SMALL);
  await jobs(200_000, MANY, null);
}

const blocksOf = (plan: PlanNode) => (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);

describe.each(Object.entries(HISTORIES))('a batch of 30,000 jobs, %s', (_, prelude) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createDatabase();
    client = await openClient(database.url);
    await client.query('alter table dibs.jobs set (autovacuum_enabled = false)');
    if (prelude) await client.query(prelude);
    await makeBatches(client);
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test.each(MODES)(
    'the look for its end costs what that at a batch of 10 costs, in pages (%s plan)',
    async (mode) => {
      const end = await prepare(client, 'batches/end', mode);
      const costs = async (id: string) => {
        await end.run({ ids: [id] });
        return blocksOf(await end.run({ ids: [id] }));
      };
      // 129 entries of an index are a few pages of it, and of the table where the rows are not known to be visible to all.
      expect(await costs(LARGE)).toBeLessThan((await costs(SMALL)) + 60);
    },
  );

  test.each(MODES)(
    'when nearly all have ended, and nobody has vacuumed, it still does (%s plan)',
    async (mode) => {
      await client.query('begin');
      await client.query(`delete from dibs.jobs where batch_id = $1 and id < $2`, [
        LARGE,
        `${(MANY - 200).toString(16).padStart(8, '0')}-0000-7000-8000-000000000001`,
      ]);
      const { rows } = await client.query(
        `explain (analyze, buffers, format json) select dibs.end_batch('${LARGE}')`,
      );
      await client.query('rollback');
      expect(mode && blocksOf(rows[0]['QUERY PLAN'][0].Plan)).toBeLessThan(300);
    },
  );

  test.each(MODES)('a page of its jobs reads a page of jobs (%s plan)', async (mode) => {
    const page = await prepare(client, 'looking/match_batch_newest', mode);
    const asked = { batch: LARGE, queue: null, state: null, visible: null, after: null, limit: 100 };
    const plan = await page.run(asked);
    expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(200);
  });

  test.each(MODES)('a chunk of a cancel reads its chunk (%s plan)', async (mode) => {
    const cancel = await prepare(client, 'batches/cancel_jobs', mode);
    const plan = await cancel.run({ id: LARGE, limit: 200 });
    expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(800);
  });

  test.each(MODES)('a look at a small batch reads no job of others (%s plan)', async (mode) => {
    const find = await prepare(client, 'batches/find', mode);
    const plan = await find.run({ id: SMALL, visible: null, most: 1000 });
    expect(rowsTouched(plan), outline(plan)).toBeLessThanOrEqual(FEW + 10);
  });
});
