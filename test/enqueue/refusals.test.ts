import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

/*
 * A refused enqueue leaves nothing behind, and no queue either.
 */

let service: Service;
let at: ReturnType<typeof moves>;
let full: string;
let fresh: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(async () => {
  [full, fresh] = [at.newQueue('full'), at.newQueue('fresh')];
  await at.configure(full, { max_ready: 1 });
  await at.enqueue({ queue: full });
});
afterAll(() => service.stop());

const expectNoQueue = async () =>
  expectProblem(await service.call('GET', `/queues/${fresh}`), 404, 'queue_not_found');

/** Jobs for a queue that is full and for one that does not exist, in both orders. */
const mixed = () => [
  [{ queue: fresh }, { queue: full }],
  [{ queue: full }, { queue: fresh, fairness_key: 'k' }],
  [
    { queue: fresh, unique_key: 'k' },
    { queue: full, unique_key: 'k' },
  ],
];

test.each<Record<string, string>>([{}, { 'idempotency-key': 'k' }])(
  'a batch that one full queue refuses creates no other queue',
  async (headers) => {
    for (const jobs of mixed()) {
      expectProblem(await service.call('POST', '/jobs/batch', { jobs }, headers), 429, 'queue_full');
      await expectNoQueue();
    }
  },
);

test('an ack or a nack that a full queue refuses creates no queue, and changes nothing', async () => {
  const queue = at.newQueue();
  for (const verb of ['ack', 'nack'] as const)
    for (const enqueue of mixed()) {
      await at.enqueue({ queue, max_attempts: 1 });
      const job = await at.claimOne(queue);
      expectProblem(await at.settle(verb, job, { enqueue }), 429, 'queue_full');
      await expectNoQueue();
      expect((await at.get(job.id)).state).toBe('leased');
    }
});

test('a nack that inserts no follow-ups, and one that does not count, create no queue', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const job = await at.claimOne(queue);
  const enqueue = [{ queue: fresh }];
  const nacked = await at.settle('nack', job, { enqueue, delay_seconds: 0 });
  expect(nacked.body).toMatchObject({ state: 'ready', enqueued: [] });
  await expectNoQueue();
  for (const verb of ['ack', 'nack'] as const)
    expectProblem(await at.settle(verb, job, { enqueue }), 409, 'lease_lost');
  await expectNoQueue();
});

test('an Idempotency-Key of another request creates no queue', async () => {
  const headers = { 'idempotency-key': full };
  const first = at.newQueue();
  expect((await service.call('POST', '/jobs', { queue: first }, headers)).status).toBe(201);
  const answers = await Promise.all(
    [1, 2].map(() => service.call('POST', '/jobs', { queue: fresh }, headers)),
  );
  for (const answer of answers) expectProblem(answer, 422, 'idempotency_key_reused');
  await expectNoQueue();
});

test('jobs that are taken create all of their queues', async () => {
  const other = at.newQueue();
  const jobs = [{ queue: fresh }, { queue: other, fairness_key: 'k' }, { queue: fresh, unique_key: 'k' }];
  const inserted = await at.enqueueAll(jobs);
  expect(inserted.map((job) => job.queue)).toEqual([fresh, other, fresh]);
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const follow = at.newQueue();
  const acked = await at.settle('ack', await at.claimOne(queue), {
    enqueue: [{ queue: follow }, { queue: fresh }],
  });
  expect(acked.body.enqueued.map((job: { queue: string }) => job.queue)).toEqual([follow, fresh]);
  expect(await at.claim([other, follow], { limit: 10 })).toHaveLength(2);
});
