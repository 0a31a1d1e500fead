import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claimed, type Client, client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { type Replica, startReplica } from '../support/replica.ts';
import { onAll } from '../support/severalDatabases.ts';

const MANY = 20_000;

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

/** Fills a queue with many jobs, an hour old, in the order of their ids. */
async function fill(queue: string, state: 'ready' | 'dead', lastError: string | null = null): Promise<void> {
  await service.ok('PUT', `/queues/${queue}`, {});
  await onAll(
    database.url,
    `insert into dibs.jobs (queue_id, state, id, run_at, created_at, finished_at, max_attempts, attempt,
        deliveries, payload_bytes, priority, headers, payload, last_error)
      select q.id, $2::dibs.job_state, ('00000000-0000-7000-8000-' || lpad(to_hex(i), 6, '0') || lpad(to_hex(q.id), 6, '0'))::uuid,
        now() - interval '1 hour', now() - interval '1 hour',
        case when $2 = 'dead' then now() - interval '1 hour' + i * interval '1 millisecond' end,
        5, 0, 0, 4, 0, '{}', to_json(i), $3
      from dibs.queues q, generate_series(1, $4) i where q.name = $1`,
    [queue, state, lastError, MANY],
  );
}

/** Enqueues jobs, claims them and makes them dead, while `work` runs. */
async function meanwhile<T>(queue: string, work: Promise<T>) {
  const entered: string[] = [];
  const claimed: Claimed[] = [];
  let running = true;
  const result = work.finally(() => {
    running = false;
  });
  do {
    entered.push(await service.enqueue(queue, { priority: -1 }));
    for (const job of await service.claim(queue)) {
      claimed.push(job);
      await service.settle('nack', job, { retry: false, error: 'meanwhile' });
    }
  } while (running);
  return { result: await result, entered, claimed };
}

test('a purge deletes 20,000 jobs and none that came after the call, while claims go on', async () => {
  await fill('purge', 'ready');
  const calling = service.ok('POST', '/queues/purge/purge', { states: ['ready'] });
  const { result, entered, claimed } = await meanwhile('purge', calling);
  const own = new Set(entered);
  const fromFill = claimed.filter((job) => !own.has(job.id)).length;
  // The first enqueues may have committed before the call began.
  const before = result.count - (MANY - fromFill);
  expect(before).toBeGreaterThanOrEqual(0);
  expect(before).toBeLessThan(5);
  expect(entered.length).toBeGreaterThan(before);
  expect(claimed.length).toBeGreaterThan(0);
  const { ready, dead } = await service.counts('purge');
  expect(Number(ready) + Number(dead)).toBe(entered.length + fromFill - before);
});

test('a redrive makes 20,000 dead jobs ready, oldest first, and none that died after the call, while claims go on', async () => {
  await fill('redrive', 'dead', 'before');
  const calling = service.ok('POST', '/queues/redrive/redrive', {});
  const { result, claimed } = await meanwhile('redrive', calling);
  expect(claimed.length).toBeGreaterThan(0);
  // The first nacks may have committed before the call began.
  expect(result.count - MANY).toBeGreaterThanOrEqual(0);
  expect(result.count - MANY).toBeLessThan(5);
  const payloads = claimed.map((job) => job.payload).filter((payload) => payload !== null) as number[];
  expect(payloads).toEqual(payloads.toSorted((a, b) => a - b));
  expect((await service.counts('redrive')).dead).toBeGreaterThanOrEqual(claimed.length - 5);
  const [next] = (await service.claim('redrive')) as [Claimed];
  expect(next).toMatchObject({ attempt: 1, payload: payloads.length + 1 });
});

test('a redrive with a limit and a text takes the oldest jobs whose error contains the text', async () => {
  await service.ok('PUT', '/queues/some', {});
  for (const error of ['timeout 1', 'broken', 'timeout 2', 'timeout 3']) {
    await service.enqueue('some', { payload: error });
    const [job] = (await service.claim('some')) as [Claimed];
    await service.settle('nack', job, { retry: false, error });
  }
  const { count } = await service.ok('POST', '/queues/some/redrive', { limit: 2, error_contains: 'timeout' });
  expect(count).toBe(2);
  const jobs = await service.claim('some', { limit: 10 });
  expect(jobs.map((job) => job.payload)).toEqual(['timeout 1', 'timeout 2']);
});
