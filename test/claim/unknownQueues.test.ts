import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CountedEngine, countedEngine } from '../support/counting.ts';
import { onServer } from '../support/database.ts';

const CLAIMS = 200;
const EACH = 16;

let counted: CountedEngine;
beforeAll(async () => {
  counted = await countedEngine();
});
afterAll(() => counted.stop());

test('3,200 queues that do not exist cost claims that wait for them few statements, and all of them wake', async () => {
  const before = counted.count();
  const claims = Array.from({ length: CLAIMS }, (_, i) =>
    counted.engine.claim({
      queues: Array.from({ length: EACH }, (_, q) => `unknown-${i}-${q}`),
      wait_seconds: 60,
    }),
  );
  await sleep(1000);
  // Every claim has looked at each of its queues. A statement for each of them would be 3,200.
  expect(counted.count() - before).toBeLessThan((CLAIMS * EACH) / 2);

  const at = performance.now();
  const waited = counted.count();
  await sleep(3000);
  const perSecond = (counted.count() - waited) / ((performance.now() - at) / 1000);
  // 50 moments, and the duties. A statement for each queue would be 3,200 a second.
  expect(perSecond).toBeLessThan(300);

  // A queue that comes without a notification, and one that this replica creates.
  const one = onServer(
    counted.databaseUrl,
    `with queue as (insert into dibs.queues (name) values ('unknown-7-15') returning id)
    insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
    select id, gen_random_uuid(), 'ready', now(), 5, 1, 0, '{}', '1' from queue`,
  );
  const other = counted.engine.enqueue({
    jobs: [{ queue: 'unknown-8-0', payload: '2' } as never],
    at: () => '',
  });
  expect(await claims[7]).toMatchObject([{ queue: 'unknown-7-15' }]);
  expect(await claims[8]).toMatchObject([{ queue: 'unknown-8-0' }]);
  await Promise.all([one, other]);
  counted.engine.stopWaiting();
  expect((await Promise.all(claims)).flat()).toHaveLength(2);
});
