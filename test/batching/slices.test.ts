import { expect, test } from 'vitest';
import { createTurns } from '../../src/slices.ts';

test('a turn comes after the rests of all that asked before', async () => {
  const ends: (() => void)[] = [];
  const turn = createTurns(() => new Promise((resolve) => ends.push(resolve)));
  const came: number[] = [];
  const all = Promise.all([0, 1, 2].map((i) => turn().then(() => came.push(i))));
  for (let i = 0; i < 3; i++) {
    await new Promise(setImmediate);
    expect(ends.length).toBe(i + 1);
    expect(came.length).toBe(i);
    ends[i]?.();
  }
  await all;
  expect(came).toEqual([0, 1, 2]);
});
