import { expect, test } from 'vitest';
import { gathering } from '../../src/postgres/gathering.ts';

/** Work that ends when the test says so. */
function setUp() {
  const runs: { items: number[]; end: PromiseWithResolvers }[] = [];
  type PromiseWithResolvers = { resolve(): void; reject(error: Error): void };
  const ask = gathering(3, (items: number[]) => {
    return new Promise<string[]>((resolve, reject) => {
      runs.push({ items, end: { resolve: () => resolve(items.map(String)), reject } });
    });
  });
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return { ask, runs, turn };
}

test('what is asked for meanwhile goes together, up to a number', async () => {
  const { ask, runs, turn } = setUp();
  const first = ask(1);
  await turn();
  const others = [2, 3, 4, 5].map(ask);
  await turn();
  expect(runs.map(({ items }) => items)).toEqual([[1]]);
  for (let at = 0; at < 3; at++) {
    runs[at]?.end.resolve();
    await turn();
  }
  expect(runs.map(({ items }) => items)).toEqual([[1], [2, 3, 4], [5]]);
  expect(await Promise.all([first, ...others])).toEqual(['1', '2', '3', '4', '5']);
});

test('a failure is that of all who wait, and of nobody later', async () => {
  const { ask, runs, turn } = setUp();
  const failing = [1, 2, 3, 4].map((item) => expect(ask(item)).rejects.toThrow('away'));
  await turn();
  runs[0]?.end.reject(new Error('away'));
  await Promise.all(failing);
  const later = ask(5);
  await turn();
  runs[1]?.end.resolve();
  expect(await later).toBe('5');
});

test('the answers of many items leave turns to others', async () => {
  const answered: number[] = [];
  const ask = gathering(1000, async (items: number[]) => items);
  const all = Array.from({ length: 1000 }, (_, i) => ask(i).then(() => answered.push(i)));
  const seen = [0];
  while (answered.length < 1000) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(answered.length);
  }
  await Promise.all(all);
  const steps = seen.map((count, i) => count - (seen[i - 1] ?? 0));
  expect(Math.max(...steps)).toBeLessThanOrEqual(200);
  expect(answered).toEqual(Array.from({ length: 1000 }, (_, i) => i));
});
