import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CountedEngine, countedEngine } from '../support/counting.ts';
import { openClient } from '../support/database.ts';

let counted: CountedEngine;
beforeAll(async () => {
  counted = await countedEngine();
});
afterAll(() => counted.stop());

const into = (names: string[]) =>
  counted.engine.enqueue({ jobs: names.map((queue) => ({ queue })), at: () => '' });
const names = (prefix: string) => Array.from({ length: 100 }, (_, i) => `${prefix}.${i}`);

test('a batch into a hundred new queues costs few statements besides one for each queue', async () => {
  const before = counted.count();
  expect((await into(names('new'))).map(({ queue }) => queue)).toEqual(names('new'));
  // Each of them was looked up twice and created by itself: 400 round trips. Duties run meanwhile.
  expect(counted.count() - before).toBeLessThan(150);
  const again = counted.count();
  await into(names('new'));
  expect(counted.count() - again).toBeLessThan(150);
});

test('a batch waits for an open transaction that creates one of its queues, and creates the others', async () => {
  const client = await openClient(counted.databaseUrl);
  await client.query('begin');
  await client.query(`select dibs.enqueue('held.7')`);
  const done = into(names('held'));
  await sleep(300);
  await client.query('commit');
  await client.end();
  expect(await done).toHaveLength(100);
});
