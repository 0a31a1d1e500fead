import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase, createOtherDatabase, onServer } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** Replicas start and are killed. A slow machine takes minutes for that. */
const TEN_MINUTES = 600_000;
const QUEUES = ['east.a', 'east.b', 'west.a'];

const databases: Awaited<ReturnType<typeof createDatabase>>[] = [];
let survivor: Replica;
let env: Record<string, string>;
beforeAll(async () => {
  databases.push(await createDatabase(), await createOtherDatabase(), await createOtherDatabase());
  const [home, east, west] = databases.map(({ url }) => url) as [string, string, string];
  env = { DATABASE_URL: home, DATABASE_URL_EAST: east, DATABASE_URL_WEST: west };
  survivor = await startReplica(env);
  const { ok } = client(survivor.url);
  await ok('PUT', '/queues/here', { database: 'home' });
  for (const queue of QUEUES) await ok('PUT', `/queues/${queue}`, { database: queue.slice(0, 4) });
}, TEN_MINUTES);
afterAll(async () => {
  await survivor.end('SIGKILL');
  for (const { drop } of databases) await drop();
});

interface Item {
  producer: number;
  n: number;
}

/** Sends a batch for all queues. Repeats it, at the survivor too, until it is taken. */
async function send(at: () => Replica, item: Item): Promise<void> {
  const jobs = ['here', ...QUEUES].map((queue) => ({ queue, payload: item }));
  const headers = { 'idempotency-key': `${item.producer} ${item.n}` };
  for (let url = at().url; ; url = survivor.url) {
    const status = await http(url, 'POST', '/jobs/batch', { jobs }, { headers }).then(
      (answer) => answer.status,
      () => 503,
    );
    if (status === 201) return;
    expect(status).toBe(503);
    await sleep(20);
  }
}

/** Claims and acks jobs of a queue until `isOver`. An answer that is lost may have acked them. */
async function work(queue: string, isOver: () => boolean): Promise<Item[]> {
  const { claim, ok } = client(survivor.url);
  const seen: Item[] = [];
  for (;;) {
    const wasOver = isOver();
    const jobs = await claim(queue, { limit: 50 });
    seen.push(...jobs.map(({ payload }) => payload as Item));
    if (jobs.length > 0)
      await ok('POST', '/jobs/settle', { acks: jobs.map(({ id, lease_token }) => ({ id, lease_token })) });
    else if (wasOver) return seen;
    await sleep(5);
  }
}

test('kill -9 of replicas in the middle of batches over three databases, and one that is frozen: each job arrives once, in order', {
  timeout: TEN_MINUTES,
}, async () => {
  const PRODUCERS = 6;
  const RUNS = 4;
  let isOver = false;
  const workers = QUEUES.map((queue) => work(queue, () => isOver));
  const counts = new Array(PRODUCERS).fill(0);
  let next = startReplica(env);
  const frozen: Replica[] = [];
  for (let run = 0; run < RUNS; run++) {
    const doomed = await next;
    if (run < RUNS - 1) next = startReplica(env);
    let isDead = false;
    const producing = counts.map(async (_, producer) => {
      for (let i = 0; i < 5 || !isDead; i++) await send(() => doomed, { producer, n: counts[producer]++ });
    });
    await sleep(300 + Math.random() * 400);
    if (run === 0) frozen.push(doomed);
    process.kill(doomed.pid, run === 0 ? 'SIGSTOP' : 'SIGKILL');
    isDead = true;
    // It wakes when the others have sent what it had in its hands.
    if (run === 0) {
      await sleep(6000);
      process.kill(doomed.pid, 'SIGCONT');
    }
    await Promise.all(producing);
  }
  await until(
    async () => {
      const [row] = await onServer<{ n: number }>(
        env.DATABASE_URL as string,
        'select count(*)::integer as n from dibs.relay',
      );
      return row?.n === 0;
    },
    { withinMs: 120_000, what: 'an empty relay' },
  );
  isOver = true;
  const all = counts.flatMap((count, producer) =>
    Array.from({ length: count }, (_, n) => `${producer} ${n}`),
  );
  for (const seen of await Promise.all(workers)) {
    expect(seen.map(({ producer, n }) => `${producer} ${n}`).sort()).toEqual(all.toSorted());
    for (let producer = 0; producer < PRODUCERS; producer++) {
      const own = seen.filter((item) => item.producer === producer).map(({ n }) => n);
      expect(own).toEqual(own.toSorted((a, b) => a - b));
    }
  }
  for (const replica of frozen) await replica.end('SIGKILL');
});
