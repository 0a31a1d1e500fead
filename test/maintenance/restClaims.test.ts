import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QUIET_MS, transactionsAtRest } from '../support/atRest.ts';
import { createDatabase } from '../support/database.ts';
import { openRelay } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { served } from '../support/served.ts';

const QUEUES = 16;

let database: Awaited<ReturnType<typeof createDatabase>>;
let relay: Awaited<ReturnType<typeof openRelay>>;
let near: Replica;
/** It listens through the relay. */
let far: Replica;

beforeAll(async () => {
  database = await createDatabase();
  const direct = new URL(database.url);
  relay = await openRelay(0, () => Number(direct.port));
  const through = new URL(database.url);
  through.port = String((relay.address() as AddressInfo).port);
  near = await startReplica({ DATABASE_URL: database.url });
  far = await startReplica({ DATABASE_URL: database.url, DATABASE_LISTEN_URL: through.href });
});
afterAll(async () => {
  await near.end('SIGTERM');
  await far.end('SIGKILL');
  await relay.cut();
  await database.drop();
});

/**
 * When replicas wake on a machine that is busy, their first requests may be answered 503. Such a request may have been done all
 * the same: with its key, a repeat makes no second job.
 */
async function enqueue(queue: string): Promise<void> {
  const headers = { 'idempotency-key': randomUUID() };
  const { status } = await served(() => http(near.url, 'POST', '/jobs', { queue }, { headers }));
  expect(status).toBe(201);
}

test('claims that wait at replicas that rest send next to nothing, however many queues they wait for', async () => {
  const queues = Array.from({ length: QUEUES }, (_, i) => `quiet-${i}`);
  for (const queue of queues) await http(near.url, 'PUT', `/queues/${queue}`, {});
  const waiting = [near, far].map(({ url }) =>
    http(url, 'POST', '/jobs/claim', { queues, wait_seconds: 60 }),
  );
  expect(await transactionsAtRest(database.url)).toBeLessThan(3);
  for (const queue of ['quiet-3', 'quiet-5']) await enqueue(queue);
  for (const { body } of await Promise.all(waiting)) expect(body.jobs).toHaveLength(1);
});

test('a claim that waits for a rate limit gets its job when the window ends, though its replica rests', async () => {
  await http(near.url, 'PUT', '/queues/limited', { rate_limit: { jobs: 1, per_seconds: 12 } });
  for (const _ of [1, 2]) await enqueue('limited');
  for (const _ of [1, 2]) {
    const { body } = await http(near.url, 'POST', '/jobs/claim', { queues: ['limited'], wait_seconds: 30 });
    expect(body.jobs).toHaveLength(1);
  }
});

test('a claim that waits gets its job, though its replica rests and has not noticed yet that its LISTEN died', async () => {
  await http(near.url, 'PUT', '/queues/deaf', {});
  await sleep(QUIET_MS);
  const waiting = http(far.url, 'POST', '/jobs/claim', { queues: ['deaf'], wait_seconds: 40 });
  await sleep(1000);
  relay.swallow();
  await enqueue('deaf');
  expect((await waiting).body.jobs).toHaveLength(1);
});
