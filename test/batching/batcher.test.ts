import { describe, expect, test } from 'vitest';
import { createBatcher } from '../../src/batching/batcher.ts';
import { ORDER_IN_TRIP } from '../../src/batching/roundTrip.ts';
import { createRoundTrips } from '../../src/batching/roundTrips.ts';
import { unavailable } from '../../src/errors.ts';

const joinRoundTrip = createRoundTrips(undefined as never)(ORDER_IN_TRIP.settle);

test('an item that clashes waits for the next batch, and holds up no other item', async () => {
  const batches: string[][] = [];
  const batched = createBatcher<string, string>({
    joinRoundTrip,
    maxWeight: 10,
    weigh: () => 1,
    clash: (item) => item,
    async run(_, items) {
      batches.push(items);
      return items;
    },
  });
  await Promise.all(['a', 'b', 'b', 'b', 'c', 'd'].map((item) => batched(1, item)));
  expect(batches).toEqual([['a', 'b', 'c', 'd'], ['b'], ['b']]);
});

test('a batch weighs no more than its maximum, except for an item that is heavier by itself', async () => {
  const batches: number[][] = [];
  const batched = createBatcher<number, number>({
    joinRoundTrip,
    maxWeight: 10,
    weigh: (item) => item,
    async run(_, items) {
      batches.push(items);
      return items;
    },
  });
  await Promise.all([1, 4, 6, 5, 20, 3].map((item) => batched(1, item)));
  expect(batches).toEqual([[1, 4], [6], [5], [20], [3]]);
});

test('an item with bad data fails alone', async () => {
  const bad = Object.assign(new (await import('pg')).DatabaseError('bad', 3, 'error'), { code: '22P02' });
  const batched = createBatcher<string, string>({
    joinRoundTrip,
    maxWeight: 10,
    weigh: () => 1,
    async run(_, items) {
      if (items.includes('bad')) throw bad;
      return items;
    },
  });
  const outcomes = await Promise.allSettled(['a', 'b', 'bad', 'c'].map((item) => batched(1, item)));
  expect(outcomes.map((outcome) => outcome.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
});

test('a full batcher refuses more items as overloaded, and takes items again when batches have run', async () => {
  const batched = createBatcher<number, number>({
    joinRoundTrip,
    maxWeight: 1,
    weigh: () => 1,
    run: async (_, items) => items,
  });
  const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => batched(1, i)));
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(refused).toHaveLength(13);
  for (const { reason } of refused) expect(reason.code).toBe('overloaded');
  await expect(batched(1, 31)).resolves.toBe(31);
});

describe('without round trips', () => {
  /** A batcher whose batches end when the test says so. */
  function manual(fullAtOnce?: number) {
    const batches: { queue: number; items: string[]; end(): void; fail(error: Error): void }[] = [];
    const batched = createBatcher<string, string>({
      ...(fullAtOnce && { fullAtOnce }),
      maxWeight: 10,
      weigh: (item) => item.length,
      run: (queue, items, trip) =>
        new Promise((resolve, reject) => {
          expect(trip).toBeUndefined();
          batches.push({ queue, items, end: () => resolve(items), fail: reject });
        }),
    });
    const begun = () => batches.map(({ items }) => items);
    return { batches, batched, begun };
  }
  async function settled() {
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  test('batches of one queue run one after the other, and items that come meanwhile gather for the next one', async () => {
    const { batches, batched, begun } = manual();
    const first = [batched(1, 'a'), batched(1, 'b')];
    await settled();
    const second = [batched(1, 'c')];
    await settled();
    second.push(batched(1, 'd'));
    await settled();
    expect(begun()).toEqual([['a', 'b']]);
    batches[0]?.end();
    expect(await Promise.all(first)).toEqual(['a', 'b']);
    await settled();
    expect(begun()).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    batches[1]?.end();
    expect(await Promise.all(second)).toEqual(['c', 'd']);
    const third = batched(1, 'e');
    await settled();
    batches[2]?.end();
    expect(await third).toBe('e');
  });

  test('batches of different queues run at the same time', async () => {
    const { batches, batched } = manual();
    const results = [batched(1, 'a'), batched(2, 'b')];
    await settled();
    expect(batches.map(({ queue, items }) => [queue, items])).toEqual([
      [1, ['a']],
      [2, ['b']],
    ]);
    for (const { end } of batches) end();
    expect(await Promise.all(results)).toEqual(['a', 'b']);
  });

  test('a batch that fails does not stop the next one, but an outage also refuses what gathered meanwhile', async () => {
    const { batches, batched } = manual();
    const outcomes = Promise.allSettled(['a', 'b'].map((item) => batched(1, item)));
    await settled();
    const next = Promise.allSettled([batched(1, 'c')]);
    batches[0]?.fail(new Error('broken'));
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await settled();
    expect(batches[1]?.items).toEqual(['c']);
    const gathered = Promise.allSettled([batched(1, 'd'), batched(1, 'e')]);
    batches[1]?.fail(unavailable());
    expect([...(await next), ...(await gathered)].map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'rejected',
    ]);
    const last = batched(1, 'f');
    await settled();
    expect(batches[2]?.items).toEqual(['f']);
    batches[2]?.end();
    expect(await last).toBe('f');
  });

  test('of full batches of one queue two run at the same time, and other items still gather', async () => {
    const { batches, batched, begun } = manual(2);
    const full = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(10));
    const results = full.map((item) => batched(1, item));
    await settled();
    expect(begun()).toEqual([[full[0]], [full[1]]]);
    batches[0]?.end();
    await settled();
    expect(begun()).toEqual([[full[0]], [full[1]], [full[2]]]);
    results.push(batched(1, 'small'));
    batches[1]?.end();
    await settled();
    batches[2]?.end();
    await settled();
    results.push(batched(1, 'tiny'));
    await settled();
    expect(begun().slice(3)).toEqual([[full[3]]]);
    results.push(batched(1, 'too'));
    await settled();
    expect(begun().slice(4)).toEqual([['small', 'tiny']]);
    batches[3]?.end();
    await settled();
    expect(begun()).toHaveLength(5);
    batches[4]?.end();
    await settled();
    batches[5]?.end();
    expect(await Promise.all(results)).toEqual([...full, 'small', 'tiny', 'too']);
  });

  test('an outage of one of two full batches refuses what gathered, and the other one goes on', async () => {
    const { batches, batched } = manual(2);
    const full = ['a', 'b', 'c'].map((letter) => letter.repeat(10));
    const outcomes = Promise.allSettled(full.map((item) => batched(1, item)));
    await settled();
    batches[0]?.fail(unavailable());
    await settled();
    const later = batched(1, 'later');
    await settled();
    batches[1]?.end();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
    batches[2]?.end();
    expect(await later).toBe('later');
    const last = batched(1, 'last');
    await settled();
    batches[3]?.end();
    expect(await last).toBe('last');
  });
});
