import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Claimed, client } from '../support/client.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** `BATCHES=50 JOBS=200` is the large run. */
const BATCHES = Number(process.env.BATCHES ?? 10);
const JOBS = Number(process.env.JOBS ?? 60);
const WORKERS = 8;
const QUEUES = ['pages.kept', 'pages.gone'];

let database: Awaited<ReturnType<typeof createDatabase>>;
let survivor: Replica;
let victim: Replica;
beforeAll(async () => {
  database = await createDatabase();
  [survivor, victim] = await Promise.all([start(), start()]);
  const { ok } = client(survivor.url);
  await ok('PUT', '/queues/pages.kept', { retention_seconds: 3600 });
});
afterAll(async () => {
  await Promise.all([survivor.end('SIGKILL'), victim.end('SIGKILL')]);
  await database.drop();
});

const start = () => startReplica({ DATABASE_URL: database.url });

interface Made {
  id: string;
  /** One of its jobs was cancelled: it cannot succeed. */
  isBroken: boolean;
}

/** Every fifth batch has a cancelled job. All followers at an end belong to one outer batch. */
async function makeBatches(outer: string): Promise<Made[]> {
  const { ok } = client(survivor.url);
  const made: Made[] = [];
  for (let n = 0; n < BATCHES; n++) {
    const jobs = Array.from({ length: JOBS }, (_, i) => ({ queue: QUEUES[i % 2], max_attempts: 3 }));
    const { id } = await ok('POST', '/batches', {
      queue: 'pages.gone',
      jobs,
      closed: n % 2 === 0,
      on_success: { queue: 'success', payload: n },
      on_end: { queue: 'end', payload: n, batch: outer },
    });
    const isBroken = n % 5 === 4;
    if (isBroken) {
      const [job] = (await ok('GET', `/jobs?batch=${id}&limit=1`)).jobs;
      await ok('DELETE', `/jobs/${job.id}`);
    }
    if (n % 2 === 1) await ok('POST', `/batches/${id}/close`);
    made.push({ id, isBroken });
  }
  return made;
}

/** Acks most jobs, some with one more job of their batch, and gives some up. Answers are lost when a replica dies. */
async function work(i: number, stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    const { url } = i % 2 ? survivor : victim;
    const jobs = await client(url)
      .claim(QUEUES, { limit: 1 + (i % 10), lease_seconds: 1.5, wait_seconds: 0.2 })
      .catch(() => []);
    await Promise.allSettled(jobs.map((job) => settle(url, job as Claimed & { batch: string })));
    if (jobs.length === 0) await sleep(20);
  }
}

function settle(url: string, { id, lease_token, payload, batch }: Claimed & { batch: string }) {
  const luck = Math.random();
  if (luck < 0.1) return http(url, 'POST', `/jobs/${id}/nack`, { lease_token, retry: false });
  const enqueue = payload === null && luck < 0.2 ? [{ queue: QUEUES[0], payload: 'more', batch }] : undefined;
  return http(url, 'POST', `/jobs/${id}/ack`, { lease_token, ...(enqueue && { enqueue }) });
}

async function kill(stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    await sleep(200 + Math.random() * 800);
    await victim.end('SIGKILL');
    victim = await start();
  }
}

async function redrive(stopped: () => boolean): Promise<void> {
  const { ok } = client(survivor.url);
  while (!stopped()) {
    for (const queue of QUEUES) await ok('POST', `/queues/${queue}/redrive`, {}).catch(() => undefined);
    await sleep(300);
  }
}

const payloadsOf = async (queue: string): Promise<number[]> => {
  const { jobs } = await client(survivor.url).ok('GET', `/jobs?queue=${queue}&include=payload&limit=1000`);
  return jobs.map(({ payload }: { payload: number }) => payload).sort((a: number, b: number) => a - b);
};

test('replicas are killed while jobs of batches are finished, die and are redriven: each follower comes exactly once', {
  timeout: 1_200_000,
}, async () => {
  const { ok } = client(survivor.url);
  const outer = await ok('POST', '/batches', {
    queue: 'pages.gone',
    on_end: { queue: 'outer', payload: 0 },
  });
  let isStopped = false;
  const stopped = () => isStopped;
  const running = [
    kill(stopped),
    redrive(stopped),
    ...Array.from({ length: WORKERS }, (_, i) => work(i, stopped)),
  ];
  const made = await makeBatches(outer.id);
  await ok('POST', `/batches/${outer.id}/close`);
  const all = made.map((_, n) => n);
  /** One after the other. So many at once may be refused on a slow machine. */
  async function looks() {
    const seen = [];
    for (const { id } of made) seen.push(await ok('GET', `/batches/${id}`));
    return seen;
  }
  await until(
    async () => {
      // Where all processors are busy, a look may be refused. The next one comes.
      const seen = await looks().catch(() => undefined);
      return seen?.every(({ state, counts }, n) =>
        made[n]?.isBroken
          ? state === 'ended' && counts.dead === 0 && counts.ready === 0
          : state === 'succeeded',
      );
    },
    { withinMs: 900_000 },
  );
  isStopped = true;
  await Promise.all(running);

  expect(await payloadsOf('end')).toEqual(all);
  expect(await payloadsOf('success')).toEqual(all.filter((n) => !made[n]?.isBroken));
  // The followers are the jobs of the outer batch.
  expect(await payloadsOf('outer')).toEqual([]);
  for (const job of await client(survivor.url).claim('end', { limit: 1000 }))
    await client(survivor.url).settle('ack', job);
  expect(await payloadsOf('outer')).toEqual([0]);
  expect(await ok('GET', `/batches/${outer.id}`)).toMatchObject({ counts: { completed: BATCHES } });

  const kept = await onServer<{ n: number }>(
    database.url,
    `select count(*)::integer as n from dibs.jobs where batch_id = any ($1) and state not in ('completed', 'cancelled')`,
    [made.map(({ id }) => id)],
  );
  expect(kept[0]?.n).toBe(0);
  for (const { counts } of await looks())
    expect(counts.completed + counts.cancelled).toBeGreaterThanOrEqual(JOBS);
});
