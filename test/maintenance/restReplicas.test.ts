import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { transactionsAtRest } from '../support/atRest.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { secondsFrom } from '../support/schedules.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
const replicas: Replica[] = [];

beforeAll(async () => {
  database = await createDatabase();
  for (let i = 0; i < 3; i++) replicas.push(await startReplica({ DATABASE_URL: database.url }));
});
afterAll(async () => {
  for (const replica of replicas) await replica.end('SIGTERM');
  await database.drop();
});

const jobs = (queue: string) =>
  onServer<{ state: string; late_ms: number }>(
    database.url,
    `select state, extract(epoch from clock_timestamp() - run_at)::float8 * 1000 as late_ms
     from dibs.jobs where queue_id = (select id from dibs.queues where name = $1)`,
    [queue],
  );

test('three replicas at which nothing is done and nothing is due make fewer than 2 transactions a second together', async () => {
  const [first] = replicas as [Replica];
  await http(first.url, 'POST', '/jobs', { queue: 'far', delay_seconds: 3600 });
  expect(await transactionsAtRest(database.url)).toBeLessThan(2);
});

test('a lease of a replica that was killed is taken back in time, though all replicas rest', async () => {
  const [first, second] = replicas as [Replica, Replica];
  await http(first.url, 'POST', '/jobs', { queue: 'leased' });
  await http(first.url, 'POST', '/jobs/claim', { queues: ['leased'], lease_seconds: 10 });
  // By then they rest.
  await sleep(8000);
  await first.end('SIGKILL');
  replicas.shift();
  await until(async () => (await jobs('leased'))[0]?.state === 'ready', { withinMs: 6000 });
  const { body } = await http(second.url, 'POST', '/jobs/claim', { queues: ['leased'] });
  expect(body.jobs).toHaveLength(1);
});

test('a job by SQL wakes replicas that rest, and a claim gets it at its time', async () => {
  const [first] = replicas as [Replica];
  await http(first.url, 'PUT', '/queues/sql', {});
  await sleep(9000);
  const waiting = http(first.url, 'POST', '/jobs/claim', { queues: ['sql'], wait_seconds: 20 });
  await sleep(500);
  await onServer(database.url, `select dibs.enqueue('sql', delay_seconds => 1)`);
  const { body } = await waiting;
  expect(body.jobs).toHaveLength(1);
  const late = Date.now() - Date.parse(body.jobs[0].run_at);
  expect(late).toBeLessThan(3000);
});

test('each tick makes its job, though all replicas rest, and the one that makes them is killed', async () => {
  const [survivor] = replicas as [Replica];
  for (let i = 0; i < 2; i++) replicas.push(await startReplica({ DATABASE_URL: database.url }));
  const spec = { cron: '* * * * * *', job: { queue: 'ticks' } };
  const put = async (body: object) => (await http(survivor.url, 'PUT', '/schedules/each', body)).body;
  const { next_run_at: first } = await put(spec);
  // Longer than the time after which a replica counts as away.
  await sleep(18_000);
  // One of the three makes the ticks. It is killed, if it is not the last one.
  for (let i = 0; i < 2; i++) {
    await replicas.pop()?.end('SIGKILL');
    await sleep(4000);
  }
  const { last_run_at } = await put({ ...spec, paused: true });
  expect(await jobs('ticks')).toHaveLength(secondsFrom(first, last_run_at));
});
