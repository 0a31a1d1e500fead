import { expect, test } from 'vitest';
import { createLeaseTimes } from '../../src/leaseTimes.ts';
import { createTally } from '../../src/metrics/tally.ts';
import { EVENTS } from '../../src/verbs/counting.ts';

const QUEUE = 7;
const idOf = (i: number) => `019aa5b2-7c1e-7a3f-9d2c-${i.toString(16).padStart(6, '0')}000007`;

test('the wait of a job is that from its run_at to now, to the millisecond, across minutes and years', () => {
  for (const [run_at, now] of [
    ['2026-11-21T09:30:00.000Z', '2026-11-21T09:30:01.250Z'],
    ['2026-11-21T09:30:59.999Z', '2026-11-21T09:31:00.000Z'],
    ['2025-12-31T23:59:58.765Z', '2026-01-01T00:00:00.000Z'],
    ['2026-11-21T09:30:12.345Z', '2026-11-22T09:30:12.345Z'],
  ] as [string, string][]) {
    const tally = createTally(() => Date.parse(now));
    tally.claimed(QUEUE, [{ id: idOf(1), run_at }]);
    expect(tally.rest.wait.sum * 1000).toBeCloseTo(Date.parse(now) - Date.parse(run_at), 6);
  }
});

test('one reader of times keeps no minute that is over', () => {
  let now = 0;
  const tally = createTally(() => now);
  let expected = 0;
  for (let i = 0; i < 500; i++) {
    const run_at = new Date(1_700_000_000_000 + i * 12_345).toISOString();
    now = Date.parse(run_at) + i;
    expected += i;
    tally.claimed(QUEUE, [{ id: idOf(i), run_at }]);
  }
  expect(tally.rest.wait.sum * 1000).toBeCloseTo(expected, 3);
});

test('a lease is measured once, and another id never has its time', () => {
  const leases = createLeaseTimes();
  for (let i = 1; i <= 1000; i++) leases.note(idOf(i), i);
  const found = Array.from({ length: 1000 }, (_, i) => leases.take(idOf(i + 1)));
  // 1000 leases in 65,536 places: some take the place of another one, but none its time.
  for (const [i, at] of found.entries()) if (at !== undefined) expect(at).toBe(i + 1);
  expect(found.filter((at) => at !== undefined).length).toBeGreaterThan(950);
  expect(leases.take(idOf(1))).toBeUndefined();
  expect(leases.take('no id')).toBeUndefined();
});

test('what was taken can be put back, and is added to what was counted since', () => {
  const tally = createTally(Date.now);
  const job = { id: idOf(1), queue: 'q' };
  tally.enqueued([job, job]);
  const taken = tally.take();
  expect(tally.hasCounts()).toBe(false);
  tally.enqueued([{ ...job, deduplicated: true }, job]);
  tally.putBack(taken);
  const numbers = tally.take().get(QUEUE) as Float64Array;
  expect(
    Object.fromEntries(EVENTS.map((event, i) => [event, numbers[i]]).filter(([, n]) => n !== 0)),
  ).toEqual({
    enqueued: 3,
    deduplicated: 1,
  });
});
