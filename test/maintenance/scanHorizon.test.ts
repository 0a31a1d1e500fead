import pg from 'pg';
import { expect, test } from 'vitest';
import { unavailable } from '../../src/errors.ts';
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

test('a new sweep begins by its margin before the last one, if it has one of its own', async () => {
  const now = Date.parse('2026-01-01T00:01:00Z');
  const clock = { now: () => now, adjust: async () => undefined };
  const horizon = createScanHorizon(clock, { marginMs: 500 });
  const asked: string[] = [];
  for (const _ of [1, 2])
    await horizon.from(async (from) => {
      asked.push(from);
      return undefined;
    });
  expect(asked).toEqual(['-infinity', '2026-01-01T00:00:59.500Z']);
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

test('a full scan that is slower than the time limit counts, and the sweeps go on without it', async () => {
  const now = Date.parse('2026-01-01T00:02:00Z');
  const horizon = createScanHorizon({ now: () => now, adjust: async () => undefined });
  const asked: string[] = [];
  const sweep = () =>
    horizon.from(async (from) => {
      asked.push(from);
      if (from === '-infinity')
        throw unavailable(
          undefined,
          'not_done',
          Object.assign(new pg.DatabaseError('', 0, 'error'), { code: '57014' }),
        );
      return undefined;
    });
  expect([await sweep(), await sweep(), await sweep()]).toEqual([true, false, false]);
  expect(asked).toEqual(['-infinity', '2026-01-01T00:01:00.000Z', '2026-01-01T00:01:55.000Z']);
});
