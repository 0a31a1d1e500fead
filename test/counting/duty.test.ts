import { afterEach, expect, test, vi } from 'vitest';
import { createCountCache } from '../../src/counting/countCache.ts';
import { createDepths } from '../../src/counting/depths.ts';
import { countingDuty } from '../../src/counting/duty.ts';
import { createSampler } from '../../src/counting/sampler.ts';
import { createTally } from '../../src/metrics/tally.ts';
import { createTotals } from '../../src/metrics/totals.ts';
import type { Database } from '../../src/postgres/pool.ts';
import { until } from '../support/until.ts';

afterEach(() => vi.restoreAllMocks());

let passed = 0;
const realNow = performance.now.bind(performance);

/** A replica whose database notes what it is asked, and knows nothing. */
function replica() {
  passed = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + passed);
  let asked = 0;
  const db = {
    query: async (_: unknown, parameters?: object) => {
      asked++;
      return parameters === undefined ? [{ is_due: true }] : [];
    },
    pipeline: async (calls: unknown[]) => {
      asked++;
      return calls.map(() => []);
    },
  } as unknown as Database;
  const tally = createTally(Date.now);
  const totals = createTotals({ db, tally, most: 100 });
  const depths = createDepths({ db, totals, cache: createCountCache(db, () => '-infinity') });
  const run = countingDuty({ totals, depths, sampler: createSampler({ db, totals, depths }) });
  return {
    totals,
    job: () => tally.enqueued([{ id: '019aa5b2-7c1e-7a3f-9d2c-000000000007', queue: 'q' }]),
    /** How often the database is asked in so many minutes. */
    async minutes(minutes: number): Promise<number> {
      const before = asked;
      for (let i = 0; i < minutes * 6; i++) {
        passed += 10_000;
        await run();
      }
      return asked - before;
    },
  };
}

test('a replica on which nobody looks and no job moves counts nothing: it sends nothing', async () => {
  expect(await replica().minutes(10)).toBe(0);
});

test('it writes the minutes in which a job moved, or somebody looked, and then sends nothing again', async () => {
  const { totals, job, minutes } = replica();
  job();
  expect(await minutes(3)).toBeGreaterThan(0);
  expect(await minutes(10)).toBe(0);
  totals.watch();
  expect(await minutes(3)).toBeGreaterThan(0);
  await minutes(3);
  expect(await minutes(10)).toBe(0);
});

test('the totals go on while a very large queue is counted', async () => {
  let end: () => void = () => undefined;
  const counted = new Promise<void>((resolve) => {
    end = resolve;
  });
  let added = 0;
  const run = countingDuty({
    totals: {
      run: async () => {
        added++;
      },
    },
    depths: { run: () => counted },
    sampler: { run: async () => undefined },
  });
  const running = run();
  await until(() => added === 3);
  end();
  await running;
});
