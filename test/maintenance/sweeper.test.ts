import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claimed, type Client, client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

/** 1 s is promised. The rest is for a busy machine. */
const RESCUED_MS = 3000;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
let service: Client;
beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2, 3].map(() => startReplica({ DATABASE_URL: database.url })));
  service = client((replicas[0] as Replica).url);
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

const batch = (queue: string, count: number, job: object = {}) =>
  service.ok('POST', '/jobs/batch', { jobs: Array.from({ length: count }, () => ({ queue, ...job })) });

const job = async (id: string) => (await http(service.url, 'GET', `/jobs/${id}`)).body;

const sql = <Row extends Record<string, unknown>>(text: string, ...values: unknown[]) =>
  onAll<Row>(database.url, text, values);

/** The jobs of a queue as they stand in the database, by position. */
const rows = (queue: string) =>
  sql<{ state: string; attempt: number; position: string; lease_token: string | null; last_error: string }>(
    `select j.* from dibs.jobs j join dibs.queues q on q.id = j.queue_id where q.name = $1 order by position`,
    queue,
  );

// Tests of single jobs wait side by side.
test.concurrent('a lease that ran out is rescued within a second: the job is ready, its attempt charged, without backoff', async () => {
  const id = await service.enqueue('rescue');
  const [lease] = await service.claim('rescue', { lease_seconds: 0.5 });
  const [again] = await service.claim('rescue', { wait_seconds: 20 });
  expect(again).toMatchObject({ id, attempt: 2, deliveries: 2, last_error: 'lease expired' });
  const late = Date.parse((again as Claimed).lease_expires_at) - 600_000;
  expect(late - Date.parse((lease as Claimed).lease_expires_at)).toBeLessThan(RESCUED_MS);
});

test.concurrent('a lease that ran out with no attempts left makes the job dead', async () => {
  const id = await service.enqueue('exhausted', { max_attempts: 1 });
  await service.claim('exhausted', { lease_seconds: 0.1 });
  await until(async () => (await job(id)).state === 'dead');
  expect(await job(id)).toMatchObject({ attempt: 1, last_error: 'lease expired', lease_expires_at: null });
  expect(await service.claim('exhausted')).toEqual([]);
});

test.concurrent('a lease that was extended is not rescued before its new end', async () => {
  await service.enqueue('extended');
  const [lease] = (await service.claim('extended', { lease_seconds: 4 })) as [Claimed];
  const { lease_expires_at } = await service.settle('extend', lease, { lease_seconds: 6 });
  const [again] = (await service.claim('extended', { wait_seconds: 20 })) as [Claimed];
  expect(Date.parse(again.lease_expires_at) - 600_000).toBeGreaterThanOrEqual(
    Date.parse(lease_expires_at) - 1,
  );
});

test('5,000 leases that run out at once are each rescued once, by three sweepers, in bounded batches', async () => {
  for (let i = 0; i < 5; i++) await batch('many', 1000);
  const leases: Claimed[] = [];
  while (leases.length < 5000)
    leases.push(...(await service.claim('many', { limit: 1000, lease_seconds: 600 })));
  const before = Number((await sql<{ p: string }>('select last_value as p from dibs.positions'))[0]?.p);
  await sql(`update dibs.jobs set lease_expires_at = now() where state = 'leased'`);
  await until(async () => (await service.counts('many')).ready === 5000);
  const rescued = await rows('many');
  expect(new Set(rescued.map((row) => row.position)).size).toBe(5000);
  expect(rescued.every((row) => row.attempt === 1 && row.last_error === 'lease expired')).toBe(true);
  const batches = await sql<{ size: number }>(`select count(*)::integer as size from dibs.jobs
    where queue_id = (select id from dibs.queues where name = 'many') group by xmin::text`);
  expect(Math.max(...batches.map((one) => one.size))).toBeLessThanOrEqual(1000);
  expect(Number(rescued[0]?.position)).toBeGreaterThan(before);
  const again: Claimed[] = [];
  while (again.length < 5000) again.push(...(await service.claim('many', { limit: 1000 })));
  expect(again.every((lease) => lease.attempt === 2 && lease.deliveries === 2)).toBe(true);
  expect(new Set(again.map((lease) => lease.id)).size).toBe(5000);
});

test('the leases of many queues are rescued at the same time', async () => {
  const names = Array.from({ length: 40 }, (_, i) => `side-${i}`);
  // A machine that is too busy may answer 503. The key lets the request be repeated.
  const headers = { 'idempotency-key': 'side' };
  const jobs = names.map((queue) => ({ queue }));
  await until(
    async () => (await http(service.url, 'POST', '/jobs/batch', { jobs }, { headers })).status === 201,
  );
  const claims = await Promise.all(
    names.map((name) => service.claim(name, { lease_seconds: 0.3, wait_seconds: 20 })),
  );
  expect(claims.flat()).toHaveLength(40);
  const again = await Promise.all(names.map((name) => service.claim(name, { wait_seconds: 20 })));
  expect(again.flat().every((lease) => lease.deliveries === 2)).toBe(true);
});

test.concurrent('scheduled jobs are promoted in the order of their run_at', async () => {
  const { jobs } = await service.ok('POST', '/jobs/batch', {
    jobs: [1.1, 0.1, 0.6].map((delay_seconds) => ({
      queue: 'promoted',
      delay_seconds,
      payload: delay_seconds,
    })),
  });
  expect(jobs.map((one: { state: string }) => one.state)).toEqual(['scheduled', 'scheduled', 'scheduled']);
  await until(async () => (await service.counts('promoted')).ready === 3);
  const claimed = await service.claim('promoted', { limit: 3 });
  expect(claimed.map((one) => one.payload)).toEqual([0.1, 0.6, 1.1]);
});

test.concurrent('a job is never promoted before its run_at', async () => {
  const id = await service.enqueue('early', { delay_seconds: 1 });
  const { run_at } = await job(id);
  const [claimed] = (await service.claim('early', { wait_seconds: 20 })) as [Claimed];
  expect(Date.parse(claimed.lease_expires_at) - 600_000).toBeGreaterThanOrEqual(Date.parse(run_at) - 1);
});

test.concurrent('finished jobs are pruned when their retention is over, and not before', async () => {
  await service.ok('PUT', '/queues/kept', { retention_seconds: 1, dead_retention_seconds: 3600 });
  const [done, dead, cancelled] = await Promise.all([1, 2, 3].map(() => service.enqueue('kept')));
  await service.ok('DELETE', `/jobs/${cancelled}`);
  for (const lease of await service.claim('kept', { limit: 2 }))
    await service.settle(
      lease.id === done ? 'ack' : 'nack',
      lease,
      lease.id === done ? {} : { retry: false },
    );
  const finished = Date.parse((await job(done as string)).finished_at);
  const states = await Promise.all(
    [done, dead, cancelled].map(async (id) => (await job(id as string)).state),
  );
  expect(states).toEqual(['completed', 'dead', 'cancelled']);
  await until(async () => (await http(service.url, 'GET', `/jobs/${done}`)).status === 404);
  const [{ now }] = (await sql<{ now: Date }>('select now()')) as [{ now: Date }];
  expect(now.getTime() - finished).toBeGreaterThanOrEqual(1000);
  await until(async () => (await http(service.url, 'GET', `/jobs/${cancelled}`)).status === 404);
  expect(await job(dead as string)).toMatchObject({ state: 'dead' });
});

test('3,000 dead jobs whose retention is over are pruned, and younger ones stay', async () => {
  for (let i = 0; i < 3; i++) await batch('old', 1000);
  // Their retention will have ended a moment ago. On a slow machine, looks for what ended long ago are minutes apart.
  await sql(`update dibs.jobs set state = 'dead', finished_at = now() - interval '3601 seconds'
    where state = 'ready' and queue_id = (select id from dibs.queues where name = 'old')`);
  const young = await service.enqueue('old');
  const [lease] = (await service.claim('old')) as [Claimed];
  await service.settle('nack', lease, { retry: false });
  await service.ok('PUT', '/queues/old', { dead_retention_seconds: 3600 });
  await until(async () => (await rows('old')).length === 1);
  expect(await job(young)).toMatchObject({ state: 'dead' });
});

/** Inserts 100,000 jobs of a queue whose time has just come. */
async function crowd(queue: string, state: 'leased' | 'scheduled', more: string): Promise<void> {
  await service.ok('PUT', `/queues/${queue}`, {});
  await sql(
    `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, expires_at, lease_expires_at, lease_token, attempt, deliveries)
     select q.id, gen_random_uuid(), $2::dibs.job_state, due.at, 5, 1, 0, '{}', '1', ${more}
     from dibs.queues q, generate_series(1, 100000) n, lateral (select now() + n * interval '1 microsecond') as due (at)
     where q.name = $1`,
    queue,
    state,
  );
}

const CROWDS = {
  leases: {
    state: 'leased',
    more: 'null, due.at, gen_random_uuid(), 1, 1',
    async wait(queue: string) {
      await service.enqueue(queue);
      const [lease] = (await service.claim(queue, { lease_seconds: 0.2 })) as [Claimed];
      await until(async () => (await job(lease.id)).state === 'ready');
    },
  },
  'scheduled jobs': {
    state: 'scheduled',
    more: 'null, null, null, 0, 0',
    async wait(queue: string) {
      const id = await service.enqueue(queue, { delay_seconds: 0.2 });
      await until(async () => (await job(id)).state === 'ready');
    },
  },
  'jobs that expire': {
    state: 'scheduled',
    more: 'due.at, null, null, 0, 0',
    async wait(queue: string) {
      const id = await service.enqueue(queue, { delay_seconds: 600, expires_in_seconds: 0.2 });
      await until(async () => (await job(id)).state === 'dead');
    },
  },
} as const;

test.each(Object.entries(CROWDS))(
  'beside 100,000 %s of another queue whose time comes at once, and beside claims, a queue does not wait for all of them',
  async (what, { state, more, wait }) => {
    // Queues whose names begin like this are in one database.
    const name = what.replaceAll(' ', '-');
    let ended = false;
    // Claims are served all the time. So the sweeps give way to them.
    const serving = Promise.all(
      replicas.map(async ({ url }, i) => {
        const one = client(url);
        while (!ended) {
          await one.enqueue(`${name}.served-${i}`);
          for (const lease of await one.claim(`${name}.served-${i}`)) await one.settle('ack', lease);
        }
      }),
    );
    await crowd(`${name}.crowd`, state, more);
    const left = async () =>
      (
        await sql(
          `select from dibs.jobs j join dibs.queues q on q.id = j.queue_id where q.name = $1 and state = $2`,
          `${name}.crowd`,
          state,
        )
      ).length;
    await wait(`${name}.beside`);
    const leftAfterIt = await left();
    ended = true;
    await serving;
    await sql(
      `delete from dibs.jobs using dibs.queues q where q.id = queue_id and q.name = $1`,
      `${name}.crowd`,
    );
    expect(leftAfterIt).toBeGreaterThan(0);
  },
);
