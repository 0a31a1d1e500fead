import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claimed, client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

const JOBS = 200;
const ROUNDS = 4;

let database: Awaited<ReturnType<typeof createDatabase>>;
let survivor: Replica;
beforeAll(async () => {
  database = await createDatabase();
  survivor = await start();
});
afterAll(async () => {
  await survivor.end('SIGKILL');
  await database.drop();
});

const start = () => startReplica({ DATABASE_URL: database.url });

/** A third is nacked through the replica that is killed, a third loses its lease, a third expires. */
async function makeDie(round: number, victim: Replica): Promise<number[]> {
  const { ok, claim } = client(survivor.url);
  const payloads = Array.from({ length: JOBS }, (_, i) => round * JOBS + i);
  const jobs = payloads.map((payload) => ({ queue: 'mail', payload, max_attempts: 1 }));
  const third = Math.floor(JOBS / 3);
  await ok('POST', '/jobs/batch', { jobs: jobs.slice(0, 2 * third) });
  const nacked: Claimed[] = await claim(['mail'], { limit: third, lease_seconds: 2 });
  await claim(['mail'], { limit: third, lease_seconds: 0.3 });
  const expiring = jobs.slice(2 * third).map((job) => ({ ...job, expires_in_seconds: 0.3 }));
  await ok('POST', '/jobs/batch', { jobs: expiring });
  const nacks = Promise.allSettled(
    nacked.map(({ id, lease_token }) =>
      http(victim.url, 'POST', `/jobs/${id}/nack`, { lease_token, error: 'boom' }),
    ),
  );
  await sleep(Math.random() * 60);
  await victim.end('SIGKILL');
  await nacks;
  return payloads;
}

test('kill -9 of a replica while jobs die: each is in the dead letter queue exactly once, and nowhere else', {
  timeout: 600_000,
}, async () => {
  const { ok } = client(survivor.url);
  await ok('PUT', '/queues/mail', { dead_letter_queue: 'mail.dead', retention_seconds: 0 });
  const expected: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    expected.push(...(await makeDie(round, await start())));
    // The leases of nacks that were lost run out.
    const counts = async (name: string) => (await ok('GET', `/queues/${name}`)).counts;
    await until(async () => (await counts('mail.dead')).ready === expected.length, { withinMs: 60_000 });
    expect(Object.values(await counts('mail')).reduce((sum: number, n) => sum + Number(n), 0)).toBe(0);
  }
  const found: number[] = [];
  for (let cursor = ''; ; ) {
    const { jobs, next_cursor } = await ok(
      'GET',
      `/jobs?queue=mail.dead&include=payload&limit=1000${cursor}`,
    );
    found.push(...jobs.map(({ payload }: { payload: number }) => payload));
    if (next_cursor === null) break;
    cursor = `&cursor=${next_cursor}`;
  }
  expect(found.sort((a, b) => a - b)).toEqual(expected);
  // All go back, also while the replica that sends them is killed.
  const victim = await start();
  const lost = http(victim.url, 'POST', '/queues/mail.dead/redrive', { home: true }).catch(() => undefined);
  await sleep(Math.random() * 100);
  await victim.end('SIGKILL');
  await lost;
  // The statement that the victim had sent may still run.
  await until(async () => {
    await ok('POST', '/queues/mail.dead/redrive', { home: true });
    return (await ok('GET', '/queues/mail.dead')).counts.ready === 0;
  });
  expect((await ok('GET', '/queues/mail')).counts.ready).toBe(expected.length);
});
