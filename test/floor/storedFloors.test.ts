import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createQueueMemories } from '../../src/claim/queueMemories.ts';
import { createArrivals } from '../../src/floor/arrivals.ts';
import { createRaiseFloor } from '../../src/floor/raiseFloor.ts';
import type { Piece } from '../../src/floor/scanRanges.ts';
import { storeFloors } from '../../src/floor/storedFloors.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { openClient } from '../support/database.ts';
import { unreliablePostgres } from '../support/postgres.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/** More positions than a claim or a survey scans at once. */
const FAR = 200_000;

let postgres: Awaited<ReturnType<typeof unreliablePostgres>>;
let service: Service;
beforeAll(async () => {
  postgres = await unreliablePostgres();
  await migrate(postgres.url);
  service = await startService({ databaseUrl: postgres.url, asOwner: true });
}, 60_000);
afterAll(async () => {
  await service?.stop();
  await postgres?.remove();
});

async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = await openClient(postgres.url);
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

async function queueId(queue: string): Promise<number> {
  await service.call('PUT', `/queues/${queue}`, {});
  const [row] = await query<{ id: number }>('select id from dibs.queues where name = $1', [queue]);
  return (row as { id: number }).id;
}

const lastPosition = async () =>
  Number((await query<{ last_value: string }>('select last_value from dibs.positions'))[0]?.last_value);

/** Sets where the order of arrival ends. */
const setEnd = (position: number) => query(`select setval('dibs.positions', $1)`, [position]);

async function storedFloors(queue: number): Promise<{ rank: number; position: number }[]> {
  const rows = await query<{ rank: number; position: string }>(
    'select rank, position from dibs.scan_floors where queue_id = $1',
    [queue],
  );
  return rows.map(({ rank, position }) => ({ rank, position: Number(position) }));
}

const claim = async (queue: string, wish: object = {}) =>
  (await service.call('POST', '/jobs/claim', { queues: [queue], ...wish })).body.jobs as { id: string }[];

/** A replica's arrivals and what it remembers of one queue, without its duties. */
async function bareReplica(queue: { id: number; name: string }, wrap = (db: Database) => db) {
  const pool = openDatabase(postgres.url, 2);
  const db = wrap(pool);
  const arrivals = createArrivals(db);
  await arrivals.refresh();
  await until(() => arrivals.committedUpTo() !== undefined);
  const memories = createQueueMemories();
  const store = storeFloors({ db, arrivals, claims: { memories } } as never);
  return { db, arrivals, memory: memories.of(queue), store, close: () => pool.close() };
}

test('after a restart of the database, a replica goes on from the stored floors', async () => {
  const queue = await queueId('restarted');
  const floor = (await lastPosition()) + FAR;
  await setEnd(floor);
  await query('insert into dibs.scan_floors values ($1, 0, $2)', [queue, floor]);
  await setEnd(floor + FAR);
  await claim('restarted');
  await postgres.stop();
  await postgres.start();
  const surveyed: Piece[] = [];
  const { query: run } = service.db;
  service.db.query = (statement, parameters) => {
    if (statement.text.includes('as ends')) {
      const { ranks, positions, last_positions } = parameters as Record<string, number[]>;
      for (const [i, rank] of (ranks as number[]).entries())
        surveyed.push({ rank, from: positions?.[i] as number, to: last_positions?.[i] as number });
    }
    return run.call(service.db, statement, parameters) as never;
  };
  // For up to 2 s it goes on with the floors that it remembers.
  await until(async () => {
    const { status, body } = await service.call('POST', '/jobs', { queue: 'restarted' });
    if (status !== 201) return false;
    expect((await claim('restarted', { wait_seconds: 20 })).map((job) => job.id)).toEqual([body.id]);
    return surveyed.length > 0;
  });
  service.db.query = run;
  for (const { rank, from } of surveyed) if (rank === 0) expect(from).toBeGreaterThanOrEqual(floor);
  expect(await storedFloors(queue)).toEqual([{ rank: 0, position: floor }]);
}, 60_000);

test('a replica that has not noticed yet that the database is another one stores none of its floors there', async () => {
  const queue = await queueId('unnoticed');
  const end = (await lastPosition()) + FAR;
  await setEnd(end);
  const { arrivals, memory, store, close } = await bareReplica({ id: queue, name: 'unnoticed' });
  const raise = () =>
    memory.plain.floor.surveyed([{ rank: 0, from: -1, to: end - 5000 }], [undefined], [1000]);
  raise();
  // Restored into the same server: the order goes back, and comes to the floor, but not to what was known.
  await setEnd(end - 1000);
  await store();
  expect(await storedFloors(queue)).toEqual([]);
  // Restored into another server, where it goes further.
  await setEnd(end + 1000);
  raise();
  const { server } = arrivals;
  arrivals.server = () => 'another';
  await store();
  expect(await storedFloors(queue)).toEqual([]);
  arrivals.server = server;
  raise();
  await store();
  expect(await storedFloors(queue)).toEqual([{ rank: 0, position: end - 5000 }]);
  await close();
});

test('the first claim after an outage, in which the database was set back, finds jobs behind the old floor', async () => {
  const queue = await queueId('outage');
  const end = await lastPosition();
  await query('insert into dibs.scan_floors values ($1, 0, $2)', [queue, end + FAR]);
  await setEnd(end + 2 * FAR);
  // By then the replica knows how long the order is. It reads the stored floor.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await claim('outage', { wait_seconds: 1 });
  const { query: run } = service.db;
  service.db.query = (statement, parameters) =>
    statement.text.includes('pg_postmaster_start_time')
      ? Promise.reject(new Error('the test keeps the replica from looking'))
      : (run.call(service.db, statement, parameters) as never);
  // What the replica knows is out of date after 2 s.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  await setEnd(end);
  const { body } = await service.call('POST', '/jobs', { queue: 'outage' });
  service.db.query = run;
  expect((await claim('outage')).map(({ id }) => id)).toEqual([body.id]);
});

test('surveys go on when no claim waits for them, and the floor is stored though no job was found', async () => {
  const queue = await queueId('alone');
  await setEnd((await lastPosition()) + 4 * FAR);
  // Each survey takes long, and nearly all of it for one priority.
  const slow = (db: Database): Database => ({
    ...db,
    async query(statement, parameters) {
      const rows = await db.query(statement, parameters);
      if (!statement.text.includes('as ends')) return rows;
      await new Promise((resolve) => setTimeout(resolve, 300));
      const { ranks } = parameters as unknown as { ranks: number[] };
      return rows.map((row) => ({
        ...row,
        ends: ranks.map((rank) => (rank === 0 ? 18 : 0)).join(','),
      }));
    },
  });
  const replica = await bareReplica({ id: queue, name: 'alone' }, slow);
  const { arrivals, memory, store } = replica;
  const settled = arrivals.committedUpTo() as number;
  const { raise } = createRaiseFloor({ db: replica.db, arrivals });
  await raise(memory.plain, memory.plain.floor.ranges(settled).cut as Piece, true);
  expect(memory.plain.floor.ranges(settled).cut).toBeDefined();
  await until(() => memory.plain.run === undefined);
  expect(memory.plain.floor.ranges(settled).cut).toBeUndefined();
  await store();
  const [stored] = await storedFloors(queue);
  expect(stored?.rank).toBe(0);
  expect(stored?.position).toBeGreaterThan(settled - 40_000);
  await replica.close();
}, 120_000);
