import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queueCounter } from '../src/counts.ts';
import type { Db } from '../src/db.ts';

/** A database in which every count takes longer than a cheap one may, as on a busy machine. */
function slowDatabase(ready: () => number, ms = 30): Db {
  const query = async () => {
    const answer = [{ ready: ready() }];
    await sleep(ms);
    return answer;
  };
  return { query } as unknown as Db;
}

test('the counts of a queue with few jobs are fresh, however slowly the database answers', async () => {
  let jobs = 0;
  const { countsOf } = queueCounter(slowDatabase(() => jobs));
  const before = countsOf(1, 'alone');
  jobs = 4;
  const meanwhile = countsOf(1, 'alone');
  expect((await before).counts.ready).toBe(0);
  expect((await meanwhile).counts.ready).toBe(4);
  jobs = 5;
  expect((await countsOf(1, 'alone')).counts.ready).toBe(5);
});

test('the counts of a large queue are served again for a while, unless much was done to it at once', async () => {
  let jobs = 1_000_000;
  const { countsOf, forget } = queueCounter(slowDatabase(() => jobs, 150));
  await countsOf(1, 'alone');
  jobs += 1;
  expect((await countsOf(1, 'alone')).counts.ready).toBe(1_000_000);
  forget(1);
  expect((await countsOf(1, 'alone')).counts.ready).toBe(1_000_001);
});

test('a queue that is asked for alone is counted anew where one among others is not', async () => {
  let jobs = 50_000;
  const { countsOf } = queueCounter(slowDatabase(() => jobs));
  await countsOf(1, 'alone');
  jobs += 1;
  expect((await countsOf(1, 'amongOthers')).counts.ready).toBe(50_000);
  expect((await countsOf(1, 'alone')).counts.ready).toBe(50_001);
});
