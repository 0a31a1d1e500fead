import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onServer, openClient } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onQueue } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

/** The replica dozes so soon. */
const AWAKE_MS = 500;
/** It does not doze so long after its start. */
const GRACE_SECONDS = 1;
/** Much less than the time between two runs of a duty that may be late. */
const SOON = { withinMs: 10_000 };

let service: Service;
beforeAll(async () => {
  service = await startService({ rescueGraceSeconds: GRACE_SECONDS, restTimes: { awakeMs: AWAKE_MS } });
});
afterAll(() => service.stop());

const untilItDozes = () => sleep(GRACE_SECONDS * 1000 + 6 * AWAKE_MS);

test('a batch whose cancellation a killed replica left is cancelled soon, though nothing happens any more', async () => {
  const jobs = [1, 2, 3].map((payload) => ({ queue: 'left', payload }));
  const { body: batch } = await service.call('POST', '/batches', { queue: 'left', jobs });
  await untilItDozes();
  await onQueue(service.databaseUrl, 'left', 'select dibs.cancel_batch($1)', [batch.id]);
  await until(async () => {
    const rows = await onQueue<{ state: string }>(
      service.databaseUrl,
      'left',
      'select state from dibs.jobs where batch_id = $1',
      [batch.id],
    );
    return rows.every(({ state }) => state === 'cancelled');
  }, SOON);
});

test('a follower that a transaction held up is enqueued soon after that, though nothing happens any more', async () => {
  const { body: batch } = await service.call('POST', '/batches', {
    queue: 'held',
    jobs: [{ queue: 'held' }],
    on_success: { queue: 'held', unique_key: 'k' },
    closed: true,
  });
  const { body } = await service.call('POST', '/jobs/claim', { queues: ['held'] });
  const url = await databaseOf(service.databaseUrl, 'held');
  const client = await openClient(url);
  await client.query('begin');
  await client.query(`select dibs.enqueue('held', unique_key => 'k')`);
  const [{ id, lease_token }] = body.jobs;
  await service.call('POST', `/jobs/${id}/ack`, { lease_token });
  await untilItDozes();
  await client.query('rollback');
  await client.end();
  await until(
    async () =>
      (await onServer(url, `select from dibs.jobs where headers ->> 'dibs-batch' = $1`, [batch.id]))
        .length === 1,
    SOON,
  );
  expect(service.errors).toEqual([]);
});
