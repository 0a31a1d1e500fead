import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
});
afterAll(() => service.stop());

const DAYS_366 = 366 * 86_400;

test('a queue that was never configured is configured like one after an empty PUT', async () => {
  const { config } = await at.configure(queue, {});
  const other = at.newQueue();
  await at.enqueue({ queue: other });
  expect((await at.ok('GET', `/queues/${other}`)).config).toEqual(config);
});

test('a field that is left out takes its default, in backoff too', async () => {
  const whole = {
    lease_seconds: 0.25,
    max_attempts: 7,
    backoff: { kind: 'linear', base_seconds: 0.5, max_seconds: 60, jitter: 0 },
    retention_seconds: 60,
    dead_retention_seconds: 90,
    alert_after_seconds: 1.5,
    group_concurrency: 5,
    group_batches: 2,
  };
  expect((await at.configure(queue, whole)).config).toEqual(whole);
  expect((await at.configure(queue, { max_attempts: 3, backoff: { kind: 'constant' } })).config).toEqual({
    lease_seconds: 30,
    max_attempts: 3,
    backoff: { kind: 'constant', base_seconds: 1, max_seconds: 3600, jitter: 0.2 },
    retention_seconds: 0,
    dead_retention_seconds: 1_209_600,
    alert_after_seconds: 300,
    group_concurrency: 1,
    group_batches: 1,
  });
  expect((await at.ok('GET', `/queues/${queue}`)).config.max_attempts).toBe(3);
});

test('a PUT keeps the jobs of the queue, its age and its pause', async () => {
  await at.enqueue({ queue });
  const { created_at } = await at.ok('POST', `/queues/${queue}/pause`);
  expect(await at.configure(queue, { lease_seconds: 1 })).toMatchObject({
    created_at,
    paused: true,
    counts: { ready: 1 },
  });
});

test('values at their limits are accepted, and values beyond them are refused', async () => {
  for (const config of [
    { lease_seconds: 0.1 },
    { lease_seconds: 43_200 },
    { max_attempts: 1 },
    { max_attempts: 1000 },
    { retention_seconds: DAYS_366, dead_retention_seconds: 0 },
    { alert_after_seconds: 1 },
    { alert_after_seconds: DAYS_366 },
    { backoff: { base_seconds: 0, max_seconds: DAYS_366, jitter: 1 } },
  ])
    expect((await at.configure(queue, config)).config).toMatchObject(config);
  for (const [config, field] of [
    [{ lease_seconds: 0.09 }, '/lease_seconds'],
    [{ lease_seconds: 43_201 }, '/lease_seconds'],
    [{ lease_seconds: '30' }, '/lease_seconds'],
    [{ lease_seconds: null }, '/lease_seconds'],
    [{ max_attempts: 0 }, '/max_attempts'],
    [{ max_attempts: 1001 }, '/max_attempts'],
    [{ max_attempts: 2.5 }, '/max_attempts'],
    [{ retention_seconds: -1 }, '/retention_seconds'],
    [{ retention_seconds: DAYS_366 + 1 }, '/retention_seconds'],
    [{ dead_retention_seconds: DAYS_366 + 1 }, '/dead_retention_seconds'],
    [{ alert_after_seconds: 0.9 }, '/alert_after_seconds'],
    [{ alert_after_seconds: DAYS_366 + 1 }, '/alert_after_seconds'],
    [{ alert_after_seconds: null }, '/alert_after_seconds'],
    [{ alert_after_seconds: '300' }, '/alert_after_seconds'],
    [{ backoff: null }, '/backoff'],
    [{ backoff: { kind: 'none' } }, '/backoff/kind'],
    [{ backoff: { base: 1 } }, '/backoff/base'],
    [{ backoff: { jitter: -0.1 } }, '/backoff/jitter'],
    [{ paused: true }, '/paused'],
    [[], ''],
  ] as const)
    expectProblem(await service.call('PUT', `/queues/${queue}`, config), 400, 'invalid_request', field);
  expectProblem(await service.call('PUT', `/queues/${queue}`), 400, 'invalid_request', '');
});

test('later claims and enqueues get the lease_seconds and max_attempts of the new configuration', async () => {
  const before = await at.enqueue({ queue });
  await at.configure(queue, { lease_seconds: 4000, max_attempts: 9 });
  const after = await at.enqueue({ queue });
  expect([before.max_attempts, after.max_attempts]).toEqual([5, 9]);
  const job = await at.claimOne(queue);
  const lease = (Date.parse(job.lease_expires_at) - Date.parse(after.run_at)) / 1000;
  expect(lease).toBeGreaterThan(3900);
});

test('a later nack uses the new backoff', async () => {
  await at.enqueue({ queue });
  const job = await at.claimOne(queue);
  await at.configure(queue, {
    backoff: { kind: 'constant', base_seconds: 5000, max_seconds: 5000, jitter: 0 },
  });
  const { body } = await at.settle('nack', job);
  expect(body.state).toBe('scheduled');
  expect((Date.parse(body.run_at) - Date.parse(job.run_at)) / 1000).toBeGreaterThanOrEqual(5000);
});

test('another replica sees a change within a second', async () => {
  const other = await startService({ databaseUrl: service.databaseUrl });
  const enqueue = async () => (await other.call('POST', '/jobs', { queue })).body.max_attempts;
  expect(await enqueue()).toBe(5);
  await at.configure(queue, { max_attempts: 3 });
  const changed = performance.now();
  await eventually(async () => expect(await enqueue()).toBe(3));
  // One second is promised. The rest is for a busy machine.
  expect(performance.now() - changed).toBeLessThan(4000);
  await other.stop();
});

test('dead jobs are kept for the dead_retention_seconds of the queue', async () => {
  await at.enqueueAll([{ queue }, { queue }]);
  const [one, two] = await at.claim(queue, { limit: 2 });
  await at.settle('nack', one, { retry: false });
  expect((await at.get(one.id)).state).toBe('dead');
  await at.configure(queue, { dead_retention_seconds: 0 });
  await at.settle('nack', two, { retry: false });
  for (const { id } of [one, two])
    await eventually(async () =>
      expectProblem(await service.call('GET', `/jobs/${id}`), 404, 'job_not_found'),
    );
});

test('configuring and pausing an existing queue uses up no queue ids', async () => {
  const last = async () => {
    const lastId = 'select last_value::integer as id from dibs.queue_ids';
    return (await onAll<{ id: number }>(service.databaseUrl, lastId))[0]?.id;
  };
  await at.configure(queue, {});
  const before = await last();
  for (let i = 0; i < 5; i++) {
    await at.configure(queue, { max_attempts: 5 + i });
    await at.ok('POST', `/queues/${queue}/pause`);
  }
  expect(await last()).toBe(before);
  expect(await at.ok('GET', `/queues/${queue}`)).toMatchObject({ paused: true, config: { max_attempts: 9 } });
});

test('requests that create a queue at the same time create one', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      if (i % 3 === 0) return (await service.call('POST', '/jobs', { queue })).status;
      if (i % 3 === 1) return (await service.call('PUT', `/queues/${queue}`, { max_attempts: 7 })).status;
      return (await service.call('POST', `/queues/${queue}/pause`)).status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200, 201]));
  expect(await at.ok('GET', `/queues/${queue}`)).toMatchObject({ paused: true, config: { max_attempts: 7 } });
  const { queues } = await at.ok('GET', '/queues?limit=1000');
  expect(queues.filter((q: { name: string }) => q.name === queue)).toHaveLength(1);
});
