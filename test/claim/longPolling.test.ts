import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Claimed, type Client, client } from '../support/client.ts';
import { http, startReplica } from '../support/replica.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const TRIES = 15;

let here: Service;
let there: Service;
let claimant: Client;
let other: Client;
beforeAll(async () => {
  // Here, waiting claims never look by themselves: they get jobs only if they are woken, however slow the machine is.
  const never = () => setTimeout(() => undefined, 0);
  const intervals = vi.spyOn(globalThis, 'setInterval').mockImplementation(never as never);
  here = await startService();
  intervals.mockRestore();
  there = await startService({ databaseUrl: here.databaseUrl });
  claimant = client(await here.listen());
  other = client(await there.listen());
});
afterAll(async () => {
  await there.stop();
  await here.stop();
});

interface Case<Prepared> {
  prepare?: (queue: string) => Promise<Prepared>;
  cause: (queue: string, prepared: Prepared) => Promise<unknown>;
}

let cases = 0;

/**
 * Fails unless `cause` wakes claims that wait. Each try has a queue of its own. Where a notification is lost, a claim
 * looks a second later, which it does not do here. So a few may get nothing.
 */
async function expectWoken<Prepared>({ prepare, cause }: Case<Prepared>): Promise<void> {
  const name = `case-${cases++}`;
  const enough = new AbortController();
  let woken = 0;
  const tries = Array.from({ length: TRIES }, async (_, i) => {
    await sleep(i * 70);
    const queue = `${name}-${i}`;
    const prepared = (await prepare?.(queue)) as Prepared;
    const claim = claimant.claim(queue, { wait_seconds: 60 }, enough.signal).then(
      (jobs) => {
        woken += jobs.length;
      },
      (error) => {
        if (!enough.signal.aborted) throw error;
      },
    );
    await sleep(100);
    await cause(queue, prepared);
    await claim;
  });
  const all = Promise.all(tries);
  await Promise.race([all, until(() => woken > TRIES / 2, { withinMs: 150_000 })]);
  enough.abort();
  await all;
  expect(woken).toBeGreaterThan(TRIES / 2);
}

async function leased(queue: string): Promise<Claimed> {
  await other.enqueue(queue);
  return (await other.claim(queue))[0] as Claimed;
}

async function dead(queue: string): Promise<Claimed> {
  const job = await leased(queue);
  await other.settle('nack', job, { retry: false });
  return job;
}

// Each has queues of its own. Most of the time they wait.
describe.concurrent('a waiting claim is woken at once', () => {
  test('by an enqueue in its own process', async () => {
    await expectWoken({ cause: (queue) => claimant.enqueue(queue) });
  });

  test('by an enqueue in another replica', async () => {
    await expectWoken({ cause: (queue) => other.enqueue(queue) });
  });

  test('by a batch over several queues in another replica', async () => {
    const cause = (queue: string) =>
      other.ok('POST', '/jobs/batch', { jobs: [{ queue: `${queue}-more` }, { queue }] });
    await expectWoken({ cause });
  });

  test('when a delay runs out', async () => {
    const cause = (queue: string) => other.enqueue(queue, { delay_seconds: 0.5 });
    await expectWoken({ cause });
  });

  test('when a backoff runs out', async () => {
    const cause = (_: string, job: Claimed) => other.settle('nack', job, { delay_seconds: 0.5 });
    await expectWoken({ prepare: leased, cause });
  });

  test('when a lease is rescued', async () => {
    const cause = (_: string, job: Claimed) => other.settle('extend', job, { lease_seconds: 0.5 });
    await expectWoken({ prepare: leased, cause });
  });

  test('by a release, and by a nack without delay', async () => {
    const release = (_: string, job: Claimed) => other.settle('release', job);
    await expectWoken({ prepare: leased, cause: release });
    const nack = (_: string, job: Claimed) => other.settle('nack', job, { delay_seconds: 0 });
    await expectWoken({ prepare: leased, cause: nack });
  });

  test('when its queue is resumed', async () => {
    const prepare = async (queue: string) => {
      await other.enqueue(queue);
      await other.ok('POST', `/queues/${queue}/pause`);
    };
    const cause = (queue: string) => other.ok('POST', `/queues/${queue}/resume`);
    await expectWoken({ prepare, cause });
  });

  test('by a redrive, and by the retry of a dead job', async () => {
    const redrive = (queue: string) => other.ok('POST', `/queues/${queue}/redrive`);
    await expectWoken({ prepare: dead, cause: redrive });
    const retry = (_: string, job: Claimed) => other.ok('POST', `/jobs/${job.id}/retry`);
    await expectWoken({ prepare: dead, cause: retry });
  });
});

test('a claim on an unknown queue answers empty and creates nothing', async () => {
  expect(await claimant.claim('never-seen')).toEqual([]);
  expect(await claimant.claim('never-seen', { wait_seconds: 0.2 })).toEqual([]);
  expect((await http(claimant.url, 'GET', '/queues/never-seen')).status).toBe(404);
});

test('a claim that waits for an unknown queue gets its first job', async () => {
  const waiting = claimant.claim('yet-to-come', { wait_seconds: 20 });
  await sleep(100);
  const id = await other.enqueue('yet-to-come');
  expect((await waiting).map((job) => job.id)).toEqual([id]);
});

test('a claim that waits for several queues gets a job from the first one that has a job', async () => {
  for (const at of ['first', 'second', 'third']) {
    const waiting = claimant.claim(
      ['first', 'second', 'third'].map((name) => `one-of.${name}`),
      { wait_seconds: 20 },
    );
    await sleep(100);
    const id = await other.enqueue(`one-of.${at}`);
    expect((await waiting).map((job) => [job.id, job.queue])).toEqual([[id, `one-of.${at}`]]);
  }
});

test('SIGTERM answers waiting claims with an empty list', async () => {
  const replica = await startReplica({ DATABASE_URL: here.databaseUrl });
  const claims = ['quiet', 'silent'].map((queue) =>
    client(replica.url).claim([queue, 'still'], { wait_seconds: 60 }),
  );
  await sleep(300);
  const ended = replica.end('SIGTERM');
  expect(await Promise.all(claims)).toEqual([[], []]);
  expect(await ended).toBe(0);
});
