import { LruMap } from 'toad-cache';
import { rateLimited } from '../errors.ts';
import type { Queues } from '../queues/cache.ts';

/** Of more callers than this, those that created none for longest begin anew. */
const MAX_CALLERS = 10_000;

/** What a caller may still create, at a time by performance.now(). Less than 0: it created more at once, and waits for that. */
interface Left {
  queues: number;
  at: number;
}

/**
 * Counts the queues that requests of a caller will create. A caller that has not used up a second may create any number at once,
 * so that a batch of 1000 new queues is possible. Then it waits until as many seconds are over as these would have taken.
 */
export function createNewQueueLimit(queues: Pick<Queues, 'isKnown' | 'refresh'>, perSecond: number) {
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

  /** At once where all of these queues exist. @throws Refusal `rate_limited` */
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
