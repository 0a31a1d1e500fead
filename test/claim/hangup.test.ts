import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claimed, type Client, client } from '../support/client.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { claimAndHangUp, claimText } from '../support/rawClaim.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { databaseOf, onQueue } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let replica: Replica;
let service: Client;
beforeAll(async () => {
  database = await createDatabase();
  replica = await startReplica({ DATABASE_URL: database.url });
  service = client(replica.url);
});
afterAll(async () => {
  await replica.end('SIGKILL');
  await database.drop();
});

/** How many statements of others run in the database. */
const inStatement = (url: string) =>
  onServer(
    url,
    "select from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid()",
  ).then((rows) => rows.length);

/** A claim whose consumer hangs up after a while. Returns the jobs that came before. Leases run for 10 minutes. */
const hungUp = (queues: string[], afterMs: number, options: object = {}) =>
  claimAndHangUp(replica.url, { queues, wait_seconds: 30, lease_seconds: 600, ...options }, afterMs);

test('a consumer that hung up while it waited gets nothing: the job goes to the next claim', async () => {
  await Promise.all([50, 60, 70].map((ms) => hungUp(['left', 'other'], ms)));
  const next = service.claim(['left'], { wait_seconds: 20 });
  await sleep(100);
  const id = await service.enqueue('left');
  expect(await next).toMatchObject([{ id, attempt: 1, deliveries: 1 }]);
});

test('a job for a consumer that hangs up at any moment is ready again at once and uncharged', async () => {
  const answered: Claimed[] = [];
  const ids: string[] = [];
  const storm = Array.from({ length: 400 }, async (_, i) => {
    await sleep(i * 8 + Math.random() * 8);
    const queue = `storm-${i % 3}`;
    const hangingUp = hungUp([queue, `storm-${(i + 1) % 3}`], 3 + Math.random() * 25, { limit: 1 + (i % 3) });
    await sleep(Math.random() * 25);
    ids.push(await service.enqueue(queue, { max_attempts: 1 }));
    answered.push(...(await hangingUp));
  });
  await Promise.all(storm);
  // These hang up with their request on the way, or while their job is leased.
  for (let i = 0; i < 100; i++) {
    ids.push(await service.enqueue('storm-0', { max_attempts: 1 }));
    answered.push(...(await hungUp(['storm-0'], i % 5)));
  }
  const taken = new Map(answered.map((job) => [job.id, job]));
  expect(taken.size, 'a job went to two consumers').toBe(answered.length);

  // Each job has one attempt, and leases run far longer than this test: a job that is charged, or leased, does not come back.
  const queues = ['storm-0', 'storm-1', 'storm-2'];
  const left = new Map<string, Claimed>();
  await until(
    async () => {
      for (const job of await service.claim(queues, { limit: 1000 })) left.set(job.id, job);
      return taken.size + left.size >= ids.length;
    },
    { withinMs: 15_000, what: 'every job that no consumer has' },
  ).catch(() => undefined);
  const missing = ids.filter((id) => !taken.has(id) && !left.has(id));
  expect(missing, 'jobs that nobody has').toEqual([]);
  for (const job of [...taken.values(), ...left.values()]) expect(job.attempt).toBe(1);
  expect(taken.size + left.size).toBe(ids.length);
  // Some jobs must have come back from a lost connection, or this tested nothing.
  expect([...left.values()].some((job) => job.deliveries > 1)).toBe(true);
});

test('a hang-up disturbs neither the other waiting claims nor their order', async () => {
  const order: string[] = [];
  const stay = ['a', 'b'].map(async (name, i) => {
    await sleep(i * 100);
    await service.claim(['steady'], { wait_seconds: 20 });
    order.push(name);
  });
  await sleep(50);
  const leave = hungUp(['steady'], 200);
  await leave;
  for (const soFar of [1, 2]) {
    await service.enqueue('steady');
    await until(() => order.length === soFar);
  }
  await Promise.all(stay);
  expect(order).toEqual(['a', 'b']);
  expect((await http(replica.url, 'GET', '/queues/steady')).body.counts).toMatchObject({
    ready: 0,
    leased: 2,
  });
});

test.each([
  ['with a claim_id', { claim_id: 'c' }, 'repeatable_claims'],
  ['without one', {}, 'jobs'],
])(
  'a consumer that hung up before its leases came from the database is given none, %s',
  async (...[name, more, table]) => {
    const queue = `late-${name.length}`;
    const id = await service.enqueue(queue);
    const url = await databaseOf(database.url, queue);
    const counted = (condition: string) =>
      onQueue<{ n: number }>(
        database.url,
        queue,
        `select count(*)::integer as n from dibs.jobs j join dibs.queues q on q.id = j.queue_id
       where q.name = $1 and ${condition}`,
        [queue],
      ).then(([row]) => row?.n ?? 0);
    const isWaiting = async () => {
      const rows = await onServer(
        url,
        `select from pg_locks where relation = 'dibs.${table}'::regclass and not granted`,
      );
      return rows.length > 0;
    };
    let deliveries = 0;
    for (let isLeased = false; !isLeased; ) {
      const locker = await openClient(url);
      await locker.query(`begin; lock table dibs.${table} in share row exclusive mode`);
      const { hostname, port } = new URL(replica.url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.write(claimText(hostname, { queues: [queue], lease_seconds: 600, ...more }));
      await until(isWaiting, { what: 'the claim at the lock' });
      // The replica learns of the leases and of the hang-up in one moment, in this order.
      process.kill(replica.pid, 'SIGSTOP');
      await locker.query('commit');
      await locker.end();
      await until(async () => !(await isWaiting()), { what: 'the end of the wait' });
      // A wait may have ended just before. Then its claim has leased nothing yet.
      await until(async () => (await inStatement(url)) === 0, { what: 'the leases' });
      isLeased = (await counted("j.state = 'leased'")) === 1;
      socket.destroy();
      await once(socket, 'close');
      process.kill(replica.pid, 'SIGCONT');
      await until(async () => (await counted("j.state = 'ready'")) === 1, {
        what: 'the job',
        withinMs: 20_000,
      });
      deliveries++;
    }
    const next = await service.claim(queue, { wait_seconds: 20 });
    expect(next).toMatchObject([{ id, attempt: 1 }]);
    expect(next[0]?.deliveries).toBeLessThanOrEqual(deliveries + 1);
  },
);
