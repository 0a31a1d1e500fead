import { LruMap } from 'toad-cache';
import { rateLimited } from '../errors.ts';
import type { Queues } from '../queues/cache.ts';

/** Tells which queues there are. */
export type ExistingQueues = Pick<Queues, 'isKnown' | 'refresh'>;

/** So many callers are remembered. One that is forgotten begins anew. */
const MAX_CALLERS = 10_000;

/**
 * How many queues a caller may still create, at a time by performance.now(). Below 0, it waits until that is made up
 * for.
 */
interface Left {
  queues: number;
  at: number;
}

/**
 * Counts the queues that requests of a caller will create. A caller that has not used up a second may create any number
 * at once, so that a batch of 1000 new queues is possible. Then it waits until as many seconds are over as these would
 * have taken.
 */
export function createNewQueueLimit(queues: ExistingQueues, perSecond: number) {
  if (perSecond === 0) return undefined;
  const left = new LruMap<Left>(MAX_CALLERS);

  function take(caller: string, count: number): void {
    const now = performance.now();
    const before = left.get(caller) ?? { queues: perSecond, at: now };
    const queues = Math.min(perSecond, before.queues + ((now - before.at) / 1000) * perSecond);
    if (queues < 1) {
      const seconds = Math.ceil((1 - queues) / perSecond);
      throw rateLimited(
        `A caller may create ${perSecond} queues a second through a replica. Nothing was done. Try again later.`,
        seconds,
      );
    }
    left.set(caller, { queues: queues - count, at: now });
  }

  async function takeMissing(caller: string, names: string[]): Promise<void> {
    const found = await queues.refresh(names);
    if (found.size < names.length) take(caller, names.length - found.size);
  }

  /** Returns undefined where all of these queues are known: nothing is created. @throws Refusal `rate_limited` */
  return (caller: string, names: Iterable<string>): Promise<void> | undefined => {
    let unknown: Set<string> | undefined;
    for (const name of names) {
      if (queues.isKnown(name)) continue;
      unknown ??= new Set();
      unknown.add(name);
    }
    return unknown && takeMissing(caller, [...unknown]);
  };
}

export type NewQueueLimit = ReturnType<typeof createNewQueueLimit>;
