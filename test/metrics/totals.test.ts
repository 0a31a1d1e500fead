import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scrape, scrapeUntil, totalsOf } from '../support/metrics.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let queues = 0;
const newQueue = () => `q${++queues}`;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** What has happened in the queue, after these totals are reached. They must stay so for more than a second. */
async function expectTotals(queue: string, expected: Record<string, number>): Promise<void> {
  const same = (read: Awaited<ReturnType<typeof scrape>>) =>
    JSON.stringify(totalsOf(read, queue)) === JSON.stringify(expected);
  await scrapeUntil(service, `the totals ${JSON.stringify(expected)}`, same).catch(async () =>
    expect(totalsOf(await scrape(service), queue)).toEqual(expected),
  );
}

// Each has queues of its own, and waits for samples.
describe.concurrent('each total moves by its cause, and by nothing else', () => {
  test('enqueued: by single jobs, batches and requests with an Idempotency-Key, once each', async () => {
    const { enqueue, enqueueAll, ok } = moves(service);
    const queue = newQueue();
    await enqueue({ queue });
    await enqueueAll([{ queue }, { queue }]);
    for (let i = 0; i < 2; i++) await ok('POST', '/jobs', { queue }, { 'idempotency-key': 'once' });
    await expectTotals(queue, { enqueued: 4 });
  });

  test('enqueued: by a batch for several queues, each by its own jobs', async () => {
    const { enqueueAll } = moves(service);
    const [a, b] = [newQueue(), newQueue()];
    await enqueueAll([{ queue: a }, { queue: b }, { queue: a }]);
    await expectTotals(a, { enqueued: 2 });
    await expectTotals(b, { enqueued: 1 });
  });

  test('deduplicated: by an enqueue with a unique_key that is taken', async () => {
    const { enqueue } = moves(service);
    const queue = newQueue();
    for (let i = 0; i < 3; i++) await enqueue({ queue, unique_key: 'k' });
    await expectTotals(queue, { enqueued: 1, deduplicated: 2 });
  });

  test('claimed and acked, and follow-ups as enqueued', async () => {
    const { enqueue, claimOne, settle } = moves(service);
    const [queue, next] = [newQueue(), newQueue()];
    await enqueue({ queue });
    await enqueue({ queue });
    await settle('ack', await claimOne(queue));
    await settle('ack', await claimOne(queue), { enqueue: [{ queue: next }] });
    await expectTotals(queue, { enqueued: 2, claimed: 2, acked: 2 });
    await expectTotals(next, { enqueued: 1 });
  });

  test('an ack that is repeated counts once', async () => {
    const { configure, enqueue, claimOne, settle } = moves(service);
    const queue = newQueue();
    await configure(queue, { retention_seconds: 60 });
    await enqueue({ queue });
    const job = await claimOne(queue);
    for (let i = 0; i < 3; i++) await settle('ack', job);
    await expectTotals(queue, { enqueued: 1, claimed: 1, acked: 1 });
  });

  test('a stale lease counts as a refusal, and as nothing else', async () => {
    const { enqueue, claimOne, settle, ok } = moves(service);
    const queue = newQueue();
    await enqueue({ queue });
    const job = await claimOne(queue);
    const before = await scrape(service);
    const stale = { ...job, lease_token: '0' };
    expect((await settle('ack', stale)).status).toBe(409);
    await ok('POST', '/jobs/settle', { nacks: [{ id: job.id, lease_token: '0' }] });
    const after = await scrape(service);
    const refused = (read: typeof after) => read.value('dibs_refusals_total', { code: 'lease_lost' }) ?? 0;
    expect(refused(after) - refused(before)).toBe(2);
    await expectTotals(queue, { enqueued: 1, claimed: 1 });
  });

  test('nacked, and dead by the last attempt only', async () => {
    const { enqueue, claimOne, settle } = moves(service);
    const queue = newQueue();
    await enqueue({ queue, max_attempts: 2 });
    await settle('nack', await claimOne(queue), { delay_seconds: 0 });
    await expectTotals(queue, { enqueued: 1, claimed: 1, nacked: 1 });
    await settle('nack', await claimOne(queue));
    await expectTotals(queue, { enqueued: 1, claimed: 2, nacked: 2, dead: 1 });
  });

  test('dead once, by a nack with follow-ups too', async () => {
    const { enqueue, claimOne, settle } = moves(service);
    const [queue, next] = [newQueue(), newQueue()];
    await enqueue({ queue });
    await settle('nack', await claimOne(queue), { retry: false, enqueue: [{ queue: next }] });
    await expectTotals(queue, { enqueued: 1, claimed: 1, nacked: 1, dead: 1 });
  });

  test('released', async () => {
    const { enqueue, claimOne, settle } = moves(service);
    const queue = newQueue();
    await enqueue({ queue });
    await settle('release', await claimOne(queue));
    await expectTotals(queue, { enqueued: 1, claimed: 1, released: 1 });
  });

  test('rescued by a lease that runs out, and dead if it was the last', async () => {
    const { enqueue, claimOne } = moves(service);
    const queue = newQueue();
    await enqueue({ queue, max_attempts: 1 });
    await claimOne(queue, { lease_seconds: 0.1 });
    await expectTotals(queue, { enqueued: 1, claimed: 1, rescued: 1, dead: 1 });
  });

  test('expired, which is dead too', async () => {
    const { enqueue } = moves(service);
    const queue = newQueue();
    await enqueue({ queue, expires_in_seconds: 0.1 });
    await expectTotals(queue, { enqueued: 1, expired: 1, dead: 1 });
  });
});

test('the times of jobs are counted from ready to claimed, and from claimed to settled', async () => {
  const { enqueue, claimOne, settle } = moves(service);
  const queue = newQueue();
  await enqueue({ queue });
  await scrapeUntil(service, 'the row of the queue', (read) => totalsOf(read, queue).enqueued === 1);
  const job = await claimOne(queue);
  await settle('ack', job);
  const read = await scrape(service);
  for (const name of ['dibs_job_wait_seconds', 'dibs_job_work_seconds']) {
    expect(read.value(`${name}_count`, { queue })).toBe(1);
    expect(read.value(`${name}_bucket`, { queue, le: '+Inf' })).toBe(1);
    expect(read.value(`${name}_sum`, { queue })).toBeGreaterThan(0);
  }
});

test('jobs by state, the age of the oldest, the limit and the pause of a queue', async () => {
  const { configure, enqueue, enqueueAll, claimOne, ok } = moves(service);
  const queue = newQueue();
  await configure(queue, { max_ready: 7 });
  await enqueueAll([{ queue }, { queue }, { queue, delay_seconds: 600 }]);
  await claimOne(queue);
  await enqueue({ queue, group: 'g' });
  await enqueue({ queue, group: 'g' });
  await ok('POST', `/queues/${queue}/pause`);
  const read = await scrapeUntil(
    service,
    'the pause, and the last job',
    (read) =>
      read.value('dibs_queue_paused', { queue }) === 1 &&
      read.value('dibs_queue_jobs', { queue, state: 'blocked' }) === 1,
  );
  const jobs = Object.fromEntries(
    ['scheduled', 'ready', 'blocked', 'leased', 'completed', 'cancelled', 'dead'].map((state) => [
      state,
      read.value('dibs_queue_jobs', { queue, state }),
    ]),
  );
  expect(jobs).toEqual({
    scheduled: 1,
    ready: 2,
    blocked: 1,
    leased: 1,
    completed: 0,
    cancelled: 0,
    dead: 0,
  });
  expect(read.value('dibs_queue_max_ready_jobs', { queue })).toBe(7);
  expect(read.value('dibs_queue_oldest_ready_age_seconds', { queue })).toBeGreaterThan(0);
  expect(read.value('dibs_queue_counted_age_seconds', { queue })).toBeLessThan(60);
});

test('dibs_queue_drain_seconds is there while the queue shrinks, and only then', async () => {
  const { enqueueAll, claim, ok } = moves(service);
  const [shrinking, growing] = [newQueue(), newQueue()];
  for (const queue of [shrinking, growing]) await enqueueAll(Array.from({ length: 100 }, () => ({ queue })));
  await scrapeUntil(service, 'both rows', (read) => totalsOf(read, growing).enqueued === 100);
  const value = (read: Awaited<ReturnType<typeof scrape>>, queue: string) =>
    read.value('dibs_queue_drain_seconds', { queue });
  let isNoted = false;
  const read = await until(
    async () => {
      const jobs = await claim(shrinking, { limit: 2 });
      await ok('POST', '/jobs/settle', {
        acks: jobs.map(({ id, lease_token }) => ({ id, lease_token })),
      });
      await enqueueAll([{ queue: growing }]);
      const now = await scrape(service);
      isNoted = value(now, shrinking) !== undefined;
      return isNoted ? now : undefined;
    },
    { everyMs: 500, what: 'the time until the queue is empty' },
  );
  expect(value(read, shrinking)).toBeGreaterThan(0);
  expect(value(read, growing)).toBeUndefined();
});

test('a queue that is deleted leaves its totals in the sum', async () => {
  const { enqueue, ok } = moves(service);
  const queue = newQueue();
  await enqueue({ queue });
  const before = await scrapeUntil(service, 'the job', (read) => totalsOf(read, queue).enqueued === 1);
  await ok('DELETE', `/queues/${queue}?force=true`);
  const sums: number[] = [];
  await scrapeUntil(service, 'the end of the row', (read) => {
    sums.push(read.sum('dibs_jobs_enqueued_total'));
    return read.value('dibs_jobs_enqueued_total', { queue }) === undefined;
  });
  await scrapeUntil(service, 'its totals among those of the queues that are gone', (read) => {
    sums.push(read.sum('dibs_jobs_enqueued_total'));
    return read.value('dibs_jobs_enqueued_total', { queue: '(gone)' }) === 1 && sums.length > 8;
  });
  expect(sums).toEqual(sums.map(() => before.sum('dibs_jobs_enqueued_total')));
});
