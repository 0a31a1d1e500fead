import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Call } from '../../clients/typescript/src/caller.ts';
import { Worker } from '../../clients/typescript/src/index.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

// biome-ignore lint/suspicious/noExplicitAny: a body of any shape.
type Json = any;
const COUNT = 500;
const jobs = Array.from({ length: COUNT }, (_, i) => ({
  ...{ id: `job-${i}`, queue: 'q', lease_token: 'token', lease_seconds: 600, payload_text: '1', headers: {} },
}));

test('items of a settlement that are answered 503 are sent again together, and not in a hurry', async () => {
  const settlements: Json[] = [];
  let hasClaimed = false;
  const request = async ({ path, body }: Call): Promise<Json> => {
    if (path === '/jobs/claim') {
      if (hasClaimed) return new Promise(() => undefined);
      hasClaimed = true;
      return { jobs };
    }
    const { acks, claim } = JSON.parse((body as Json).text);
    settlements.push(acks);
    const problem = {
      type: 'urn:problem-type:dibs:unavailable',
      code: 'unavailable',
      status: 503,
      title: '',
    };
    return { acks: acks.map(({ id }: Json) => ({ id, status: 503, problem })), ...(claim && { jobs: [] }) };
  };
  const options = { queues: ['q'], concurrency: COUNT, session: false, logger: null };
  const worker = new Worker({ request }, options, () => undefined);
  void worker.run();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(settlements.length).toBeGreaterThan(5);
  expect(settlements.length).toBeLessThan(300);
  const stopped = worker.stop({ deadlineSeconds: 0 });
  await vi.advanceTimersByTimeAsync(10_000);
  await stopped;
});
