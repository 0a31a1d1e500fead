import { afterAll, beforeAll, expect, test } from 'vitest';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

test('higher priority goes first, then order of arrival', async () => {
  const queue = at.newQueue();
  for (const [payload, priority] of [0, 5, -100, 100, 5, 0, -100, 100].entries())
    await at.enqueue({ queue, payload, priority });
  expect(await at.drain(queue)).toEqual([3, 7, 1, 4, 0, 5, 2, 6]);
});

test('the jobs of a batch have the order of the batch', async () => {
  const queue = at.newQueue();
  const payloads = Array.from({ length: 500 }, (_, i) => i);
  await at.enqueueAll(payloads.slice(0, 250).map((payload) => ({ queue, payload })));
  await at.enqueueAll(payloads.slice(250).map((payload) => ({ queue, payload })));
  expect(await at.drain(queue)).toEqual(payloads);
});

test('a claim gets jobs in the order of the queue, and the next one goes on where it ended', async () => {
  const queue = at.newQueue();
  await at.enqueueAll([1, 2, 3, 4, 5].map((payload) => ({ queue, payload, priority: payload % 2 })));
  const payloads = async (limit: number) => (await at.claim(queue, { limit })).map((job) => job.payload);
  expect(await payloads(2)).toEqual([1, 3]);
  expect(await payloads(2)).toEqual([5, 2]);
  expect(await payloads(2)).toEqual([4]);
  expect(await payloads(2)).toEqual([]);
});

test('a job that comes back goes behind the jobs that waited', async () => {
  for (const verb of ['nack', 'release'] as const) {
    const queue = at.newQueue();
    await at.enqueueAll([1, 2].map((payload) => ({ queue, payload })));
    const first = await at.claimOne(queue);
    await at.enqueue({ queue, payload: 3 });
    await at.settle(verb, first, { delay_seconds: 0 });
    await at.enqueue({ queue, payload: 4 });
    expect(await at.drain(queue)).toEqual([2, 3, 1, 4]);
  }
});

test('a job whose lease ran out goes behind the jobs that waited', async () => {
  const queue = at.newQueue();
  await at.enqueueAll([1, 2].map((payload) => ({ queue, payload })));
  const first = await at.claimOne(queue, { lease_seconds: 0.1 });
  await at.reaches(first.id, 'ready');
  await at.enqueue({ queue, payload: 3 });
  expect(await at.drain(queue)).toEqual([2, 1, 3]);
});

test('the place of a delayed job is that of the moment when its delay ends', async () => {
  const queue = at.newQueue();
  const delayed = await at.enqueue({ queue, payload: 'delayed', delay_seconds: 0.3 });
  await at.enqueue({ queue, payload: 'before' });
  await at.reaches(delayed.id, 'ready');
  await at.enqueue({ queue, payload: 'after' });
  expect(await at.drain(queue)).toEqual(['before', 'delayed', 'after']);
});

test('jobs whose delays end at about the same time have the order of their run_at', async () => {
  const queue = at.newQueue();
  const inAWhile = Date.now() + 1000;
  const run_at = (ms: number) => new Date(inAWhile + ms).toISOString();
  const jobs = await at.enqueueAll(
    [30, 10, 20, 10].map((ms, i) => ({ queue, payload: `${ms}.${i}`, run_at: run_at(ms) })),
  );
  await Promise.all(jobs.map((job) => at.reaches(job.id, 'ready')));
  expect(await at.drain(queue)).toEqual(['10.1', '10.3', '20.2', '30.0']);
});

test('priority goes before order of arrival, also for a job that comes back', async () => {
  const queue = at.newQueue();
  await at.enqueueAll([
    { queue, payload: 'high', priority: 1 },
    { queue, payload: 'low' },
  ]);
  await at.settle('release', await at.claimOne(queue));
  expect(await at.drain(queue)).toEqual(['high', 'low']);
});

test('a retried and a redriven job go behind the jobs that waited', async () => {
  const queue = at.newQueue();
  const jobs = await at.enqueueAll([1, 2, 3, 4].map((payload) => ({ queue, payload })));
  for (const job of await at.claim(queue, { limit: 3 })) await at.settle('nack', job, { retry: false });
  await at.ok('POST', `/jobs/${jobs[1].id}/retry`);
  await at.enqueue({ queue, payload: 5 });
  await at.ok('POST', `/queues/${queue}/redrive`);
  expect(await at.drain(queue)).toEqual([4, 2, 5, 1, 3]);
});

test('a claim over several queues takes from the queues in its order, whatever the priorities are', async () => {
  const [one, two, three] = [at.newQueue(), at.newQueue(), at.newQueue()];
  await at.enqueueAll([
    { queue: three, payload: '3', priority: 100 },
    { queue: two, payload: '2a' },
    { queue: two, payload: '2b', priority: 1 },
    { queue: one, payload: '1', priority: -100 },
  ]);
  const payloads = async (queues: string[], limit: number) =>
    (await at.claim(queues, { limit })).map((job) => job.payload);
  expect(await payloads([one, two, three], 2)).toEqual(['1', '2b']);
  expect(await payloads([three, three, one, two], 10)).toEqual(['3', '2a']);
});
