import pg from 'pg';
import { expect, test } from 'vitest';
import { HeldUp, overloaded, unavailable } from '../../src/errors.ts';
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

test('work that waits behind an outage of the database is refused with it: nothing of it was done', async () => {
  const cause = new Error('Connection terminated');
  expect(await behind(unavailable(undefined, 'unknown', cause))).toMatchObject({
    code: 'unavailable',
    outcome: 'not_done',
    cause,
  });
});

const serverError = (code: string) => Object.assign(new pg.DatabaseError('x', 1, 'error'), { code });

test.each([
  ['a lock', new HeldUp(new Error('locked'))],
  ['an error of its own', new Error('x')],
  ['a refusal of its own', unavailable('Queue mail is being relocated.')],
  ['too many requests', overloaded()],
  ['transactions that changed its rows', unavailable(undefined, 'not_done', serverError('40001'))],
  ['a queue that lives elsewhere', unavailable(undefined, 'not_done', serverError('DB003'))],
])('work that waits behind work which met %s runs', async (_, error) => {
  expect(await behind(error)).toBe('done');
});
