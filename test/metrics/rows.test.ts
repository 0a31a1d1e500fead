// The clock of the process jumps here. A service beside these tests would rest for as long.
import { expect, test } from 'vitest';
import { createTally } from '../../src/metrics/tally.ts';
import { createTotals } from '../../src/metrics/totals.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase, onServer } from '../support/database.ts';

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
