import type pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { makeJobs, oneClaim, parametersOf, TOKEN } from '../support/jobs.ts';
import { type ParametersOf, rowsOf, type StatementName } from '../support/statements.ts';

const QUEUE = 1;

let database: Awaited<ReturnType<typeof createDatabase>>;
let first: pg.Client;
let second: pg.Client;
let third: pg.Client;

beforeEach(async () => {
  database = await createDatabase();
  first = await openClient(database.url);
  second = await openClient(database.url);
  third = await openClient(database.url);
});
afterEach(async () => {
  for (const client of [first, second, third]) await client.end();
  await database.drop();
});

/** Runs a statement on the queue, and returns the ids of the jobs that it touched. */
async function run<N extends StatementName>(
  client: pg.Client,
  name: N,
  parameters: Omit<ParametersOf<N>, 'queue_id'>,
): Promise<string[]> {
  const rows = await rowsOf(client, name, { queue_id: QUEUE, ...parameters } as ParametersOf<N>);
  return rows.map((row) => row.id);
}

const claim = (client: pg.Client, limit: number) => run(client, 'claim/plain', oneClaim(QUEUE, limit));
const extend = (client: pg.Client, ids: string[]) =>
  run(client, 'settle/extend', {
    ids,
    lease_tokens: ids.map(() => TOKEN),
    lease_seconds: ids.map(() => 30),
    progress: ids.map(() => null),
  });
const ack = (client: pg.Client, ids: string[]) =>
  run(client, 'settle/ack', { ids, lease_tokens: ids.map(() => TOKEN) });
/** Takes back the leases of these jobs that ran out. */
const rescue = (client: pg.Client, ids: string[]) =>
  run(client, 'maintenance/rescue', {
    ids,
    positions: ids.map((_, i) => 1000 + i),
    given_from: '-infinity',
  });
/** The parameters of a statement for the first job. */
const forFirst = <N extends StatementName>(name: N) =>
  parametersOf(name, { queue: QUEUE, first: 1, last: 1, by: 1 }, 1);

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

test('a claim passes over jobs that another claim is leasing, and does not wait for them', async () => {
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

test('a lease that is being extended is not rescued', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await first.query('begin');
  expect(await extend(first, ids)).toEqual(ids);
  expect(await rescue(second, ids)).toEqual([]);
  await first.query('commit');
  expect(await rescue(second, ids)).toEqual([]);
});

test('an extension that waited for the sweeper comes too late', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await first.query('begin');
  expect(await rescue(first, ids)).toEqual(ids);
  const extended = extend(second, ids);
  await untilItWaits(second);
  await first.query('commit');
  expect(await extended).toEqual([]);
  expect(await stateOf(ids[0] as string)).toMatchObject({ state: 'ready' });
});

test('an ack that waited for the sweeper still settles', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await first.query('begin');
  await rescue(first, ids);
  const acked = ack(second, ids);
  await untilItWaits(second);
  await first.query('commit');
  expect(await acked).toEqual(ids);
});

test('an ack that waited for another claim of its job settles nothing', async () => {
  const ids = await made(1, 'leased');
  await letLeasesEnd();
  await rescue(first, ids);
  await first.query('begin');
  expect(await claim(first, 1)).toEqual(ids);
  const acked = ack(second, ids);
  await untilItWaits(second);
  await first.query('commit');
  expect(await acked).toEqual([]);
  expect(await stateOf(ids[0] as string)).toMatchObject({ state: 'leased' });
});

test('the first of an ack and a nack of one lease counts', async () => {
  const ids = await made(1, 'leased');
  await first.query('begin');
  expect(await run(first, 'settle/nack', forFirst('settle/nack'))).toEqual(ids);
  const acked = ack(second, ids);
  await untilItWaits(second);
  await first.query('commit');
  expect(await acked).toEqual([]);
});

test('a cancel that waited for a claim asks its worker to stop', async () => {
  const ids = await made(1, 'ready');
  await first.query('begin');
  await claim(first, 1);
  const cancelled = run(second, 'changing/cancel', { id: ids[0] as string });
  await untilItWaits(second);
  await first.query('commit');
  expect(await cancelled).toEqual(ids);
  expect(await stateOf(ids[0] as string)).toMatchObject({ state: 'leased', cancel_requested: true });
});

test('two sweepers at once rescue each job once', async () => {
  const ids = await made(20, 'leased');
  await letLeasesEnd();
  await first.query('begin');
  expect(await rescue(first, ids.slice(0, 10))).toHaveLength(10);
  const others = await rescue(second, ids);
  await first.query('commit');
  expect(others.sort()).toEqual(ids.slice(10));
});

test('two batches of the same jobs wait for one another, and never deadlock', async () => {
  const ids = await made(50, 'leased');
  // The first batch waits at the last job, and the second one behind it at the first job. In another order they deadlock.
  const holder = await openClient(database.url);
  await holder.query('begin');
  await holder.query('select from dibs.jobs where id = $1 for update', [ids[49]]);
  const acked = ack(first, ids);
  await untilItWaits(first);
  const extended = extend(second, ids);
  await untilItWaits(second);
  await holder.query('commit');
  expect(await acked).toHaveLength(50);
  expect(await extended).toEqual([]);
  await holder.end();
});

test('a purge leaves alone a job that is being claimed', async () => {
  const ids = await made(3, 'ready');
  await first.query('begin');
  const taken = await claim(first, 1);
  const [purged] = await rowsOf(second, 'operations/purge_ready', forFirst('operations/purge_ready'));
  await first.query('commit');
  expect(purged?.count).toBe(2);
  const left = await second.query<{ id: string }>('select id from dibs.jobs where id = any ($1)', [ids]);
  expect(left.rows.map((row) => row.id)).toEqual(taken);
});

test('a queue is not found empty during an enqueue into it', async () => {
  await made(1, 'dead');
  await first.query('delete from dibs.jobs');
  await first.query('begin');
  const enqueued = await run(first, 'enqueue/insert', forFirst('enqueue/insert'));
  expect(enqueued).toHaveLength(1);
  await second.query('begin');
  const locked = rowsOf(second, 'changing/queue_lock', { queue_id: QUEUE });
  await untilItWaits(second);
  await first.query('commit');
  await locked;
  expect(await rowsOf(second, 'changing/queue_empty', { queue_id: QUEUE })).toEqual([
    { has_jobs: true, has_batch: false },
  ]);
  await second.query('rollback');
});

test('an enqueue that waited for its queue to be deleted inserts nothing', async () => {
  await made(1, 'dead');
  await first.query('delete from dibs.jobs');
  await first.query('begin');
  await rowsOf(first, 'changing/queue_lock', { queue_id: QUEUE });
  await rowsOf(first, 'changing/queue_delete', { queue_id: QUEUE });
  const enqueued = run(second, 'enqueue/insert', forFirst('enqueue/insert'));
  await untilItWaits(second);
  await first.query('commit');
  expect(await enqueued).toEqual([]);
});

test('configuring or creating a queue that exists uses up no queue id', async () => {
  const config = {
    name: 'mail',
    lease_seconds: 30,
    max_attempts: 5,
    backoff: '{}',
    retention_seconds: 0,
    dead_retention_seconds: 0,
    alert_after_seconds: 300,
    max_leased: null,
    rate_jobs: null,
    rate_seconds: null,
    max_ready: null,
    group_concurrency: 1,
    group_batches: 1,
    dead_letter_queue: null,
  };
  const configure = () => rowsOf(first, 'changing/queue_configure', config);
  const next = async () => Number((await third.query(`select nextval('dibs.queue_ids') as id`)).rows[0].id);
  await configure();
  const before = await next();
  for (let i = 0; i < 5; i++) {
    await configure();
    await rowsOf(first, 'queues/create', { name: 'mail' });
  }
  expect(await next()).toBe(before + 1);
});
