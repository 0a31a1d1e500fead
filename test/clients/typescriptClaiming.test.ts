import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Call } from '../../clients/typescript/src/caller.ts';
import { Worker, type WorkerEvent } from '../../clients/typescript/src/index.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A worker whose claims are answered empty: each after so many ms, the last one for all that follow. When they went, and were answered. */
async function claimsFor(ms: number, waitSeconds: number, ...answers: number[]) {
  const claims: { sentAt: number; answeredAt: number }[] = [];
  const events: WorkerEvent[] = [];
  const request = async ({ path }: Call) => {
    if (path !== '/jobs/claim') throw new Error(path);
    const sentAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, answers[Math.min(claims.length, answers.length - 1)]));
    claims.push({ sentAt, answeredAt: performance.now() });
    return { jobs: [] };
  };
  const worker = new Worker(
    { request },
    { queues: ['q'], waitSeconds, session: false, observe: (event) => void events.push(event) },
    () => undefined,
  );
  const running = worker.run();
  await pass(ms);
  const stopped = worker.stop();
  await pass(10_000);
  await Promise.all([running, stopped]);
  expect(events.map(({ type }) => type)).toEqual(['stopping', 'stopped']);
  return claims;
}

test('claims that are answered empty at once are repeated, but not in a hurry, and nobody is told', async () => {
  const claims = await claimsFor(60_000, 20, 1);
  expect(claims.length).toBeGreaterThan(20);
  expect(claims.length).toBeLessThan(300);
});

test('an answer after a real wait ends the pauses', async () => {
  const claims = await claimsFor(60_000, 20, ...Array(10).fill(1), 600, 1);
  const pauseAfter = (i: number) => (claims[i + 1]?.sentAt ?? 0) - (claims[i]?.answeredAt ?? 0);
  expect(pauseAfter(10)).toBe(0);
  expect(pauseAfter(11)).toBeLessThanOrEqual(100);
});

test('claims that ask for a short wait go on without a pause', async () => {
  expect((await claimsFor(10_000, 0.1, 100)).length).toBeGreaterThanOrEqual(99);
});
