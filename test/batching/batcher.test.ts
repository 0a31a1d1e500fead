import { expect, test } from 'vitest';
import { createBatcher } from '../../src/batching/batcher.ts';
import { createRoundTrips, ORDER_IN_TRIP } from '../../src/batching/roundTrips.ts';

const joinRoundTrip = createRoundTrips(undefined as never)(ORDER_IN_TRIP.settle);

test('an item that clashes waits for the next batch, and holds up no other one', async () => {
  const batches: string[][] = [];
  const push = createBatcher<string, string>({
    joinRoundTrip,
    maxWeight: 10,
    weigh: () => 1,
    clash: (item) => item,
    async run(_, items) {
      batches.push(items);
      return items;
    },
  });
  await Promise.all(['a', 'b', 'b', 'b', 'c', 'd'].map((item) => push(1, item)));
  expect(batches).toEqual([['a', 'b', 'c', 'd'], ['b'], ['b']]);
});

test('a batch holds no more than its weight, but for an item that is heavier alone', async () => {
  const batches: number[][] = [];
  const push = createBatcher<number, number>({
    joinRoundTrip,
    maxWeight: 10,
    weigh: (item) => item,
    async run(_, items) {
      batches.push(items);
      return items;
    },
  });
  await Promise.all([1, 4, 6, 5, 20, 3].map((item) => push(1, item)));
  expect(batches).toEqual([[1, 4], [6], [5], [20], [3]]);
});

test('an item of bad data fails alone', async () => {
  const bad = Object.assign(new (await import('pg')).DatabaseError('bad', 3, 'error'), { code: '22P02' });
  const push = createBatcher<string, string>({
    joinRoundTrip,
    maxWeight: 10,
    weigh: () => 1,
    async run(_, items) {
      if (items.includes('bad')) throw bad;
      return items;
    },
  });
  const outcomes = await Promise.allSettled(['a', 'b', 'bad', 'c'].map((item) => push(1, item)));
  expect(outcomes.map((outcome) => outcome.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});

test('a lane that holds all it may refuses more as unavailable, and takes it again when it has worked', async () => {
  const push = createBatcher<number, number>({
    joinRoundTrip,
    maxWeight: 1,
    weigh: () => 1,
    run: async (_, items) => items,
  });
  const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => push(1, i)));
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(refused).toHaveLength(13);
  for (const { reason } of refused) expect(reason.code).toBe('unavailable');
  await expect(push(1, 31)).resolves.toBe(31);
});
