import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { databaseClock } from '../../src/postgres/clock.ts';
import type { Db } from '../../src/postgres/pool.ts';

test('of several looks at the time of the database, the quickest counts', async () => {
  const AHEAD_MS = 3_600_000;
  const waits = [1000, 0, 1000];
  const query = async () => {
    const ms = waits.shift() as number;
    // A slow answer tells a time that is long over.
    const now = new Date(Date.now() + AHEAD_MS - 100 * ms).toISOString();
    await sleep(ms);
    return [{ now }];
  };
  const clock = databaseClock({ query } as unknown as Db);
  await clock.adjust();
  expect(waits).toEqual([]);
  expect(Math.abs(clock.now() - Date.now() - AHEAD_MS)).toBeLessThan(10_000);
});
