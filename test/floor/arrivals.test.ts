import { describe, expect, test } from 'vitest';
import { newClaim } from '../../src/claim/claim.ts';
import { createLease } from '../../src/claim/lease.ts';
import { createQueueMemories } from '../../src/claim/queueMemories.ts';
import { createArrivals } from '../../src/floor/arrivals.ts';
import { createLeaseTimes } from '../../src/leaseTimes.ts';
import { createMemory } from '../../src/memory.ts';
import type { Db } from '../../src/postgres/pool.ts';
import { planned, type Statement } from '../../src/postgres/statements.ts';
import { UNKNOWN_ID } from '../support/moves.ts';

const QUEUE = 7;

/** Arrivals over a database whose order ends at `end`. `marks` is what was marked there. */
function arrivalsOf() {
  const state = { now: 0, end: 10, isAway: false };
  const marks: unknown[] = [];
  async function query({ text }: Statement<object, unknown>, parameters?: unknown) {
    if (state.isAway) throw new Error('away');
    if (text === planned('floor/mark_arrivals').text) marks.push(parameters);
    const look = { last_value: state.end, server: 's', snapshot: '1:1:', queue_id: null };
    return text === planned('floor/arrivals').text ? [look] : [];
  }
  const arrivals = createArrivals({ query } as unknown as Db, () => state.now);
  return { arrivals, state, marks };
}

describe('what has committed', () => {
  test('is what was known a while ago, also when a statement failed meanwhile', async () => {
    const { arrivals, state } = arrivalsOf();
    await arrivals.refresh();
    state.now = 200;
    arrivals.distrust();
    expect(arrivals.committedUpTo()).toBeUndefined();
    expect(arrivals.isFresh()).toBe(false);
    state.end = 20;
    await arrivals.refresh();
    expect(arrivals.isFresh()).toBe(true);
    state.now = 300;
    expect(arrivals.committedUpTo()).toBe(10);
    state.now = 500;
    expect(arrivals.committedUpTo()).toBe(20);
  });

  test('is nothing at first. Then a claim raises no scan floor', async () => {
    const { arrivals } = arrivalsOf();
    await arrivals.refresh();
    const memories = createQueueMemories();
    const { leaseJobs } = createLease({
      leaseEnds: createLeaseTimes(),
      db: undefined as never,
      arrivals,
      memory: createMemory(),
      memories,
      narrowing: { met: () => undefined },
      lost: () => undefined,
    });
    const queue = { id: QUEUE, name: 'q', fair: true, max_leased: null, rate_limit: null, lease_seconds: 30 };
    const memory = memories.of(queue);
    memory.keySearch.failed();
    const job = { id: UNKNOWN_ID, payload: 'null', headers: '{}' };
    const row = { ...job, slot: 1, position: 9, fairness_key: 'A', priority: 0 };
    const trip = { db: { query: async () => [{ ...row, first_rank: 0, first_position: 9 }] } };
    const claim = newClaim({ limit: 1 }, undefined);
    const { jobs } = await leaseJobs(queue as never, [claim], trip as never);
    expect(jobs).toHaveLength(1);
    expect(memory.fair?.floor.highest()).toBe(-1);
  });
});

describe('work that gives jobs new positions', () => {
  const fails = () => Promise.reject(new Error('the connection ended'));

  test('is marked when it took long, and also when it failed then: it may have committed', async () => {
    const { arrivals, state, marks } = arrivalsOf();
    await arrivals.refresh();
    const takes = (ms: number, then: () => Promise<unknown>) =>
      arrivals
        .watch(
          () => [QUEUE],
          () => {
            state.now += ms;
            return then();
          },
        )
        .catch(() => undefined);
    await takes(200, async () => undefined);
    await takes(200, fails);
    await arrivals.follow();
    expect(marks).toEqual([]);
    for (const then of [async () => undefined, fails]) {
      await takes(300, then);
      await arrivals.follow();
      expect(marks.splice(0)).toEqual([{ queue_ids: [QUEUE], firsts: [11] }]);
    }
  });

  test('is marked after an outage, when it could not be marked at once', async () => {
    const { arrivals, state, marks } = arrivalsOf();
    await arrivals.refresh();
    await arrivals.watch(
      () => [QUEUE],
      async () => {
        state.now += 300;
      },
    );
    state.isAway = true;
    await expect(arrivals.follow()).rejects.toThrow('away');
    state.isAway = false;
    await arrivals.follow();
    expect(marks).toEqual([{ queue_ids: [QUEUE], firsts: [11] }]);
  });
});
