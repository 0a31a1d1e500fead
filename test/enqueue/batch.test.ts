import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const batch = (jobs: unknown) => service.call('POST', '/jobs/batch', { jobs });
const range = (count: number) => Array.from({ length: count }, (_, i) => i);

test('a batch is answered with its jobs in the order in which they were sent', async () => {
  const queue = at.newQueue();
  const answer = await batch(range(1000).map((i) => ({ queue, payload: i, priority: (i % 201) - 100 })));
  expect(answer.status).toBe(201);
  expect(answer.body.jobs.map((job: { priority: number }) => job.priority)).toEqual(
    range(1000).map((i) => (i % 201) - 100),
  );
  expect(answer.body.jobs[0]).not.toHaveProperty('payload');
  for (const i of [0, 1, 500, 999]) expect((await at.get(answer.body.jobs[i].id)).payload).toBe(i);
});

test('each job of a batch is ready, or scheduled for its own run_at', async () => {
  const queue = at.newQueue();
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const later = new Date(Date.now() + 7_200_000).toISOString();
  const jobs = await at.enqueueAll([
    { queue },
    { queue, run_at: later },
    { queue, delay_seconds: 0 },
    { queue, run_at: soon },
    { queue, run_at: '2020-01-01T00:00:00Z' },
  ]);
  expect(jobs.map((job) => job.state)).toEqual(['ready', 'scheduled', 'ready', 'scheduled', 'ready']);
  expect([jobs[1].run_at, jobs[3].run_at]).toEqual([later, soon]);
  for (const { payload, ...shown } of await Promise.all(jobs.map((job) => at.get(job.id))))
    expect(jobs).toContainEqual(shown);
});

test('ids ascend in the order of the batch', async () => {
  const jobs = await at.enqueueAll(range(1000).map(() => ({ queue: 'ids' })));
  const ids = jobs.map((job) => job.id);
  expect(ids).toEqual([...new Set(ids)].sort());
});

test('a batch may go into several queues, and each queue keeps its order', async () => {
  const queues = [at.newQueue(), at.newQueue(), at.newQueue()];
  const jobs = await at.enqueueAll(range(30).map((i) => ({ queue: queues[(i * 7) % 3], payload: i })));
  expect(jobs.map((job) => job.queue)).toEqual(range(30).map((i) => queues[(i * 7) % 3]));
  for (const [k, queue] of queues.entries())
    expect(await at.drain(queue)).toEqual(range(30).filter((i) => (i * 7) % 3 === k));
});

test('one batch may create hundreds of queues', async () => {
  const jobs = await at.enqueueAll(range(300).map((i) => ({ queue: `many.${i}`, payload: i })));
  expect(jobs.map((job) => job.queue)).toEqual(range(300).map((i) => `many.${i}`));
});

test('one malformed job refuses the whole batch, and the refusal names its field', async () => {
  const queue = at.newQueue();
  const good = { queue, payload: 1 };
  for (const [bad, field] of [
    [{ priority: 101 }, '/jobs/3/priority'],
    [{ priority: null }, '/jobs/3/priority'],
    [{ queue: 'a b' }, '/jobs/3/queue'],
    [{ nonsense: 1 }, '/jobs/3/nonsense'],
    [{ backoff: { jitter: 2 } }, '/jobs/3/backoff/jitter'],
    [{ headers: { a: 1 } }, '/jobs/3/headers/a'],
    [{ delay_seconds: 1, run_at: '2026-01-01T00:00:00Z' }, '/jobs/3/run_at'],
    [{ run_at: '2026-01-01T00:00:00' }, '/jobs/3/run_at'],
    [7, '/jobs/3'],
    [null, '/jobs/3'],
    [[], '/jobs/3'],
  ] as const)
    expectProblem(await batch([good, good, good, bad, good]), 400, 'invalid_request', field);
  expectProblem(await service.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
});

test('a refused batch over several queues enqueues no job', async () => {
  const [one, two] = [at.newQueue(), at.newQueue()];
  await at.enqueueAll([{ queue: one }, { queue: two }]);
  await batch([{ queue: one }, { queue: two }, { queue: two, run_at: '9999-01-01T00:00:00Z' }]);
  for (const queue of [one, two]) expect(await at.claim(queue, { limit: 10 })).toHaveLength(1);
});

test('a batch has 1 to 1000 jobs, and no other field', async () => {
  for (const jobs of [[], range(1001).map(() => ({})), null, {}, 'jobs'])
    expectProblem(await batch(jobs), 400, 'invalid_request', '/jobs');
  const call = (body: unknown) => service.call('POST', '/jobs/batch', body);
  expectProblem(await call({}), 400, 'invalid_request', '/jobs');
  expectProblem(await call({ jobs: [{}], queue: 'q' }), 400, 'invalid_request', '/queue');
  expectProblem(await call([{}]), 400, 'invalid_request', '');
});

const bulk = (queue: string, count: number) => range(count).map(() => ({ queue, payload: 'bulk' }));

test.each<[string, (queue: string) => object[]]>([
  ['small', () => []],
  ['large', (queue) => bulk(queue, 200)],
  ['over two queues', () => [{ queue: at.queueBeside('b') }]],
  ['with a unique key', (queue) => [{ queue, payload: 'bulk', unique_key: 'k' }]],
  [
    'with a unique key that opens a window',
    (queue) => [{ queue, payload: 'bulk', unique_key: 'k', unique_for_seconds: 9 }],
  ],
])('jobs with and without a group keep the order of a batch: one that is %s', async (_, more) => {
  const queue = at.newQueue('b');
  await at.enqueueAll([
    { queue, payload: 0, group: 'a' },
    { queue, payload: 1 },
    { queue, payload: 2, group: 'a' },
    { queue, payload: 3, group: 'b' },
    { queue, payload: 4 },
    ...more(queue),
  ]);
  expect((await at.drain(queue)).slice(0, 4)).toEqual([0, 1, 3, 4]);
});

test('a job with a group and a unique key is begun before a job that comes after it', async () => {
  const queue = at.newQueue();
  await at.enqueueAll([
    { queue, payload: 0, group: 'a', unique_key: 'k' },
    { queue, payload: 1 },
  ]);
  const claimed = [await at.claimOne(queue), await at.claimOne(queue)];
  expect(claimed.map(({ payload }) => payload)).toEqual([0, 1]);
});

test('jobs with and without a group keep the order of a batch with an Idempotency-Key, and of follow-ups', async () => {
  const queue = at.newQueue();
  const jobs = [
    { queue, payload: 0, group: 'a' },
    { queue, payload: 1 },
  ];
  await at.ok('POST', '/jobs/batch', { jobs }, { 'idempotency-key': `"${queue}"` });
  expect(await at.drain(queue)).toEqual([0, 1]);
  const before = at.queueBeside(queue);
  await at.enqueue({ queue: before });
  const [b, c] = [
    { queue, payload: 2, group: 'b' },
    { queue, payload: 3 },
  ];
  await at.settle('ack', await at.claimOne(before), { enqueue: [b, c] });
  expect(await at.drain(queue)).toEqual([2, 3]);
});
