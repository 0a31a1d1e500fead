import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Claimed, type Client, client, median } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';

/** A claim that is not woken looks once a second: its median latency is half a second. */
const TRIES = 15;
const AT_ONCE_MS = 250;
/** The sweeper looks every 200 ms: the median of what it adds is 100 ms. */
const SWEPT_MS = AT_ONCE_MS + 100;

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
let here: Client;
let there: Client;
beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2].map(() => startReplica({ DATABASE_URL: database.url })));
  [here, there] = replicas.map((replica) => client(replica.url)) as [Client, Client];
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

interface Case<Prepared> {
  prepare?: (queue: string) => Promise<Prepared>;
  cause: (queue: string, prepared: Prepared) => Promise<unknown>;
  afterMs?: number;
}

let cases = 0;

/**
 * The median time from `cause` until a waiting claim has its job. Each try has a queue of its own. A slow machine is
 * forgiven ten times what a claim takes there that need not wait.
 */
async function latency<Prepared>({ prepare, cause, afterMs = 0 }: Case<Prepared>): Promise<number> {
  const name = `case-${cases++}`;
  const tries = Array.from({ length: TRIES }, async (_, i) => {
    await sleep(i * 70);
    const queue = `${name}-${i}`;
    const prepared = (await prepare?.(queue)) as Prepared;
    const waiting = here.claim(queue, { wait_seconds: 20 }).then((jobs) => ({ jobs, at: Date.now() }));
    await sleep(100);
    const started = Date.now();
    await cause(queue, prepared);
    const { jobs, at } = await waiting;
    expect(jobs).toHaveLength(1);
    const asked = Date.now();
    await here.claim('empty');
    return { late: at - started - afterMs, plain: Date.now() - asked };
  });
  const all = await Promise.all(tries);
  return median(all.map(({ late }) => late)) - 10 * median(all.map(({ plain }) => plain));
}

async function leased(queue: string): Promise<Claimed> {
  await there.enqueue(queue);
  return (await there.claim(queue))[0] as Claimed;
}

async function dead(queue: string): Promise<Claimed> {
  const job = await leased(queue);
  await there.settle('nack', job, { retry: false });
  return job;
}

describe('a waiting claim is woken at once', () => {
  test('by an enqueue in its own process', async () => {
    expect(await latency({ cause: (queue) => here.enqueue(queue) })).toBeLessThan(AT_ONCE_MS);
  });

  test('by an enqueue in another replica', async () => {
    expect(await latency({ cause: (queue) => there.enqueue(queue) })).toBeLessThan(AT_ONCE_MS);
  });

  test('by a batch over several queues in another replica', async () => {
    const cause = (queue: string) =>
      there.ok('POST', '/jobs/batch', { jobs: [{ queue: `${queue}-more` }, { queue }] });
    expect(await latency({ cause })).toBeLessThan(AT_ONCE_MS);
  });

  test('when a delay runs out', async () => {
    const cause = (queue: string) => there.enqueue(queue, { delay_seconds: 0.5 });
    expect(await latency({ cause, afterMs: 500 })).toBeLessThan(SWEPT_MS);
  });

  test('when a backoff runs out', async () => {
    const cause = (_: string, job: Claimed) => there.settle('nack', job, { delay_seconds: 0.5 });
    expect(await latency({ prepare: leased, cause, afterMs: 500 })).toBeLessThan(SWEPT_MS);
  });

  test('when a lease is rescued', async () => {
    const cause = (_: string, job: Claimed) => there.settle('extend', job, { lease_seconds: 0.5 });
    expect(await latency({ prepare: leased, cause, afterMs: 500 })).toBeLessThan(SWEPT_MS);
  });

  test('by a release, and by a nack without delay', async () => {
    const release = (_: string, job: Claimed) => there.settle('release', job);
    expect(await latency({ prepare: leased, cause: release })).toBeLessThan(AT_ONCE_MS);
    const nack = (_: string, job: Claimed) => there.settle('nack', job, { delay_seconds: 0 });
    expect(await latency({ prepare: leased, cause: nack })).toBeLessThan(AT_ONCE_MS);
  });

  test('when its queue is resumed', async () => {
    const prepare = async (queue: string) => {
      await there.enqueue(queue);
      await there.ok('POST', `/queues/${queue}/pause`);
    };
    const cause = (queue: string) => there.ok('POST', `/queues/${queue}/resume`);
    expect(await latency({ prepare, cause })).toBeLessThan(AT_ONCE_MS);
  });

  test('by a redrive, and by the retry of a dead job', async () => {
    const redrive = (queue: string) => there.ok('POST', `/queues/${queue}/redrive`);
    expect(await latency({ prepare: dead, cause: redrive })).toBeLessThan(AT_ONCE_MS);
    const retry = (_: string, job: Claimed) => there.ok('POST', `/jobs/${job.id}/retry`);
    expect(await latency({ prepare: dead, cause: retry })).toBeLessThan(AT_ONCE_MS);
  });
});

test('a claim on an unknown queue answers empty and creates nothing', async () => {
  expect(await here.claim('never-seen')).toEqual([]);
  expect(await here.claim('never-seen', { wait_seconds: 0.2 })).toEqual([]);
  expect((await http(here.url, 'GET', '/queues/never-seen')).status).toBe(404);
});

test('a claim that waits for an unknown queue gets its first job', async () => {
  const waiting = here.claim('yet-to-come', { wait_seconds: 20 });
  await sleep(100);
  const id = await there.enqueue('yet-to-come');
  expect((await waiting).map((job) => job.id)).toEqual([id]);
});

test('a claim that waits for several queues gets a job from the first one that has a job', async () => {
  for (const at of ['first', 'second', 'third']) {
    const waiting = here.claim(
      ['first', 'second', 'third'].map((name) => `one-of.${name}`),
      { wait_seconds: 20 },
    );
    await sleep(100);
    const id = await there.enqueue(`one-of.${at}`);
    expect((await waiting).map((job) => [job.id, job.queue])).toEqual([[id, `one-of.${at}`]]);
  }
});

test('SIGTERM answers waiting claims with an empty list', async () => {
  const replica = await startReplica({ DATABASE_URL: database.url });
  const claims = ['quiet', 'silent'].map((queue) =>
    client(replica.url).claim([queue, 'still'], { wait_seconds: 60 }),
  );
  await sleep(300);
  const ended = replica.end('SIGTERM');
  expect(await Promise.all(claims)).toEqual([[], []]);
  expect(await ended).toBe(0);
});
