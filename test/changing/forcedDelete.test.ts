import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

/** Without a bound, a forced delete went on as long as the producers. */
const ENDS_MS = 15_000;

let services: Service[];
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  const first = await startService();
  services = [first, await startService({ databaseUrl: first.databaseUrl })];
  at = moves(first);
});
afterAll(async () => {
  for (const service of services.toReversed()) await service.stop();
});

test('a forced delete of a queue ends while producers on two replicas go on, and they are answered 201', async () => {
  const queue = at.newQueue();
  for (let i = 0; i < 5; i++) await at.enqueueAll(Array(1000).fill({ queue }));
  let going = true;
  let enqueued = 0;
  const producers = Array.from({ length: 16 }, async (_, i) => {
    while (going) {
      const jobs = Array(1 + (i % 8)).fill({ queue });
      const service = services[i % 2] as Service;
      const answer = await (i < 12
        ? service.call('POST', '/jobs/batch', { jobs })
        : service.call('POST', '/jobs', { queue }, { 'idempotency-key': `${i} ${enqueued}` }));
      if (answer.status !== 201) expectProblem(answer, 503, 'unavailable');
      enqueued++;
    }
  });
  for (let i = 0; i < 5; i++) {
    const started = performance.now();
    const answer = await (services[i % 2] as Service).call('DELETE', `/queues/${queue}?force=true`);
    const ms = performance.now() - started;
    if (answer.status !== 204) expectProblem(answer, 503, 'unavailable');
    expect(ms).toBeLessThan(ENDS_MS);
    const seen = enqueued;
    while (enqueued < seen + 20) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  going = false;
  await Promise.all(producers);
});
