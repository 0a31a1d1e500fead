import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queueCounter } from '../src/counts.ts';
import type { Db } from '../src/db.ts';

/** A database in which every count takes longer than a cheap one may, as on a busy machine. */
function slowDatabase(ready: () => number): Db {
  const query = async () => {
    const answer = [{ ready: ready() }];
    await sleep(30);
    return answer;
  };
  return { query } as unknown as Db;
}

test('the counts of a queue with few jobs are fresh, however slowly the database answers', async () => {
  let jobs = 0;
  const countsOf = queueCounter(slowDatabase(() => jobs));
  const before = countsOf(1);
  jobs = 4;
  const meanwhile = countsOf(1);
  expect((await before).counts.ready).toBe(0);
  expect((await meanwhile).counts.ready).toBe(4);
  jobs = 5;
  expect((await countsOf(1)).counts.ready).toBe(5);
});

test('the counts of a large queue are served again for a while', async () => {
  let jobs = 1_000_000;
  const countsOf = queueCounter(slowDatabase(() => jobs));
  await countsOf(1);
  jobs += 1;
  expect((await countsOf(1)).counts.ready).toBe(1_000_000);
});
