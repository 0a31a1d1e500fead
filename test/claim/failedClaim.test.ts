import { expect, onTestFinished, test, vi } from 'vitest';
import { createLease } from '../../src/claim/lease.ts';
import { createQueueMemories } from '../../src/claim/queueMemories.ts';

type Context = Parameters<typeof createLease>[0];
type Asked = Parameters<ReturnType<typeof createLease>['leaseJobs']>;

test('a claim that failed hastens walks below the floors: a floor may have passed what it had locked', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const memories = createQueueMemories();
  const hold = { takeUpTo: (bytes: number) => bytes, take: () => undefined, release: () => undefined };
  const arrivals = {
    isFresh: () => true,
    committedUpTo: () => 100,
    newest: () => 100,
    distrust: () => undefined,
  };
  const { leaseJobs } = createLease({
    db: {},
    arrivals,
    memory: { hold: () => hold },
    memories,
    leaseEnds: { note: () => undefined },
    lost: () => undefined,
  } as unknown as Context);
  const queue = { id: 7, name: 'q', lease_seconds: 30, max_leased: null, rate_limit: null };
  const known = memories.of(queue);
  vi.advanceTimersByTime(90_000);
  expect(known.plain.floor.isSuspect()).toBe(false);
  const trip = { db: { query: () => Promise.reject(new Error('away')) } };
  const claim = { queues: ['q'], limit: 1, jobs: [], bytes: 0 };
  await expect(leaseJobs(...([queue, [claim], trip] as unknown as Asked))).rejects.toThrow('away');
  expect(known.plain.floor.isSuspect()).toBe(true);
});
