import { afterAll, beforeAll, expect, test } from 'vitest';
import { EVENTS } from '../../src/verbs/counting.ts';
import { onServer } from '../support/database.ts';
import { scrape, scrapeUntil } from '../support/metrics.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ metricsQueues: 3 });
});
afterAll(() => service.stop());

test('METRICS_QUEUES queues have series of their own, and the others are (other), in totals, depths and times', async () => {
  const { enqueue, enqueueAll, claim } = moves(service);
  for (const queue of ['a', 'b', 'c']) await enqueue({ queue });
  await scrapeUntil(service, 'three rows', (read) => read.sum('dibs_jobs_enqueued_total') === 3);
  const others = Array.from({ length: 40 }, (_, i) => ({ queue: `late.${i}` }));
  await enqueueAll(others);
  await claim('late.0');
  const { configure } = moves(service);
  await configure('late.1', { alert_after_seconds: 1 });
  await configure('late.2', { alert_after_seconds: 1.5 });
  await service.call('POST', '/queues/late.1/pause');
  const read = await scrapeUntil(
    service,
    'the other queues',
    (read) =>
      read.value('dibs_jobs_enqueued_total', { queue: '(other)' }) === 40 &&
      read.value('dibs_queue_jobs', { queue: '(other)', state: 'leased' }) === 1 &&
      // Of all of them, the one that is nearest to its alert, and not paused.
      read.value('dibs_queue_alert_after_seconds', { queue: '(other)' }) === 1.5,
  );
  const queues = new Set([...read.series.keys()].flatMap((key) => /queue="([^"]*)"/.exec(key)?.[1] ?? []));
  expect([...queues].sort()).toEqual(['(gone)', '(other)', 'a', 'b', 'c']);
  expect(read.value('dibs_queue_jobs', { queue: '(other)', state: 'ready' })).toBe(39);
  expect(read.value('dibs_queue_oldest_ready_age_seconds', { queue: '(other)' })).toBeGreaterThan(0);
  expect(read.value('dibs_job_wait_seconds_count', { queue: '(other)' })).toBe(1);
  expect(read.sum('dibs_queue_jobs', { state: 'ready' })).toBe(42);
});

test('no queue can have the names of the shared series', async () => {
  for (const queue of ['(other)', '(gone)'])
    expect((await service.call('POST', '/jobs', { queue })).status).toBe(400);
});

test('a large queue is counted to the end, though it is not counted at each look', async () => {
  const { enqueueAll } = moves(service);
  for (let i = 0; i < 5; i++) await enqueueAll(Array.from({ length: 1000 }, () => ({ queue: 'a' })));
  await scrapeUntil(
    service,
    'all jobs of the large queue',
    (read) => read.value('dibs_queue_jobs', { queue: 'a', state: 'ready' }) === 5001,
  );
  const read = await scrape(service);
  expect(read.value('dibs_queue_counted_age_seconds', { queue: 'a' })).toBeGreaterThanOrEqual(0);
});

test('each event has its column, and no other', async () => {
  const rows = await onServer<{ column_name: string }>(
    service.databaseUrl,
    "select column_name from information_schema.columns where table_schema = 'dibs' and table_name = 'totals'",
  );
  expect(rows.map((row) => row.column_name).sort()).toEqual(['queue_id', ...EVENTS].sort());
});
