import { isOutage, unavailable } from '../errors.ts';
import { isLockTimeout } from './errorClasses.ts';

/** Behind locks that are not freed, nobody waits for a place much longer than this. */
const WAIT_MS = 2000;

interface Waiting {
  since: number;
  enter(): void;
  refuse(outage: unknown): void;
}

/** Runs work as soon as there is a place for it. `from` tells who asks for it, where those who ask take turns. */
export type Semaphore = <T>(work: () => Promise<T>, from?: object) => Promise<T>;

const ANYBODY = {};

/**
 * Lets at most `most` pieces of work run at once. Those who ask take turns, and the work that one of them asks for goes in order.
 * When a piece of work meets an outage, all work that waits fails with it: otherwise each of them would wait just as long for
 * the same failure. When one meets a lock that is not freed, work that has waited for WAIT_MS is refused.
 */
export function createSemaphore(most: number): Semaphore {
  /** What waits, by who asks for it. Whose turn is next stands first. */
  const lines = new Map<object, Waiting[]>();
  let running = 0;

  function line(from: object): Waiting[] {
    const found = lines.get(from) ?? [];
    lines.set(from, found);
    return found;
  }

  function next(): Waiting | undefined {
    const [first] = lines;
    if (!first) return undefined;
    const [from, waiting] = first;
    lines.delete(from);
    const taken = waiting.shift();
    if (waiting.length > 0) lines.set(from, waiting);
    return taken;
  }

  function refuseAll(outage: unknown): void {
    const refused = [...lines.values()].flat();
    lines.clear();
    for (const { refuse } of refused) refuse(outage);
  }

  function refuseOld(): void {
    const before = performance.now() - WAIT_MS;
    for (const [from, waiting] of lines) {
      // The oldest come first.
      while (waiting[0] && waiting[0].since <= before)
        waiting.shift()?.refuse(unavailable('Open transactions hold up too much work. Try again later.'));
      if (waiting.length === 0) lines.delete(from);
    }
  }

  return async (work, from = ANYBODY) => {
    if (running === most)
      await new Promise<void>((enter, refuse) =>
        line(from).push({ since: performance.now(), enter, refuse }),
      );
    else running++;
    try {
      return await work();
    } catch (error) {
      if (isOutage(error)) refuseAll(error);
      if (isLockTimeout(error)) refuseOld();
      throw error;
    } finally {
      // The next one takes the place of this one, so `running` stays.
      const waiting = next();
      if (waiting) waiting.enter();
      else running--;
    }
  };
}
