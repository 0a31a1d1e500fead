import pg from 'pg';
import { expect, test } from 'vitest';
import { createRetries } from '../../src/postgres/retries.ts';

const errorWith = (code: string) =>
  Object.assign(new pg.DatabaseError('told by the server', 0, 'error'), { code });

/** Runs an attempt that fails with this code, or error, so many times. Returns how often it was made. */
async function attempts(failure: string | Error, failures: number): Promise<number> {
  const log = { undone: () => undefined, failed: () => undefined } as never;
  let made = 0;
  await createRetries(2, log)(async () => {
    if (++made <= failures) throw typeof failure === 'string' ? errorWith(failure) : failure;
  }, false);
  return made;
}

test('a connection that the server ended because it was idle has read no statement: another one is tried', async () => {
  expect(await attempts('57P05', 4)).toBe(5);
  await expect(attempts('57P05', 5)).rejects.toMatchObject({ code: 'unavailable', outcome: 'not_done' });
});

test('a connection that had ended before it was asked has read no statement: another one is tried', async () => {
  const client = new pg.Client();
  await client.end();
  const refused = await client.query('select 1').catch((error: Error) => error);
  expect(await attempts(refused as Error, 4)).toBe(5);
  await expect(attempts(refused as Error, 5)).rejects.toMatchObject({ outcome: 'not_done' });
});

test('a connection that the server ended otherwise may have committed: nothing is tried again', async () => {
  await expect(attempts('57P01', 1)).rejects.toMatchObject({ code: 'unavailable', outcome: 'unknown' });
});
