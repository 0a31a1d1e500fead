import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dueLook } from '../../src/maintenance/dueLook.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import type { Notifier } from '../../src/replicas/notifier.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: ReturnType<typeof openDatabase>;
let client: pg.Client;
const heard: (string | undefined)[] = [];

beforeAll(async () => {
  database = await createDatabase();
  db = openDatabase(database.url, 1);
  client = await openClient(database.url);
  client.on('notification', ({ payload }) => heard.push(payload));
  await client.query('listen dibs');
});
afterAll(async () => {
  await client.end();
  await db.close();
  await database.drop();
});

const horizon = { dealtWith: () => '-infinity' } as never;

/** Looks, and waits for what it tells the others. */
async function look() {
  const before = heard.length;
  const notifier = { self: 'me', sending: (work: () => unknown) => work() } as unknown as Notifier;
  const found = await dueLook({ db, notifier, leaseHorizon: horizon, scheduledHorizon: horizon })();
  await until(() => heard.length > before);
  return { found, told: heard.at(-1) };
}

test('a look where nothing is due says so, here and to the other replicas', async () => {
  expect(await look()).toEqual({ found: [], told: 'looked me' });
});

test('a look tells when each duty is due, and the others when the first one is', async () => {
  await client.query(`select dibs.enqueue('q', delay_seconds => 100, expires_in_seconds => 500)`);
  await client.query(`insert into dibs.schedules (name, cron, timezone, paused, job, next_run_at, revision)
    values ('s', '* * * * *', 'UTC', false, '{}', now() + interval '50 seconds', gen_random_uuid())`);
  const { found, told } = await look();
  expect(found.map(({ duty }) => duty).sort()).toEqual(['expire', 'promote', 'schedules']);
  for (const { duty, in_ms } of found) {
    const seconds = { expire: 500, promote: 100, schedules: 50 }[duty] as number;
    expect(in_ms).toBeLessThanOrEqual(seconds * 1000);
    expect(in_ms).toBeGreaterThan((seconds - 45) * 1000);
  }
  expect(told).toBe(`looked me ${Math.ceil(Math.min(...found.map(({ in_ms }) => in_ms)))}`);
});

test('a look finds leases that ran out, and finished jobs whose retention is over', async () => {
  await client.query(`insert into dibs.queues (name, dead_retention_seconds) values ('kept', 10)`);
  await client.query(`select dibs.enqueue('kept')`);
  await client.query(`update dibs.jobs set state = 'dead', finished_at = now() - interval '20 seconds'
    where queue_id = (select id from dibs.queues where name = 'kept')`);
  await client.query(`select dibs.enqueue('leased')`);
  await client.query(`update dibs.jobs set state = 'leased', lease_expires_at = now() - interval '3 seconds',
    lease_token = gen_random_uuid(), attempt = 1, deliveries = 1
    where queue_id = (select id from dibs.queues where name = 'leased')`);
  const { found, told } = await look();
  const due = found.filter(({ in_ms }) => in_ms < 0).map(({ duty }) => duty);
  expect(due.sort()).toEqual(['prune_jobs', 'rescue']);
  expect(told).toBe('looked me 0');
});
