import { expect, test } from 'vitest';
import { createHeldJob } from '../../src/operations/heldJob.ts';

test('portions shrink to the job that a transaction holds, skip it, and grow again', () => {
  const heldJob = createHeldJob();
  const sizes: number[] = [];
  while (!heldJob.skips('a')) {
    sizes.push(heldJob.most('a', 8));
    heldJob.metLock('a', 8, true);
  }
  expect(sizes).toEqual([8, 4, 2, 1]);
  expect(heldJob.most('a', 8)).toBe(1);
  heldJob.metNoLock('a', 8);
  expect(heldJob.skips('a')).toBe(false);

  const grown: number[] = [];
  for (let i = 0; i < 5; i++) {
    grown.push(heldJob.most('a', 8));
    heldJob.metNoLock('a', 8);
  }
  expect(grown).toEqual([1, 2, 4, 8, 8]);
});

test('a lock in the way of one operation makes the portions of no other smaller', () => {
  const heldJob = createHeldJob();
  heldJob.metLock('a', 8, true);
  expect(heldJob.most('b', 8)).toBe(8);
  heldJob.metNoLock('b', 8);
  expect(heldJob.most('a', 8)).toBe(4);
});

test('two operations that each meet a held job both come to it, and skip it', () => {
  const heldJob = createHeldJob();
  for (let i = 0; i < 4; i++) for (const id of ['a', 'b']) heldJob.metLock(id, 8, true);
  expect([heldJob.skips('a'), heldJob.skips('b')]).toEqual([true, true]);
});

test('of operations that ended while a job was held, a hundred are remembered', () => {
  const heldJob = createHeldJob();
  const ids = Array.from({ length: 1000 }, (_, i) => String(i));
  for (const id of ids) heldJob.metLock(id, 8, true);
  expect(ids.filter((id) => heldJob.most(id, 8) === 4)).toEqual(ids.slice(900));
});

test('a lock that is of no unique key is waited for, and its job skipped only when that takes too long', () => {
  let now = 0;
  const heldJob = createHeldJob(() => now);
  const meet = () => heldJob.metLock('a', 2, false);
  meet();
  meet();
  meet();
  expect(heldJob.skips('a')).toBe(false);
  now = 5000;
  meet();
  expect(heldJob.skips('a')).toBe(true);
  heldJob.metNoLock('a', 2);
  // The same transaction may hold the next one, too.
  meet();
  expect(heldJob.skips('a')).toBe(true);
  heldJob.metNoLock('a', 2);
  heldJob.metNoLock('a', 2);
  meet();
  meet();
  expect(heldJob.skips('a')).toBe(false);
});
