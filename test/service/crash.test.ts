import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Claimed, client } from '../support/client.ts';
import { filledDataDir, postgresPids, signalAll } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

let directory: Awaited<ReturnType<typeof filledDataDir>>;
let replica: Replica;
beforeAll(async () => {
  directory = await filledDataDir();
});
beforeEach(async () => {
  replica = await start();
});
afterEach(async () => {
  await kill();
});
afterAll(() => directory.remove());

/** A service with a PostgreSQL of its own, always on the same data. */
const start = () => startReplica({ DATA_DIR: directory.path });

/** Like a power failure: the service and PostgreSQL are killed at the same time. */
async function kill(): Promise<void> {
  const pids = postgresPids(directory.path);
  const ended = replica.end('SIGKILL');
  signalAll(pids, 'SIGKILL');
  await ended;
  await until(() => postgresPids(directory.path).length === 0);
}

/** Enqueues from several clients until the service is gone. Returns the answered ids, with their payloads. */
async function enqueueUntilGone(queue: string): Promise<Map<string, number>> {
  const answered = new Map<string, number>();
  let number = 0;
  const producers = Array.from({ length: 8 }, async (_, i) => {
    for (;;) {
      const payloads = Array.from({ length: i % 2 ? 1 : 20 }, () => number++);
      const jobs = payloads.map((payload) => ({ queue, payload }));
      const answer = await (i % 2
        ? http(replica.url, 'POST', '/jobs', jobs[0])
        : http(replica.url, 'POST', '/jobs/batch', { jobs })
      ).catch(() => undefined);
      if (!answer) return;
      if (answer.status !== 201) continue;
      for (const [at, job] of [answer.body.jobs ?? answer.body].flat().entries())
        answered.set(job.id, payloads[at] as number);
    }
  });
  await until(() => answered.size > 300);
  await kill();
  await Promise.all(producers);
  return answered;
}

test('every enqueue that was answered survives kill -9 of the service and of PostgreSQL', async () => {
  const answered = await enqueueUntilGone('survivors');
  expect(answered.size).toBeGreaterThan(300);
  replica = await start();
  const found = new Map<string, unknown>();
  for (;;) {
    const jobs = await client(replica.url).claim('survivors', { limit: 1000 });
    if (jobs.length === 0) break;
    for (const job of jobs) found.set(job.id, job.payload);
  }
  for (const [id, payload] of answered) expect(found.get(id), id).toBe(payload);
});

test('every ack that was answered holds after the crash, and every lease too', async () => {
  const before = client(replica.url);
  await before.ok('POST', '/jobs/batch', { jobs: Array.from({ length: 20 }, () => ({ queue: 'acks' })) });
  const leases = await before.claim('acks', { limit: 10 });
  for (const lease of leases.slice(0, 5)) await before.settle('ack', lease);
  await kill();
  replica = await start();
  const after = client(replica.url);
  const states = async () =>
    (await after.ok('GET', '/jobs?queue=acks')).jobs.map((job: { state: string }) => job.state).sort();
  expect(await states()).toEqual([...Array(5).fill('leased'), ...Array(10).fill('ready')]);
  for (const lease of leases.slice(5)) await after.settle('ack', lease);
  expect(await states()).toEqual(Array(10).fill('ready'));
});

test('the job of a worker that was killed comes back, even when the service was killed meanwhile', async () => {
  const before = client(replica.url);
  const id = await before.enqueue('orphan');
  const [first] = (await before.claim('orphan', { lease_seconds: 0.5 })) as [Claimed];
  await kill();
  replica = await start();
  const [again] = await client(replica.url).claim('orphan', { wait_seconds: 30 });
  expect(again).toMatchObject({ id, attempt: 2, deliveries: first.deliveries + 1 });
});

test('an embedded PostgreSQL that is killed comes back by itself, and the service with it', async () => {
  const job = { queue: 'resumed', payload: 'before' };
  expect((await http(replica.url, 'POST', '/jobs', job)).status).toBe(201);
  signalAll(postgresPids(directory.path), 'SIGKILL');
  const seen: number[] = [];
  await until(
    async () => {
      seen.push((await http(replica.url, 'POST', '/jobs', { ...job, payload: 'after' })).status);
      return seen.at(-1) === 201;
    },
    { withinMs: 25_000, what: 'an enqueue that works again' },
  );
  expect(new Set(seen)).toEqual(new Set([503, 201]));
  const claimed = await client(replica.url).claim('resumed', { limit: 10 });
  expect(claimed.map(({ payload }) => payload)).toContain('before');
});
