import pg from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createQueueMemories } from '../../src/claim/queueMemories.ts';
import type { ArrivalListeners } from '../../src/floor/arrivals.ts';
import { recallPassedOver } from '../../src/floor/recallPassedOver.ts';
import type { ScanFloor } from '../../src/floor/scanFloor.ts';

type Context = Parameters<typeof recallPassedOver>[0];

/** The duty over a queue whose scan floor is at position 1,000,000, and the searches that it makes. It was walked over at `patrolledAt`. */
function dutyOf(query: () => Promise<unknown>, patrolledAt = Number.POSITIVE_INFINITY) {
  const memories = createQueueMemories();
  const memory = memories.of({ name: 'q', id: 7 });
  memory.plain.floor.stored(0, 1_000_000);
  memory.patrolledAt = patrolledAt;
  let listeners: ArrivalListeners | undefined;
  const context = {
    db: { query },
    claims: { memories },
    arrivals: {
      listen: (to: ArrivalListeners) => {
        listeners = to;
      },
      watch: (_: unknown, work: () => Promise<unknown>) => work(),
    },
    notifier: { ready: () => undefined },
  };
  const run = recallPassedOver(context as unknown as Context);
  return {
    run,
    floor: memory.plain.floor,
    marked: (first: number, last: number) => listeners?.marked([{ queue_id: 7, first, last }]),
  };
}

test('a mark that came while the database was away is looked at when it is back', async () => {
  let isAway = true;
  const searched: unknown[] = [];
  const { run, marked } = dutyOf(async (...[, asked]: unknown[]) => {
    if (isAway) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    searched.push(asked);
    return [{ count: 0, ms: 1 }];
  });
  marked(40, 50);
  await expect(run()).rejects.toThrow('away');
  isAway = false;
  await run();
  expect(searched).toMatchObject([{ queue_id: 7, ranks: [0], positions: [39], last_positions: [50] }]);
  await run();
  expect(searched).toHaveLength(1);
});

test('a mark whose search runs into its time limit holds up no later ones', async () => {
  const tooLong = Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '57014' });
  let searches = 0;
  const { run, marked } = dutyOf(async () => {
    if (++searches === 1) throw tooLong;
    return [{ count: 0, ms: 1 }];
  });
  marked(40, 50);
  await expect(run()).rejects.toThrow('canceling statement');
  await run();
  expect(searches).toBe(1);
  marked(60, 70);
  await run();
  expect(searches).toBe(2);
});

test('walks take a fortieth of the time, however often the duty runs', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  let searches = 0;
  const { run, marked } = dutyOf(async () => {
    searches++;
    return [{ count: 0, ms: 10 }];
  }, Number.NEGATIVE_INFINITY);
  expect(await run()).toBe(390);
  expect(searches).toBe(1);
  vi.advanceTimersByTime(200);
  expect(await run()).toBe(190);
  expect(searches).toBe(1);
  marked(40, 50);
  expect(await run()).toBe(190);
  expect(searches).toBe(2);
});

describe('once nothing hints at jobs below a floor for a minute', () => {
  /** The rest after a piece of a walk, a minute and a half after the floor began, and then after what `happens`. */
  async function restsAfter(happens: (floor: ScanFloor) => void, found = 0) {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const counts = [0, found, 0].values();
    const { run, floor } = dutyOf(
      async () => [{ count: counts.next().value ?? 0, ms: 10 }],
      Number.NEGATIVE_INFINITY,
    );
    vi.advanceTimersByTime(90_000);
    const before = await run();
    vi.advanceTimersByTime(10_000);
    happens(floor);
    return [before, await run()];
  }

  test('walks take a hundred-and-sixtieth of the time', async () => {
    expect(await restsAfter(() => undefined)).toEqual([1590, 1590]);
  });

  test('they take a fortieth again when one finds a job', async () => {
    expect(await restsAfter(() => undefined, 1)).toEqual([1590, 390]);
  });

  test('they take a fortieth again when a claim has failed', async () => {
    expect(await restsAfter((floor) => floor.failed())).toEqual([1590, 390]);
  });

  test('they take a fortieth again when a floor has passed a locked job', async () => {
    const pass = (floor: ScanFloor) => {
      const piece = { rank: 0, from: 1_000_000, to: 1_000_100 };
      floor.passLocked(piece, 1_000_050);
      vi.advanceTimersByTime(1000);
      expect(floor.passLocked(piece, 1_000_050)).toBe(true);
    };
    expect(await restsAfter(pass)).toEqual([1590, 390]);
  });
});

test('a piece of a walk that runs into its time limit is rested for as one of 200 ms, so that one stall does not stop walks for minutes', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { run } = dutyOf(async () => {
    vi.advanceTimersByTime(1000);
    throw Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '57014' });
  }, Number.NEGATIVE_INFINITY);
  expect(await run()).toBe(7800);
});
