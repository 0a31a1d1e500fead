import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClaimRequest } from '../../src/claim/claim.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const enqueue = async (queue: string): Promise<string> =>
  (await service.call('POST', '/jobs', { queue })).body.id;

/** Claims that came in this order; their answers are noted as they come. */
async function wait(requests: ClaimRequest[]) {
  const answers: { claim: number; jobs: string[] }[] = [];
  const looked = service.engine.claim({ queues: requests[0]?.queues }).jobs;
  const claims = requests.map(async (request, claim) => {
    const jobs = await service.engine.claim({ wait_seconds: 20, ...request }).jobs;
    answers.push({ claim, jobs: jobs.map((job) => job.id) });
  });
  await looked;
  return { answers, all: Promise.all(claims) };
}

test('waiters of a queue are served in the order in which they came', async () => {
  const { answers, all } = await wait(Array.from({ length: 20 }, () => ({ queues: ['plain'] })));
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) {
    ids.push(await enqueue('plain'));
    await until(() => answers.length > i);
  }
  await all;
  expect(answers).toEqual(ids.map((id, claim) => ({ claim, jobs: [id] })));
});

test('jobs that come together go to waiters in their order, too', async () => {
  const { answers, all } = await wait(Array.from({ length: 40 }, () => ({ queues: ['together'] })));
  const jobs = Array.from({ length: 40 }, () => ({ queue: 'together' }));
  const { body } = await service.call('POST', '/jobs/batch', { jobs });
  await all;
  const byClaim = answers.toSorted((a, b) => a.claim - b.claim).flatMap((answer) => answer.jobs);
  expect(byClaim).toEqual(body.jobs.map((job: { id: string }) => job.id));
});

test('the first waiter takes as many as its limit, and the next one what is left', async () => {
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

test('waiters of several queues keep their place in each of them', async () => {
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

test('a claim that comes later does not overtake those who wait', async () => {
  const { answers, all } = await wait([{ queues: ['late'] }]);
  const [id, jobs] = await Promise.all([enqueue('late'), service.engine.claim({ queues: ['late'] }).jobs]);
  await all;
  expect(answers).toEqual([{ claim: 0, jobs: [id] }]);
  expect(jobs).toEqual([]);
});

test('a claim over several queues fills up from later names what earlier ones lack', async () => {
  const [b, a] = [await enqueue('names.b'), await enqueue('names.a')];
  const jobs = await service.engine.claim({ queues: ['names.a', 'names.b'], limit: 5 }).jobs;
  expect(jobs.map((job) => job.id)).toEqual([a, b]);
});
