import { expect, test } from 'vitest';
import { createScanHorizon } from '../../src/maintenance/scanHorizon.ts';

test('a chunk begins where the last one ended, and a new sweep begins 5 s before the last one', async () => {
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

test('a chunk that failed is repeated from where it began', async () => {
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
