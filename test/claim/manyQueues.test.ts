import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { onQueue } from '../support/severalDatabases.ts';

const QUEUES = 2400;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('while claims wait for 2,400 queues, enqueues into another queue do not wait for their looks', async () => {
  await onServer(
    service.databaseUrl,
    `insert into dibs.queues (name) select 'waited-' || n from generate_series(1, ${QUEUES}) n`,
  );
  let ended = false;
  // A slow machine may refuse some of them, as they all come within seconds.
  async function wait(queue: string): Promise<void> {
    while (!ended)
      await service.engine.claim({ queues: [queue], wait_seconds: 120 }).then(
        () => {
          ended = true;
        },
        () => sleep(100),
      );
  }
  const claims: Promise<void>[] = [];
  for (let i = 1; i <= QUEUES; i++) {
    claims.push(wait(`waited-${i}`));
    if (i % 25 === 0) await sleep(50);
  }
  await sleep(3000);
  const took: number[] = [];
  const until = performance.now() + 4000;
  while (performance.now() < until) {
    const started = performance.now();
    expect((await service.call('POST', '/jobs', { queue: 'other' })).status).toBe(201);
    took.push(performance.now() - started);
    await sleep(10);
  }
  took.sort((a, b) => a - b);
  // docs/reliability.md has what was measured. dispatcher.test.ts holds that few look at once.
  expect(took[Math.floor(took.length * 0.9)]).toBeLessThan(1000);
  // A lost notification still costs a second or two.
  await onQueue(service.databaseUrl, 'waited-2000', `select dibs.enqueue('waited-2000', '1')`);
  await claims[1999];
  service.engine.stopWaiting();
  await Promise.all(claims);
});
