import { isOutage, unavailable } from '../errors.ts';
import { isLockTimeout } from './errorClasses.ts';

/** Behind locks that are not freed, nobody waits for a place much longer than this. */
const WAIT_MS = 2000;

interface Waiting {
  since: number;
  enter(): void;
  refuse(outage: unknown): void;
}

/** Runs work as soon as there is a place for it. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Lets at most `most` pieces of work run at once. When one of them meets an outage, all work that waits fails with it:
 * otherwise each of them would wait just as long for the same failure. When one meets a lock that is not freed, work that
 * has waited for WAIT_MS is refused.
 */
export function createSemaphore(most: number): Semaphore {
  const waiting: Waiting[] = [];
  let running = 0;

  function refuseOld(): void {
    const before = performance.now() - WAIT_MS;
    // The oldest come first.
    while (waiting[0] && waiting[0].since <= before)
      waiting.shift()?.refuse(unavailable('Open transactions hold up too much work. Try again later.'));
  }

  return async (work) => {
    if (running === most)
      await new Promise<void>((enter, refuse) => waiting.push({ since: performance.now(), enter, refuse }));
    else running++;
    try {
      return await work();
    } catch (error) {
      if (isOutage(error)) for (const { refuse } of waiting.splice(0)) refuse(error);
      if (isLockTimeout(error)) refuseOld();
      throw error;
    } finally {
      // The next one takes the place of this one, so `running` stays.
      const next = waiting.shift();
      if (next) next.enter();
      else running--;
    }
  };
}
