import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase, onServer, transactionsOf } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const ASLEEP_MS = 6000;
/** Longer than PostgreSQL takes to count what was done before. */
const WINDOW_MS = 8000;

let database: Awaited<ReturnType<typeof createDatabase>>;
const replicas: Service[] = [];

beforeAll(async () => {
  database = await createDatabase();
  for (let i = 0; i < 3; i++)
    replicas.push(
      await startService({ databaseUrl: database.url, restTimes: { awakeMs: 3000, asleepMs: ASLEEP_MS } }),
    );
});
afterAll(async () => {
  for (const replica of replicas) await replica.stop();
  await database.drop();
});

const first = () => replicas[0] as Service;

/** How many transactions there are within a window, without those of the test itself. */
async function transactionsInWindow(): Promise<number> {
  const before = await transactionsOf(database.url);
  const own = (await transactionsOf(database.url)) - before;
  await sleep(WINDOW_MS);
  return (await transactionsOf(database.url)) - before - 2 * own;
}

/** What each connection did last. */
const lastStatements = () =>
  onServer(
    database.url,
    `select query_start::text, backend_type, left(query, 80) as query from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() order by query_start`,
  );

const stateOf = async (id: string) => {
  const [row] = await onServer<{ state: string }>(database.url, 'select state from dibs.jobs where id = $1', [
    id,
  ]);
  return row?.state;
};

test('replicas that nobody asks send no transaction at all, and do what is due all the same', async () => {
  await first().call('POST', '/jobs', { queue: 'ready' });
  const { body: leased } = await first().call('POST', '/jobs/claim', {
    queues: ['ready'],
    lease_seconds: 90,
  });
  const { body: delayed } = await first().call('POST', '/jobs', { queue: 'far', delay_seconds: 90 });
  const { body: expiring } = await first().call('POST', '/jobs', { queue: 'far', expires_in_seconds: 90 });
  await sleep(ASLEEP_MS);
  // Once a minute at most, PostgreSQL's own autovacuum makes some.
  const windows: number[] = [];
  while (windows.length < 8 && !windows.includes(0)) windows.push(await transactionsInWindow());
  expect(windows, JSON.stringify(await lastStatements())).toContain(0);
  await until(async () => (await stateOf(delayed.id)) === 'ready', { everyMs: 1000 });
  await until(async () => (await stateOf(expiring.id)) === 'dead', { everyMs: 1000 });
  await until(async () => (await stateOf(leased.jobs[0].id)) === 'ready', { everyMs: 1000 });
  for (const { errors } of replicas) expect(errors).toEqual([]);
});
