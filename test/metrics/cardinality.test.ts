import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTally, EVENTS } from '../../src/metrics/tally.ts';
import { createTotals } from '../../src/metrics/totals.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { scrape, scrapeUntil } from '../support/metrics.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ metricsQueues: 3 });
});
afterAll(() => service.stop());

test('METRICS_QUEUES queues have series of their own, and the others are (other), in totals, depths and times', async () => {
  const { enqueue, enqueueAll, claim } = moves(service);
  for (const queue of ['a', 'b', 'c']) await enqueue({ queue });
  await scrapeUntil(service, 'three rows', (read) => read.sum('dibs_jobs_enqueued_total') === 3);
  const others = Array.from({ length: 40 }, (_, i) => ({ queue: `late.${i}` }));
  await enqueueAll(others);
  await claim('late.0');
  const read = await scrapeUntil(
    service,
    'the other queues',
    (read) =>
      read.value('dibs_jobs_enqueued_total', { queue: '(other)' }) === 40 &&
      read.value('dibs_queue_jobs', { queue: '(other)', state: 'leased' }) === 1,
  );
  const queues = new Set([...read.series.keys()].flatMap((key) => /queue="([^"]*)"/.exec(key)?.[1] ?? []));
  expect([...queues].sort()).toEqual(['(gone)', '(other)', 'a', 'b', 'c']);
  expect(read.value('dibs_queue_jobs', { queue: '(other)', state: 'ready' })).toBe(39);
  expect(read.value('dibs_queue_oldest_ready_age_seconds', { queue: '(other)' })).toBeGreaterThan(0);
  expect(read.value('dibs_job_wait_seconds_count', { queue: '(other)' })).toBe(1);
  expect(read.sum('dibs_queue_jobs', { state: 'ready' })).toBe(42);
});

test('no queue can have the names of the shared series', async () => {
  for (const queue of ['(other)', '(gone)'])
    expect((await service.call('POST', '/jobs', { queue })).status).toBe(400);
});

test('a large queue is counted to the end, though it is not counted at each look', async () => {
  const { enqueueAll } = moves(service);
  for (let i = 0; i < 5; i++) await enqueueAll(Array.from({ length: 1000 }, () => ({ queue: 'a' })));
  await scrapeUntil(
    service,
    'all jobs of the large queue',
    (read) => read.value('dibs_queue_jobs', { queue: 'a', state: 'ready' }) === 5001,
  );
  const read = await scrape(service);
  expect(read.value('dibs_queue_counted_age_seconds', { queue: 'a' })).toBeGreaterThanOrEqual(0);
});

/** Totals without an engine, whose time goes as the test says. */
async function bare(db: Database, most: number) {
  const tally = createTally(Date.now);
  const totals = createTotals({ db, tally, most });
  const idOf = (queueId: number, i: number) =>
    `019aa5b2-7c1e-7a3f-9d2c-${i.toString(16).padStart(6, '0')}${queueId.toString(16).padStart(6, '0')}`;
  return {
    totals,
    async enqueue(queueId: number, count: number): Promise<void> {
      tally.enqueued(
        Array.from({ length: count }, (_, i) => ({ id: idOf(queueId, i), queue: String(queueId) })),
      );
      await totals.flush();
    },
    own: () =>
      totals
        .rows()
        .map((row) => row.queue_id)
        .filter((id) => id > 0),
    sum: () => totals.rows().reduce((sum, row) => sum + row.enqueued, 0),
  };
}

test('a queue that is busier by far takes over a row. No series goes down, and neither does the sum', async () => {
  const database = await createDatabase();
  const db = openDatabase(database.url, 3);
  const realNow = performance.now;
  let passed = 0;
  performance.now = () => realNow.call(performance) + passed;
  try {
    await onServer(
      database.url,
      "insert into dibs.queues (name) select 'q' || n from generate_series(1, 6) as n",
    );
    const rows = await onServer<{ id: number }>(database.url, 'select id from dibs.queues order by name');
    const ids = rows.map(({ id }) => id);
    const [q1, q2, q3] = ids as [number, number, number];
    const { totals, enqueue, own, sum } = await bare(db, 2);
    let expected = 0;
    let last = new Map<number, number>();
    const step = async (id: number, count: number) => {
      await enqueue(id, count);
      expected += count;
      expect(sum()).toBe(expected);
      const now = new Map(totals.rows().map((row) => [row.queue_id, row.enqueued]));
      for (const [key, value] of now)
        expect(value, `series ${key}`).toBeGreaterThanOrEqual(last.get(key) ?? 0);
      last = now;
    };
    await step(q1, 5);
    await step(q2, 1);
    expect(own()).toEqual([q1, q2]);
    await step(q3, 50);
    expect(own()).toEqual([q1, q2]);
    for (let minute = 0; minute < 3; minute++) {
      passed += 61_000;
      await step(q1, 100);
      await step(q3, 50);
    }
    expect(own()).toEqual([q1, q3]);
    // What came before its row was counted among the others, and stays there.
    expect(totals.rows().find((row) => row.queue_id === 0)?.enqueued).toBeGreaterThanOrEqual(50);
    expect(totals.rows().find((row) => row.queue_id === -1)?.enqueued).toBe(1);
  } finally {
    performance.now = realNow;
    await db.close();
    await database.drop();
  }
});

test('a busy queue that was deleted takes nobody its row, and one that was proposed and counted gets one', async () => {
  const database = await createDatabase();
  const db = openDatabase(database.url, 3);
  const realNow = performance.now;
  let passed = 0;
  performance.now = () => realNow.call(performance) + passed;
  try {
    await onServer(database.url, "insert into dibs.queues (name) values ('quiet'), ('busy')");
    const rows = await onServer<{ id: number }>(
      database.url,
      'select id from dibs.queues order by name desc',
    );
    const [quiet, busy] = rows.map(({ id }) => id) as [number, number];
    const { totals, enqueue, own } = await bare(db, 10);
    totals.propose([busy, quiet]);
    await enqueue(quiet, 1);
    await enqueue(busy, 50);
    expect(own().sort()).toEqual([quiet, busy].sort());
    await onServer(database.url, "delete from dibs.queues where name = 'busy'");
    for (let i = 0; i < 3; i++) await totals.flush();
    expect(own()).toEqual([quiet]);
    passed += 61_000;
    for (let i = 0; i < 3; i++) await totals.flush();
    expect(totals.rows().find((row) => row.queue_id === quiet)?.enqueued).toBe(1);
  } finally {
    performance.now = realNow;
    await db.close();
    await database.drop();
  }
});

test('each event has its column, and no other', async () => {
  const rows = await onServer<{ column_name: string }>(
    service.databaseUrl,
    "select column_name from information_schema.columns where table_schema = 'dibs' and table_name = 'totals'",
  );
  expect(rows.map((row) => row.column_name).sort()).toEqual(['queue_id', ...EVENTS].sort());
});
