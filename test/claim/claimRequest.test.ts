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

const claim = (body?: unknown) => service.call('POST', '/jobs/claim', body);
const names = (count: number) => Array.from({ length: count }, (_, i) => `q${i}`);

test('a claim without fields asks for one job of the queue "default", and does not wait', async () => {
  await at.enqueueAll([{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
  for (const [payload, body] of [
    [1, {}],
    [2, undefined],
    [3, ''],
  ] as const) {
    const { jobs } = (await claim(body)).body;
    expect(jobs.map((job: { payload: unknown }) => job.payload)).toEqual([payload]);
    expect(jobs[0].worker).toBe(null);
  }
  expect((await claim({})).body).toEqual({ jobs: [] });
});

test('each field has a least and a largest value', async () => {
  for (const body of [
    { limit: 1000 },
    { lease_seconds: 0.1 },
    { lease_seconds: 43_200 },
    { wait_seconds: 0.001 },
    { queues: names(16) },
    { queues: ['a', 'a'] },
    { worker: '😀'.repeat(256) },
    { worker: 'w' },
  ])
    expect((await claim(body)).body, JSON.stringify(body)).toEqual({ jobs: [] });
  for (const [body, field] of [
    [{ limit: 0 }, '/limit'],
    [{ limit: 1001 }, '/limit'],
    [{ limit: 1.5 }, '/limit'],
    [{ lease_seconds: 0.0999 }, '/lease_seconds'],
    [{ lease_seconds: 43_200.1 }, '/lease_seconds'],
    [{ wait_seconds: -1 }, '/wait_seconds'],
    [{ wait_seconds: 60.1 }, '/wait_seconds'],
    [{ queues: [] }, '/queues'],
    [{ queues: names(17) }, '/queues'],
    [{ queues: ['a', 'a b'] }, '/queues/1'],
    [{ worker: '' }, '/worker'],
    [{ worker: 'w'.repeat(257) }, '/worker'],
    [{ worker: 'a\u0000' }, '/worker'],
  ] as const)
    expectProblem(await claim(body), 400, 'invalid_request', field);
});

test('unknown fields, other types and null are refused', async () => {
  for (const [body, field] of [
    [{ queue: 'default' }, '/queue'],
    [{ queues: 'default' }, '/queues'],
    [{ queues: [1] }, '/queues/0'],
    [{ limit: '1' }, '/limit'],
    [{ lease_seconds: true }, '/lease_seconds'],
    [{ wait_seconds: null }, '/wait_seconds'],
    [{ worker: 7 }, '/worker'],
    [{ worker: null }, '/worker'],
    [[], ''],
  ] as const)
    expectProblem(await claim(body), 400, 'invalid_request', field);
});

test('half of a surrogate pair in a name is refused, never changed: two claim_ids would become one', async () => {
  await at.enqueue({ queue: 'halves' });
  for (const half of ['\ud83d', '\ude00', 'a\ud83db', '\ude00\ud83d'])
    for (const field of ['claim_id', 'worker'])
      expectProblem(await claim({ queues: ['halves'], [field]: half }), 400, 'invalid_request', `/${field}`);
  const [job] = (await claim({ queues: ['halves'], claim_id: '😀', worker: '😀' })).body.jobs;
  expect(job.worker).toBe('😀');
});

test('a claim gets jobs up to its limit', async () => {
  await at.enqueueAll(Array(1000).fill({ queue: 'many' }));
  expect(await at.claim('many', { limit: 7 })).toHaveLength(7);
  expect(await at.claim('many', { limit: 1000 })).toHaveLength(993);
  expect(await at.claim('many', { limit: 1000 })).toHaveLength(0);
});

test('a claim over several queues takes from all of them until its limit is reached', async () => {
  await at.enqueueAll(['one', 'two', 'two', 'three'].map((queue) => ({ queue })));
  const jobs = await at.claim(['one', 'two', 'three'], { limit: 3 });
  expect(jobs.map((job) => job.queue)).toEqual(['one', 'two', 'two']);
});
