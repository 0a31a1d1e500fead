import { afterAll, beforeAll, expect, test } from 'vitest';
import { Refusal } from '../../src/errors.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const enqueue = (queue: string, jobs: object[]) =>
  service.call('POST', '/jobs/batch', { jobs: jobs.map((job) => ({ queue, ...job })) });
const claim = async (queue: string, limit: number, wait_seconds = 0) =>
  (await service.call('POST', '/jobs/claim', { queues: [queue], limit, wait_seconds })).body.jobs;
const countsOf = async (queue: string) => (await service.call('GET', `/queues/${queue}`)).body.counts;

// Runs every verb, on each PostgreSQL version that Dibs supports. The promises in detail have tests of their own.
test('every verb works on this PostgreSQL', async () => {
  await service.call('PUT', '/queues/all', { retention_seconds: 3600 });
  await enqueue('all', [
    { payload: 1.5, priority: 1 },
    { payload: 'two', priority: 2 },
    { payload: null, max_attempts: 1 },
    { payload: [], delay_seconds: 0.2 },
    { payload: {}, delay_seconds: 3600 },
  ]);
  const [two, one, none] = await claim('all', 3);
  expect([two.payload, one.payload, none.payload]).toEqual(['two', 1.5, null]);

  const lease = ({ id, lease_token }: { id: string; lease_token: string }) => ({ id, lease_token });
  const settled = await service.call('POST', '/jobs/settle', {
    acks: [{ ...lease(two), result: { sum: 2 } }],
    nacks: [{ ...lease(none), error: 'broken' }],
    releases: [{ ...lease(one), delay_seconds: 3600 }],
  });
  const outcome = [...settled.body.acks, ...settled.body.nacks, ...settled.body.releases];
  expect(outcome.map(({ status, state }) => [status, state])).toEqual([
    [200, 'completed'],
    [200, 'dead'],
    [200, 'scheduled'],
  ]);

  const [delayed] = await claim('all', 1, 20);
  expect(delayed.payload).toEqual([]);
  const extended = await service.call('POST', `/jobs/${delayed.id}/extend`, {
    lease_token: delayed.lease_token,
    lease_seconds: 0.1,
    progress: 50,
  });
  expect(extended.status).toBe(200);
  const [rescued] = await claim('all', 1, 20);
  expect(rescued).toMatchObject({ id: delayed.id, attempt: 2, last_error: 'lease expired', progress: 50 });

  expect((await service.call('POST', `/jobs/${one.id}/retry`)).body.state).toBe('ready');
  expect((await service.call('POST', '/queues/all/redrive', { error_contains: 'brok' })).body.count).toBe(1);
  expect((await service.call('DELETE', `/jobs/${none.id}`)).body.state).toBe('cancelled');
  expect((await service.call('GET', '/jobs?queue=all&state=completed&order=oldest')).body.jobs).toMatchObject(
    [{ id: two.id, result: { sum: 2 } }],
  );
  expect((await service.call('GET', '/jobs?queue=all&limit=2')).body.jobs).toHaveLength(2);
  expect(await countsOf('all')).toMatchObject({
    ready: 1,
    scheduled: 1,
    leased: 1,
    completed: 1,
    cancelled: 1,
  });
  const states = ['ready', 'scheduled', 'completed', 'cancelled'];
  expect((await service.call('POST', '/queues/all/purge', { states })).body.count).toBe(4);
  expect((await service.call('DELETE', '/queues/all')).status).toBe(409);
  expect((await service.call('DELETE', '/queues/all?force=true')).status).toBe(204);
  // A Refusal is no bug: a busy machine may connect too late. An error of the server is one.
  expect(service.errors.filter((error) => !(error instanceof Refusal))).toEqual([]);
});

test('dead jobs are redriven in the order in which they died', async () => {
  await enqueue(
    'order',
    Array.from({ length: 30 }, (_, i) => ({ payload: i })),
  );
  const jobs = await claim('order', 30);
  const died = [...jobs].sort((a, b) => ((a.payload * 7) % 30) - ((b.payload * 7) % 30));
  for (const { id, lease_token } of died)
    await service.call('POST', `/jobs/${id}/nack`, { lease_token, retry: false });
  expect((await service.call('POST', '/queues/order/redrive', {})).body.count).toBe(30);
  const again = await claim('order', 30);
  expect(again.map((job: { id: string }) => job.id)).toEqual(died.map((job) => job.id));
});
