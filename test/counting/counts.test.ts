import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createCountCache } from '../../src/counting/countCache.ts';
import { queueCounter } from '../../src/counting/counts.ts';
import type { Db } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { until } from '../support/until.ts';

let now = 0;
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => vi.restoreAllMocks());

/** Counts on a database whose queues have these ready jobs. On its clock, counting 1000 of them takes a millisecond. */
function counterOn(ready: Record<number, number>) {
  const asked: { ids: number[]; most: (number | null)[]; whole: boolean }[] = [];
  let released: Promise<void> = Promise.resolve();
  let broken = false;

  const query = async (_: Statement, parameters: { queue_ids: number[]; limits: (number | null)[] }) => {
    const { queue_ids: ids, limits: most } = parameters;
    const whole = most.includes(null);
    // Without this, a loop of questions would keep the test from ever ending.
    if (asked.length === 1000) throw new Error('it asks without end');
    asked.push({ ids, most, whole });
    const rows = ids.map((id, i) => {
      const limit = most[i] ?? Number.POSITIVE_INFINITY;
      const found = Math.min(ready[id] as number, limit);
      return { id, cut: found >= limit, ready: found, oldest_ready_age_seconds: ready[id] };
    });
    now += rows.reduce((sum, row) => sum + row.ready, 0) / 1000;
    if (whole) await released;
    if (broken) throw new Error('the database is away');
    return rows;
  };

  const cache = createCountCache({ query } as unknown as Db, () => '-infinity');
  const { countsOf } = queueCounter(cache);
  const { drop } = cache;
  return {
    ready,
    drop,
    asked,
    /** The duty counts a queue. Its count serves for a minute. */
    byDuty: (id: number) => cache.countBatch([id], 60_000),
    countedWhole: () => asked.filter(({ whole }) => whole).length,
    break(is: boolean) {
      broken = is;
    },
    /** Lets no count of a whole queue end until the returned function is called. */
    hold(): () => void {
      let open: () => void = () => undefined;
      released = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
    alone: async (id: number) => (await countsOf([id], 'alone')).get(id)?.counts.ready,
    async page(...ids: number[]) {
      const found = await countsOf(ids, 'amongOthers');
      return ids.map((id) => found.get(id)?.counts.ready);
    },
    async ages(...ids: number[]) {
      const found = await countsOf(ids, 'amongOthers');
      return ids.map((id) => found.get(id)?.oldest_ready_age_seconds);
    },
  };
}

const LARGE = 1_000_000;
/** How many milliseconds it takes to count a large queue. */
const COST = 1000;

describe('the counts of a queue', () => {
  test('are fresh when it has few jobs, however slowly the database answers', async () => {
    const { ready, alone } = counterOn({ 1: 3 });
    expect(await alone(1)).toBe(3);
    now += 10_000;
    ready[1] = 4;
    expect(await alone(1)).toBe(4);
    ready[1] = 5;
    expect(await alone(1)).toBe(5);
  });

  test('are served again for a while when it is large, unless bulk work changed it', async () => {
    const { ready, alone, drop } = counterOn({ 1: LARGE });
    expect(await alone(1)).toBe(LARGE);
    ready[1] = LARGE + 1;
    expect(await alone(1)).toBe(LARGE);
    drop(1);
    expect(await alone(1)).toBe(LARGE + 1);
  });

  test('are never older than 20 times the time that counting takes', async () => {
    const { ready, alone, hold } = counterOn({ 1: LARGE });
    await alone(1);
    ready[1] = LARGE + 1;
    now += 20 * COST;
    const open = hold();
    const late = alone(1);
    open();
    expect(await late).toBe(LARGE + 1);
  });

  test('that a duty has made answer the first look, and are counted meanwhile for the next one', async () => {
    const { ready, byDuty, alone, page, hold, asked, countedWhole } = counterOn({ 1: LARGE - 1 });
    await byDuty(1);
    ready[1] = LARGE;
    now += 50_000;
    const open = hold();
    expect(await alone(1)).toBe(LARGE - 1);
    // Its size is known, so it is not counted in vain.
    expect(asked[1]?.most).toEqual([0]);
    expect(await page(1)).toEqual([LARGE - 1]);
    await until(() => countedWhole() === 2);
    open();
    await until(async () => (await alone(1)) === LARGE);
  });

  test('that a duty has made do not serve after a minute, or after bulk work', async () => {
    const { ready, byDuty, alone, drop } = counterOn({ 1: LARGE - 1 });
    await byDuty(1);
    ready[1] = LARGE;
    now += 61_000;
    expect(await alone(1)).toBe(LARGE);
    await byDuty(1);
    ready[1] = LARGE + 1;
    drop(1);
    expect(await alone(1)).toBe(LARGE + 1);
    await byDuty(1);
    ready[1] = LARGE + 2;
    now += 30 * COST;
    expect(await alone(1)).toBe(LARGE + 1);
  });

  test('are not from a count that began before bulk work changed it', async () => {
    const { ready, alone, drop, hold, countedWhole } = counterOn({ 1: LARGE });
    const open = hold();
    const before = alone(1);
    await until(() => countedWhole() === 1);
    ready[1] = LARGE / 2;
    drop(1);
    open();
    expect(await before).toBe(LARGE / 2);
    expect(await alone(1)).toBe(LARGE / 2);
  });

  test('are all zero when it is emptied while they are counted', async () => {
    const { ready, alone, asked } = counterOn({ 1: LARGE });
    const found = alone(1);
    ready[1] = 0;
    expect(await found).toBe(0);
    expect(asked).toHaveLength(2);
  });

  test('are fresh on a page of its own, even where a list serves old ones', async () => {
    const { ready, alone, page } = counterOn({ 1: 50_000 });
    expect(await alone(1)).toBe(50_000);
    ready[1] = 50_001;
    expect(await page(1)).toEqual([50_000]);
    expect(await alone(1)).toBe(50_001);
  });

  test('cost no more than those of a small one when it has grown large since the last count', async () => {
    const { ready, page, asked, hold } = counterOn({ 1: 5000 });
    await page(1);
    ready[1] = LARGE;
    const open = hold();
    asked.length = 0;
    // The old counts are younger than 20 times the time that they took.
    expect(await page(1)).toEqual([5000]);
    expect(asked.map(({ most }) => most)).toEqual([[10_000]]);
    open();
  });
});

describe('a page of queues', () => {
  test('takes one statement, which counts a bounded number of jobs', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => i + 1);
    const { page, asked } = counterOn(Object.fromEntries(ids.map((id) => [id, 900])));
    await page(...ids);
    asked.length = 0;
    expect(await page(...ids)).toEqual(ids.map(() => 900));
    expect(asked).toHaveLength(1);
    expect(asked[0]?.most.filter((limit) => limit !== 0)).toHaveLength(11);
  });

  test('counts its small queues each time, and looks up the oldest job of every queue each time', async () => {
    const { ready, page, ages } = counterOn({ 1: LARGE, 2: 7, 3: 40_000 });
    expect(await page(1, 2, 3)).toEqual([LARGE, 7, 40_000]);
    Object.assign(ready, { 1: LARGE + 1, 2: 8, 3: 40_001 });
    expect(await page(1, 2, 3)).toEqual([LARGE, 8, 40_000]);
    expect(await ages(1, 2, 3)).toEqual([LARGE + 1, 8, 40_001]);
  });

  test('is counted once for all requests that come at once', async () => {
    const { page, countedWhole, asked, hold } = counterOn({ 1: LARGE });
    const open = hold();
    const all = Promise.all([page(1), page(1), page(1)]);
    await until(() => asked.length >= 4);
    open();
    expect(await all).toEqual([[LARGE], [LARGE], [LARGE]]);
    expect(countedWhole()).toBe(1);
  });

  test('serves old counts while one count at a time refreshes them', async () => {
    const { ready, page, hold, countedWhole } = counterOn({ 1: LARGE, 2: LARGE });
    await page(1, 2);
    now += 11 * 2 * COST;
    ready[1] = LARGE + 1;
    const open = hold();
    for (let i = 0; i < 3; i++) expect(await page(1, 2)).toEqual([LARGE, LARGE]);
    expect(countedWhole()).toBe(3);
    open();
    await until(async () => (await page(1, 2))[0] === LARGE + 1);
  });

  test('is not counted again before the next request', async () => {
    const { page, countedWhole } = counterOn({ 1: LARGE });
    await page(1);
    now += 15 * COST;
    await new Promise(setImmediate);
    expect(countedWhole()).toBe(1);
    await page(1);
    expect(countedWhole()).toBe(2);
  });

  test('fails while the database is away, and is counted when it is back', async () => {
    const counter = counterOn({ 1: LARGE });
    counter.break(true);
    await expect(counter.page(1)).rejects.toThrow('the database is away');
    counter.break(false);
    expect(await counter.page(1)).toEqual([LARGE]);
  });

  test('of very many jobs is refused in time, and counted further by each request', async () => {
    const ids = [1, 2, 3, 4, 5, 6];
    const { page, countedWhole } = counterOn(Object.fromEntries(ids.map((id) => [id, LARGE])));
    await expect(page(...ids)).rejects.toMatchObject({ code: 'unavailable' });
    expect(now).toBeLessThan(5 * COST);
    expect(await page(...ids)).toEqual(ids.map(() => LARGE));
    expect(countedWhole()).toBe(6);
  });

  test('is refused when counting takes longer than a request may, and answered once it is counted', async () => {
    const { page, hold, countedWhole } = counterOn({ 1: LARGE });
    const open = hold();
    await expect(page(1)).rejects.toMatchObject({ code: 'unavailable' });
    const retried = page(1);
    open();
    expect(await retried).toEqual([LARGE]);
    expect(countedWhole()).toBe(1);
  });
});

describe('while index entries of jobs that are gone make counts slow', () => {
  /** A database that takes so long for a count that reads them. It ends a statement after 2300 ms. */
  function countsOverDead(ms: number) {
    const above: boolean[] = [];
    const query = async (_: Statement, { above_floors }: { above_floors: boolean }) => {
      above.push(above_floors);
      now += above_floors ? 1 : Math.min(ms, 2300);
      if (ms > 2300 && !above_floors)
        throw Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '57014' });
      return [{ id: 1, cut: false, ready: 7 }];
    };
    const { countsOf } = queueCounter(createCountCache({ query } as unknown as Db, () => '-infinity'));
    const ready = async () => (await countsOf([1], 'amongOthers')).get(1)?.counts.ready;
    return { above, ready };
  }

  test('counts that read them take a two-hundredth of the time', async () => {
    const { above, ready } = countsOverDead(1000);
    const began = now;
    while (now < began + 800_000) {
      expect(await ready()).toBe(7);
      now += 500;
    }
    expect(above.filter((is) => !is)).toHaveLength(4);
  });

  test('one that runs into the time limit of a statement is answered without them, and none is refused', async () => {
    const { above, ready } = countsOverDead(10_000);
    for (let i = 0; i < 3; i++) expect(await ready()).toBe(7);
    expect(above).toEqual([false, true, true, true]);
  });

  test('quick counts are whole', async () => {
    const { above, ready } = countsOverDead(3);
    for (let i = 0; i < 3; i++) await ready();
    expect(above).toEqual([false, false, false]);
  });
});
