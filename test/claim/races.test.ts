import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { makeJobs, parametersOf, TOKEN } from '../support/jobs.ts';

const QUEUE = 1;
const sql = (name: string) => readFileSync(new URL(`../../sql/${name}.sql`, import.meta.url), 'utf8');

let database: Awaited<ReturnType<typeof createDatabase>>;
let first: pg.Client;
let second: pg.Client;
let third: pg.Client;

beforeEach(async () => {
  database = await createDatabase();
  [first, second, third] = [1, 2, 3].map(() => new pg.Client(database.url)) as [
    pg.Client,
    pg.Client,
    pg.Client,
  ];
  for (const client of [first, second, third]) await client.connect();
});
afterEach(async () => {
  for (const client of [first, second, third]) await client.end();
  await database.drop();
});

/** Runs a statement of sql/, and returns the ids of the jobs that it touched. */
async function run(client: pg.Client, name: string, ...parameters: unknown[]): Promise<string[]> {
  return (await client.query(sql(name), parameters)).rows.map((row) => row.id);
}

const NONCES = '00000000-0000-4000-8000-00000000000c';
const claim = (client: pg.Client, limit: number) =>
  run(
    client,
    'claim/plain',
    QUEUE,
    limit,
    2 ** 24,
    [1],
    [NONCES],
    [30],
    [null],
    [-100],
    [-1],
    [100],
    null,
    null,
  );

/** Returns when a connection waits for a lock that another one holds. */
async function untilItWaits(client: pg.Client): Promise<void> {
  // biome-ignore lint/suspicious/noExplicitAny: the driver knows the process, its types do not.
  const pid = (client as any).processID;
  for (;;) {
    const { rows } = await third.query('select cardinality(pg_blocking_pids($1)) > 0 as waits', [pid]);
    if (rows[0].waits) return;
  }
}

const stateOf = async (id: string) =>
  (await third.query('select state, cancel_requested, attempt from dibs.jobs where id = $1', [id])).rows[0];

const made = (jobs: number, state: string) =>
  makeJobs(first, { jobs, state }).then(({ id }) => Array.from({ length: jobs }, (_, i) => id(i + 1)));
const letLeasesEnd = () => first.query(`update dibs.jobs set lease_expires_at = now() - interval '1 s'`);

test('a claim passes over what another one is taking, and does not wait for it', async () => {
  const ids = await made(3, 'ready');
  await first.query('begin');
  const taken = await claim(first, 1);
  const others = await claim(second, 10);
  await first.query('commit');
  expect(others).toHaveLength(2);
  expect([...taken, ...others].sort()).toEqual(ids);
});

test('a lease begins when its claim runs, also late in a transaction', async () => {
  await made(1, 'ready');
  await first.query('begin');
  await first.query('select now()');
  await second.query('select pg_sleep(0.05)');
  const { now } = (await second.query('select clock_timestamp() as now')).rows[0];
  const [id] = await claim(first, 1);
  await first.query('commit');
  const { begun } = (
    await second.query(`select lease_expires_at - interval '30 s' as begun from dibs.jobs where id = $1`, [
      id,
    ])
  ).rows[0];
  expect(begun.getTime()).toBeGreaterThanOrEqual(now.getTime());
});

test('a job whose claim was rolled back is claimed again', async () => {
  const ids = await made(1, 'ready');
  await first.query('begin');
  expect(await claim(first, 1)).toEqual(ids);
  await first.query('rollback');
  expect(await claim(second, 1)).toEqual(ids);
});

test('a lease that is being extended is not taken back', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await first.query('begin');
  expect(await run(first, 'settle/extend', QUEUE, ids, [TOKEN], [30], [null])).toEqual(ids);
  expect(await run(second, 'maintenance/rescue', QUEUE, ids, [1])).toEqual([]);
  await first.query('commit');
  expect(await run(second, 'maintenance/rescue', QUEUE, ids, [1])).toEqual([]);
});

test('an extension that waited for the sweeper comes too late', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await first.query('begin');
  expect(await run(first, 'maintenance/rescue', QUEUE, ids, [1])).toEqual(ids);
  const extended = run(second, 'settle/extend', QUEUE, ids, [TOKEN], [30], [null]);
  await untilItWaits(second);
  await first.query('commit');
  expect(await extended).toEqual([]);
  expect(await stateOf(ids[0] as string)).toMatchObject({ state: 'ready' });
});

test('an ack that waited for the sweeper still settles', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await first.query('begin');
  await run(first, 'maintenance/rescue', QUEUE, ids, [1]);
  const acked = run(second, 'settle/ack', QUEUE, ids, [TOKEN]);
  await untilItWaits(second);
  await first.query('commit');
  expect(await acked).toEqual(ids);
});

test('an ack that waited for another claim of its job settles nothing', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await run(first, 'maintenance/rescue', QUEUE, ids, [1]);
  await first.query('begin');
  expect(await claim(first, 1)).toEqual(ids);
  const acked = run(second, 'settle/ack', QUEUE, ids, [TOKEN]);
  await untilItWaits(second);
  await first.query('commit');
  expect(await acked).toEqual([]);
  expect(await stateOf(ids[0] as string)).toMatchObject({ state: 'leased' });
});

test('of an ack and a nack of one lease the first one counts', async () => {
  const ids = await made(1, 'leased');
  await first.query('begin');
  expect(
    await run(
      first,
      'settle/nack',
      ...parametersOf('settle/nack', { queue: QUEUE, first: 1, last: 1, by: 1 }, 1),
    ),
  ).toEqual(ids);
  const acked = run(second, 'settle/ack', QUEUE, ids, [TOKEN]);
  await untilItWaits(second);
  await first.query('commit');
  expect(await acked).toEqual([]);
});

test('a cancellation that waited for a claim asks its worker to stop', async () => {
  const ids = await made(1, 'ready');
  await first.query('begin');
  await claim(first, 1);
  const cancelled = run(second, 'admin/cancel', QUEUE, ids[0]);
  await untilItWaits(second);
  await first.query('commit');
  expect(await cancelled).toEqual(ids);
  expect(await stateOf(ids[0] as string)).toMatchObject({ state: 'leased', cancel_requested: true });
});

test('two sweepers at once revive each job once', async () => {
  const ids = await made(20, 'leased');
  await letLeasesEnd();
  const places = ids.map((_, i) => 1000 + i);
  await first.query('begin');
  expect(await run(first, 'maintenance/rescue', QUEUE, ids.slice(0, 10), places.slice(0, 10))).toHaveLength(
    10,
  );
  const others = await run(second, 'maintenance/rescue', QUEUE, ids, places);
  await first.query('commit');
  expect(others.sort()).toEqual(ids.slice(10));
});

test('two batches over the same jobs wait for one another, and never deadlock', async () => {
  const ids = await made(50, 'leased');
  const tokens = ids.map(() => TOKEN);
  // Whoever comes first stops at the last job, and the other one behind it at the first, not the other way round.
  const holder = new pg.Client(database.url);
  await holder.connect();
  await holder.query('begin');
  await holder.query('select from dibs.jobs where id = $1 for update', [ids[49]]);
  const acked = run(first, 'settle/ack', QUEUE, ids, tokens);
  await untilItWaits(first);
  const extended = run(
    second,
    'extend',
    QUEUE,
    ids,
    tokens,
    ids.map(() => 30),
    ids.map(() => null),
  );
  await untilItWaits(second);
  await holder.query('commit');
  expect(await acked).toHaveLength(50);
  expect(await extended).toEqual([]);
  await holder.end();
});

test('a purge leaves a job alone that is being claimed', async () => {
  const ids = await made(3, 'ready');
  await first.query('begin');
  const taken = await claim(first, 1);
  const { rows } = await second.query(sql('admin/purge_ready'), [QUEUE, -101, -1, '2100-01-01', 1000]);
  await first.query('commit');
  expect(rows[0].count).toBe(2);
  const left = await second.query<{ id: string }>('select id from dibs.jobs where id = any ($1)', [ids]);
  expect(left.rows.map((row) => row.id)).toEqual(taken);
});

test('a queue that is being enqueued into is not found empty', async () => {
  await made(1, 'dead');
  await first.query('delete from dibs.jobs');
  await first.query('begin');
  const enqueued = await run(
    first,
    'enqueue',
    ...parametersOf('enqueue/insert', { queue: QUEUE, first: 1, last: 1, by: 1 }, 1),
  );
  expect(enqueued).toHaveLength(1);
  await second.query('begin');
  const locked = second.query(sql('admin/queue_lock'), [QUEUE]);
  await untilItWaits(second);
  await first.query('commit');
  await locked;
  expect((await second.query(sql('admin/queue_empty'), [QUEUE])).rows).toEqual([{ empty: false }]);
  await second.query('rollback');
});

test('an enqueue that waited for its queue to be deleted inserts nothing', async () => {
  await made(1, 'dead');
  await first.query('delete from dibs.jobs');
  await first.query('begin');
  await first.query(sql('admin/queue_lock'), [QUEUE]);
  await first.query(sql('admin/queue_delete'), [QUEUE]);
  const enqueued = run(
    second,
    'enqueue',
    ...parametersOf('enqueue/insert', { queue: QUEUE, first: 1, last: 1, by: 1 }, 1),
  );
  await untilItWaits(second);
  await first.query('commit');
  expect(await enqueued).toEqual([]);
});

test('configuring or creating a queue that is there uses up no id of a queue', async () => {
  const configure = ['mail', 30, 5, '{}', 0, 0, null, null, null, null];
  const next = async () => Number((await third.query(`select nextval('dibs.queue_ids') as id`)).rows[0].id);
  await first.query(sql('admin/queue_configure'), configure);
  const before = await next();
  for (let i = 0; i < 5; i++) {
    await first.query(sql('admin/queue_configure'), configure);
    await first.query(sql('queues/create'), ['mail']);
  }
  expect(await next()).toBe(before + 1);
});
