import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClaimRequest } from '../../src/claim/claim.ts';
import { Refusal } from '../../src/errors.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

let enqueues = 0;

/** It is repeated while it is 503, and enqueues once. */
async function enqueue(queue: string): Promise<string> {
  const headers = { 'idempotency-key': `${++enqueues}` };
  return (await served(() => service.call('POST', '/jobs', { queue }, headers))).body.id;
}

/** On a slow machine, the database may seem to be away. */
const noneIfUnavailable = (error: unknown): [] => {
  if (error instanceof Refusal && error.code === 'unavailable') return [];
  throw error;
};

/** Claims that come in this order. Their answers are noted as they come. */
async function wait(requests: ClaimRequest[]) {
  const answers: { claim: number; jobs: string[] }[] = [];
  const looked = service.engine.claim({ queues: requests[0]?.queues });
  const claims = requests.map(async (request, claim) => {
    const jobs = await service.engine.claim({ wait_seconds: 60, ...request });
    answers.push({ claim, jobs: jobs.map((job) => job.id) });
  });
  await looked;
  const all = Promise.all(claims);
  // The test awaits it later.
  all.catch(() => undefined);
  return { answers, all };
}

test('claims that wait for a queue are served in the order in which they came', async () => {
  const { answers, all } = await wait(Array.from({ length: 20 }, () => ({ queues: ['plain'] })));
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) {
    ids.push(await enqueue('plain'));
    await until(() => answers.length > i);
  }
  await all;
  expect(answers).toEqual(ids.map((id, claim) => ({ claim, jobs: [id] })));
});

const TEN_MINUTES = 600_000;

test('claims that wait are served in order while jobs come at any moment, and other claims come and go', {
  timeout: TEN_MINUTES,
}, async () => {
  /** Returns false when a claim was refused, because the machine is too slow: then there is no order to look at. */
  async function isInOrder(queue: string): Promise<boolean> {
    const { answers, all } = await wait(Array.from({ length: 60 }, () => ({ queues: [queue] })));
    let ended = false;
    // Each of these looks once, behind all that wait, and so gets nothing while one of them waits.
    const passing = (async () => {
      const got: unknown[] = [];
      while (!ended) got.push(...(await service.engine.claim({ queues: [queue] }).catch(noneIfUnavailable)));
      return got;
    })();
    await Promise.all(
      Array.from({ length: 60 }, async () => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
        await enqueue(queue);
      }),
    );
    const isServed = await all.then(
      () => true,
      (error) => noneIfUnavailable(error).length > 0,
    );
    ended = true;
    const got = await passing;
    if (!isServed) return false;
    expect(got).toEqual([]);
    expect(answers.map(({ claim }) => claim)).toEqual(Array.from({ length: 60 }, (_, i) => i));
    return true;
  }
  for (let rounds = 0, tries = 0; rounds < 3; tries++) if (await isInOrder(`moments.${tries}`)) rounds++;
});

test('jobs that come together go to waiting claims in the order of the claims', async () => {
  const { answers, all } = await wait(Array.from({ length: 40 }, () => ({ queues: ['together'] })));
  const jobs = Array.from({ length: 40 }, () => ({ queue: 'together' }));
  const { body } = await service.call('POST', '/jobs/batch', { jobs });
  await all;
  const byClaim = answers.toSorted((a, b) => a.claim - b.claim).flatMap((answer) => answer.jobs);
  expect(byClaim).toEqual(body.jobs.map((job: { id: string }) => job.id));
});

test('the first waiting claim gets jobs up to its limit, and the next one gets the rest', async () => {
  const { answers, all } = await wait([
    { queues: ['limits'], limit: 3 },
    { queues: ['limits'], limit: 10 },
    { queues: ['limits'], limit: 1 },
  ]);
  const jobs = Array.from({ length: 5 }, () => ({ queue: 'limits' }));
  const { body } = await service.call('POST', '/jobs/batch', { jobs });
  const ids = body.jobs.map((job: { id: string }) => job.id);
  await until(() => answers.length === 2);
  const last = await enqueue('limits');
  await all;
  expect(answers).toEqual([
    { claim: 0, jobs: ids.slice(0, 3) },
    { claim: 1, jobs: ids.slice(3) },
    { claim: 2, jobs: [last] },
  ]);
});

test('a claim that waits for several queues keeps its place in each wait line', async () => {
  const { answers, all } = await wait([
    { queues: ['x', 'y'] },
    { queues: ['y', 'z'] },
    { queues: ['z', 'x'], limit: 5 },
    { queues: ['y'] },
    { queues: ['x', 'y', 'z'] },
  ]);
  const ids: string[] = [];
  for (const [i, queue] of ['y', 'y', 'x', 'y', 'z'].entries()) {
    ids.push(await enqueue(queue));
    await until(() => answers.length > i);
  }
  await all;
  expect(answers).toEqual(ids.map((id, claim) => ({ claim, jobs: [id] })));
});

test('a claim that comes later does not overtake claims that wait', async () => {
  const { answers, all } = await wait([{ queues: ['late'] }]);
  const [id, jobs] = await Promise.all([enqueue('late'), service.engine.claim({ queues: ['late'] })]);
  await all;
  expect(answers).toEqual([{ claim: 0, jobs: [id] }]);
  expect(jobs).toEqual([]);
});

test('a claim over several queues fills up from later queues when earlier ones have too few jobs', async () => {
  const [b, a] = [await enqueue('names.b'), await enqueue('names.a')];
  const jobs = await service.engine.claim({ queues: ['names.a', 'names.b'], limit: 5 });
  expect(jobs.map((job) => job.id)).toEqual([a, b]);
});

test('a claim that comes at the moment when the last claim of its queue is answered is woken by a job', async () => {
  for (const exists of [true, false]) {
    const queue = `successor.${exists}`;
    if (exists) await service.call('PUT', `/queues/${queue}`, {});
    expect(await service.engine.claim({ queues: [queue] })).toEqual([]);
    const next = service.engine.claim({ queues: [queue], wait_seconds: 5 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const id = await enqueue(queue);
    expect((await next).map((job) => job.id)).toEqual([id]);
    expect(await service.engine.claim({ queues: [queue] })).toEqual([]);
  }
});
