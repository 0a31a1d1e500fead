import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { databaseClock } from '../../src/postgres/clock.ts';
import type { Db } from '../../src/postgres/pool.ts';

test('of several looks at the time of the database, the quickest counts', async () => {
  const AHEAD_MS = 3_600_000;
  const waits = [300, 0, 300];
  const query = async () => {
    const now = new Date(Date.now() + AHEAD_MS).toISOString();
    // A slow answer tells a time that is long over.
    await sleep(waits.shift());
    return [{ now }];
  };
  const clock = databaseClock({ query } as unknown as Db);
  await clock.adjust();
  expect(waits).toEqual([]);
  // A slow look would be off by 150 ms.
  expect(Math.abs(clock.now() - Date.now() - AHEAD_MS)).toBeLessThan(100);
});
