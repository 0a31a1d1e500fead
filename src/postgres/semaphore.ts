import { isOutage } from '../errors.ts';

interface Waiting {
  enter(): void;
  refuse(outage: unknown): void;
}

/** Runs work as soon as there is a place for it. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Lets at most `most` pieces of work run at once. When one of them meets an outage, all work that waits fails with it:
 * otherwise each of them would wait just as long for the same failure.
 */
export function createSemaphore(most: number): Semaphore {
  const waiting: Waiting[] = [];
  let running = 0;

  return async (work) => {
    if (running === most) await new Promise<void>((enter, refuse) => waiting.push({ enter, refuse }));
    else running++;
    try {
      return await work();
    } catch (error) {
      if (isOutage(error)) for (const { refuse } of waiting.splice(0)) refuse(error);
      throw error;
    } finally {
      // The next one takes the place of this one, so `running` stays.
      const next = waiting.shift();
      if (next) next.enter();
      else running--;
    }
  };
}
