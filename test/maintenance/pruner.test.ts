import { afterAll, beforeAll, expect, test } from 'vitest';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

test('a queue with one job to prune does not wait for another queue that has 200,000', {
  timeout: 120_000,
}, async () => {
  // Its state comes first, and it has the lower id.
  await at.configure('crowd', { retention_seconds: 3600 });
  await at.configure('small', { dead_retention_seconds: 1 });
  await onAll(
    service.databaseUrl,
    `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, finished_at)
      select q.id, gen_random_uuid(), 'completed', now(), 5, 1, 0, '{}', '1', now() - interval '10 minutes' + n * interval '1 ms'
      from dibs.queues q, generate_series(1, 200000) n where q.name = 'crowd'`,
  );
  const left = async () => {
    const counts = await onAll<{ count: number }>(
      service.databaseUrl,
      `select count(*)::integer as count from dibs.jobs where state = 'completed'`,
    );
    return counts.reduce((sum, { count }) => sum + count, 0);
  };
  await at.configure('crowd', { retention_seconds: 60 });
  await until(async () => (await left()) < 200_000);
  const { id } = await at.enqueue({ queue: 'small' });
  await at.settle('nack', await at.claimOne('small'), { retry: false });
  let ended = false;
  // While claims are served, pruning gives way to them: the crowd lasts.
  const serving = (async () => {
    while (!ended) {
      await at.enqueue({ queue: 'served' });
      for (const lease of await at.claim('served')) await at.settle('ack', lease);
    }
  })();
  await until(async () => (await service.call('GET', `/jobs/${id}`)).status === 404, { withinMs: 60_000 });
  const rest = await left();
  ended = true;
  await serving;
  expect(rest).toBeGreaterThan(0);
});
