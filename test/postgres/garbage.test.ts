import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from '../support/database.ts';

/** Enough for several collections of the young generation, which holds 16 MB. */
const TIMES = 5000;

const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;

/** The bytes that each piece of work leaves in the old generation. Only a full collection frees them. What else runs here adds to them. */
async function leftBy(work: () => Promise<unknown>): Promise<number> {
  let fullCollections = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as unknown as { detail: { kind: number } }[])
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) fullCollections++;
  });
  observer.observe({ entryTypes: ['gc'] });
  const found: number[] = [];
  while (found.length < 3) {
    await sleep(20);
    fullCollections = 0;
    const before = oldBytes();
    for (let i = 0; i < TIMES; i++) await work();
    const left = (oldBytes() - before) / TIMES;
    await sleep(20);
    // A full collection in between would have freed some of it.
    if (fullCollections === 0) found.push(left);
  }
  observer.disconnect();
  return Math.min(...found);
}

test.each<[string, (db: Database) => Promise<unknown>]>([
  ['statement', (db) => db.query({ text: 'select 1', parameters: [] })],
  ['transaction', (db) => db.transaction((on) => on.query({ text: 'select 1', parameters: [] }))],
])('a %s leaves next to nothing that only a full collection frees', async (_, work) => {
  const database = await createDatabase();
  const db = openDatabase(database.url, 1);
  try {
    expect(await leftBy(() => work(db))).toBeLessThan(400);
  } finally {
    await db.close();
    await database.drop();
  }
});
