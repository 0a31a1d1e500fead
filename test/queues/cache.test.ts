import { expect, test } from 'vitest';
import type { Database } from '../../src/postgres/pool.ts';
import { queueCache } from '../../src/queues/cache.ts';

/** Queues over a database that has every queue, and answers when it is told to. */
function cacheOf() {
  const asked: { names: string[]; answer(): void }[] = [];
  const query = (_: unknown, { names }: { names: string[] }) =>
    new Promise((resolve) => {
      const rows = names.map((name, i) => ({ name, id: i + 1, backoff: '{}', becomes_fair: false }));
      asked.push({ names, answer: () => resolve(rows) });
    });
  return { queues: queueCache({ query } as unknown as Database), asked };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

test('a look at a queue as it is now begins after the call, and leaves the look-ups of others as they are', async () => {
  const { queues, asked } = cacheOf();
  const busy = queues.byName('busy');
  await soon();
  const now = queues.lookNow('looked-at');
  asked[0]?.answer();
  await busy;
  await soon();
  expect(asked.map(({ names }) => names)).toEqual([['busy'], ['looked-at']]);
  asked[1]?.answer();
  expect(await now).toMatchObject({ name: 'looked-at' });
  // Both are known now.
  await Promise.all([queues.byName('busy'), queues.byName('looked-at')]);
  expect(asked).toHaveLength(2);
});

test('a queue that is not there however often it is created is refused', async () => {
  const creations: string[][] = [];
  const create = async (names: string[]) => void creations.push(names);
  const queues = queueCache({ query: async () => [] } as unknown as Database, undefined, {
    create,
    isAnother: () => false,
  });
  await expect(queues.open('never')).rejects.toMatchObject({ code: 'unavailable', outcome: 'not_done' });
  expect(creations.length).toBeLessThanOrEqual(10);
});
