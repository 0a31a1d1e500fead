import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/postgres/pool.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

/** 5 s are promised. The rest is for a busy machine. */
const ANSWERED_MS = 12_000;
/** One is in time. Calls of several would be answered too, but late. */
const SLOW_MS = 3000;

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

/** Lets the database answer late while `work` runs. */
async function onSlowDatabase<T>(work: () => Promise<T>): Promise<T> {
  const fast: Database = { ...service.db };
  const slow = async <R>(run: () => Promise<R>): Promise<R> => {
    await sleep(SLOW_MS);
    return run();
  };
  Object.assign(service.db, {
    query: (...of: Parameters<Database['query']>) => slow(() => fast.query(...of)),
    pipeline: (...of: Parameters<Database['pipeline']>) => slow(() => fast.pipeline(...of)),
    transaction: (...of: Parameters<Database['transaction']>) => slow(() => fast.transaction(...of)),
  });
  try {
    return await work();
  } finally {
    Object.assign(service.db, fast);
  }
}

type Call = [method: string, path: string, body?: unknown, headers?: Record<string, string>];

test('on a database that is slow, but answers, calls of several transactions are 503 within 5 s', async () => {
  const queue = at.newQueue();
  const other = at.newQueue();
  for (const name of [queue, other]) await at.configure(name, {});
  const scheduled = await at.enqueue({ queue, delay_seconds: 600 });
  await at.enqueueAll([{ queue }, { queue }]);
  const [acked, nacked] = await at.claim(queue, { limit: 2 });
  const enqueue = [{ queue: other }];
  const lease = ({ id, lease_token }: { id: string; lease_token: string }) => ({ id, lease_token });
  // These take one transaction where the queue was looked up just before, else two.
  const short: Call[] = [
    ['POST', '/jobs', { queue, group: 'g' }],
    ['POST', '/jobs', { queue }, { 'idempotency-key': 'k' }],
    ['POST', `/jobs/${acked.id}/ack`, { lease_token: acked.lease_token, enqueue }],
  ];
  const long: Call[] = [
    ['POST', '/jobs/settle', { nacks: [{ ...lease(nacked), enqueue }] }],
    ['POST', `/jobs/${scheduled.id}/retry`],
    ['GET', `/queues/${queue}`],
    ['PUT', `/queues/${queue}`, {}],
    ['POST', `/queues/${queue}/pause`],
  ];
  const answers = await onSlowDatabase(() =>
    Promise.all(
      [...short, ...long].map(async ([method, path, body, headers]) => {
        const started = performance.now();
        const answer = await service.call(method as 'GET', path, body, headers);
        return { call: `${method} ${path}`, method, answer, ms: performance.now() - started };
      }),
    ),
  );
  for (const [i, { call, method, answer, ms }] of answers.entries()) {
    if (i < short.length && answer.status < 300) continue;
    expect(answer.status, call).toBe(503);
    expectProblem(answer, 503, 'unavailable');
    expect(answer.body.outcome, call).toBe(method === 'GET' ? undefined : 'unknown');
    expect(ms, call).toBeLessThan(ANSWERED_MS);
  }
  // One transaction takes 3 s, and is answered.
  const { status } = await onSlowDatabase(() => service.call('POST', '/jobs', { queue }));
  expect(status).toBe(201);
}, 60_000);
