import pg from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createQueueMemories, type QueueMemory } from '../../src/claim/queueMemories.ts';
import { createScanFloor } from '../../src/claim/scanFloor.ts';
import { recallPassedOver } from '../../src/maintenance/recall.ts';
import type { ArrivalListeners } from '../../src/queues/arrivals.ts';

type Context = Parameters<typeof recallPassedOver>[0];

/** The duty over a queue whose scan floor is at position 1,000,000, and the searches that it makes. It was walked over at `walkedAt`. */
function dutyOf(query: () => Promise<unknown>, walkedAt = Number.POSITIVE_INFINITY) {
  const memories = createQueueMemories();
  const memory = memories.of({ name: 'q', id: 7 });
  memory.plain.floor.stored(0, 1_000_000);
  memory.walkedAt = walkedAt;
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
    memory,
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

describe('a walk behind one that found nothing', () => {
  /** The rests after the pieces of walks that find these numbers of jobs. `failClaim` runs before the last one. */
  async function restsOf(counts: number[], failClaim = (_: QueueMemory) => undefined as void) {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const left = counts.values();
    const { run, memory } = dutyOf(
      async () => [{ count: left.next().value ?? 0, ms: 10 }],
      Number.NEGATIVE_INFINITY,
    );
    memory.plain.floor = createScanFloor();
    memory.plain.floor.stored(0, 100);
    const rests: number[] = [];
    for (const i of counts.keys()) {
      if (i === counts.length - 1) failClaim(memory);
      rests.push(await run());
      memory.claimed = true;
      vi.advanceTimersByTime(10_000);
    }
    return rests;
  }

  test('takes a hundred-and-sixtieth of the time', async () => {
    expect(await restsOf([0, 0, 0])).toEqual([390, 1590, 1590]);
  });

  test('takes a fortieth again once one finds a job', async () => {
    expect(await restsOf([0, 1, 0, 0])).toEqual([390, 390, 390, 1590]);
  });

  test('takes a fortieth again once a claim has failed', async () => {
    const failClaim = (memory: QueueMemory) => {
      memory.isSuspect = true;
    };
    expect(await restsOf([0, 0, 0], failClaim)).toEqual([390, 1590, 390]);
  });
});

test('a piece of a walk that runs into its time limit is rested for by the time that it took', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { run } = dutyOf(async () => {
    vi.advanceTimersByTime(1000);
    throw Object.assign(new pg.DatabaseError('canceling statement', 0, 'error'), { code: '57014' });
  }, Number.NEGATIVE_INFINITY);
  expect(await run()).toBe(39_000);
});
