import { expect, test } from 'vitest';
import { createScanHorizon } from '../../src/maintenance/scanHorizon.ts';

test('a sweep of several chunks goes on where the one before ended, and the next sweep begins before it', async () => {
  const now = Date.parse('2026-01-01T00:01:00Z');
  const horizon = createScanHorizon({ now: () => now, adjust: async () => undefined });
  const asked: string[] = [];
  const answers = ['2026-01-01 00:00:10+00', '2026-01-01 00:00:20+00', undefined, undefined];
  const more: boolean[] = [];
  for (const answer of answers)
    more.push(
      await horizon.from(async (from) => {
        asked.push(from);
        return answer;
      }),
    );
  expect(more).toEqual([true, true, false, false]);
  expect(asked).toEqual([
    '-infinity',
    '2026-01-01 00:00:10+00',
    '2026-01-01 00:00:20+00',
    '2026-01-01T00:00:55.000Z',
  ]);
});

test('a chunk that failed is made again from where it began', async () => {
  const horizon = createScanHorizon({ now: () => 0, adjust: async () => undefined });
  await horizon.from(async () => 'here');
  await expect(horizon.from(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
  let asked = '';
  await horizon.from(async (from) => {
    asked = from;
    return undefined;
  });
  expect(asked).toBe('here');
});
