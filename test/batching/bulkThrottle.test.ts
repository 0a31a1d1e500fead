import pg from 'pg';
import { expect, test } from 'vitest';
import { createBulkThrottle } from '../../src/batching/bulkThrottle.ts';
import { unavailable } from '../../src/errors.ts';

/** Lets whatever is under way go on. */
const eventLoops = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** Chunks that end when the test says so. */
function manual(throttle: ReturnType<typeof createBulkThrottle>) {
  const running: { size: number; end(): void }[] = [];
  const chunk = throttle.chunks();
  const start = () =>
    chunk(
      (size) =>
        new Promise((resolve) => {
          running.push({ size, end: () => resolve(size) });
        }),
    );
  return { running, start };
}

test('while no claims are served, chunks have the full size and run at the same time', async () => {
  const { running, start } = manual(createBulkThrottle());
  const both = [start(), start()];
  await eventLoops(3);
  expect(running.map((chunk) => chunk.size)).toEqual([1000, 1000]);
  for (const chunk of running) chunk.end();
  expect(await Promise.all(both)).toEqual([1000, 1000]);
});

test('while claims are served, chunks of all kinds are small and run one at a time', async () => {
  const throttle = createBulkThrottle();
  throttle.served();
  const first = manual(throttle);
  const second = manual(throttle);
  const both = [first.start(), second.start()];
  await eventLoops(20);
  expect(first.running.map((chunk) => chunk.size)).toEqual([200]);
  expect(second.running).toEqual([]);
  first.running[0]?.end();
  await both[0];
  while (second.running.length === 0) await eventLoops(1);
  second.running[0]?.end();
  await both[1];
});

test('a chunk that fails does not hold up the next one', async () => {
  const throttle = createBulkThrottle();
  throttle.served();
  const chunk = throttle.chunks();
  await expect(chunk(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await chunk(async () => 7)).toBe(7);
});

test('a chunk that runs into its time limit refuses none of those that wait', async () => {
  const throttle = createBulkThrottle();
  throttle.served();
  const cause = Object.assign(new pg.DatabaseError('too long', 1, 'error'), { code: '57014' });
  const late = unavailable(undefined, 'not_done', cause);
  const ended = Promise.allSettled([
    throttle.chunks()(() => Promise.reject(late)),
    throttle.chunks()(async () => 7),
  ]);
  expect(await ended).toEqual([
    { status: 'rejected', reason: late },
    { status: 'fulfilled', value: 7 },
  ]);
});
