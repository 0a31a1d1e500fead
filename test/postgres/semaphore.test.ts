import { expect, test } from 'vitest';
import { HeldUp, unavailable } from '../../src/errors.ts';
import { createSemaphore } from '../../src/postgres/semaphore.ts';

/** What becomes of work that waits behind work which fails. */
async function behind(error: Error): Promise<unknown> {
  const semaphore = createSemaphore(1);
  const failed = semaphore(() => Promise.reject(error));
  const waiting = semaphore(async () => 'done').catch((error) => error);
  await expect(failed).rejects.toBe(error);
  expect(await semaphore(async () => 'free')).toBe('free');
  expect(semaphore.held()).toBe(0);
  return waiting;
}

test('work that waits behind an outage fails with it', async () => {
  const outage = unavailable();
  expect(await behind(outage)).toBe(outage);
});

test.each([
  ['a lock', new HeldUp(new Error('locked'))],
  ['an error of its own', new Error('x')],
])('work that waits behind work which met %s runs', async (_, error) => {
  expect(await behind(error)).toBe('done');
});
