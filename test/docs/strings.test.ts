import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

interface Dealt {
  workers: { name: string; done: { place: number; md5: string }[] }[];
}

const STRINGS = 4000;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

const { deal, randomString, priorityOf } = await import(
  new URL('../../examples/strings/deal.mjs', import.meta.url).href
);

let service: Service;
let url: string;
beforeAll(async () => {
  service = await startService();
  url = await service.listen();
});
afterAll(() => service.stop());

const md5 = (text: string) => createHash('md5').update(text).digest('hex');

describe(`${STRINGS} random strings, by priority`, () => {
  const strings: string[] = Array.from({ length: STRINGS }, randomString);

  test('a string has 50 letters, and its priority counts how often the first letter comes again', () => {
    for (const string of strings) {
      expect(string).toMatch(/^[a-z]{50}$/);
      expect(priorityOf(string)).toBe([...string].filter((letter) => letter === string[0]).length - 1);
    }
    expect(new Set(strings.map((string) => string[0])).size).toBe(LETTERS.length);
    expect(new Set(strings.map(priorityOf)).size).toBeGreaterThan(4);
  });

  test.each([1, 2, 4, 8])(
    '%i workers do each string once and at least half of an equal part each; one worker keeps the order',
    async (count) => {
      const { workers } = (await deal(url, strings, count)) as Dealt;
      const done = workers.flatMap((worker) => worker.done);
      expect(done.map(({ place }) => place).sort((a, b) => a - b)).toEqual(strings.map((_, place) => place));
      for (const { place, md5: sum } of done)
        if (sum !== md5(strings[place] as string)) expect(sum).toBe(place);

      expect(workers.length).toBe(count);
      for (const worker of workers) expect(worker.done.length).toBeGreaterThanOrEqual(STRINGS / count / 2);

      if (count === 1) {
        const inOrder = strings.map((_, place) => place);
        inOrder.sort((a, b) => priorityOf(strings[b]) - priorityOf(strings[a]) || a - b);
        expect(workers[0]?.done.map(({ place }) => place)).toEqual(inOrder);
      }
    },
    120_000,
  );
});
