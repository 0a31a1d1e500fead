import { isOutage } from '../errors.ts';

interface Waiting {
  enter(): void;
  refuse(outage: unknown): void;
}

/** Runs work when there is a place for it. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Lets at most `most` pieces of work run at once. An outage that one of them meets is told to all who wait: each would
 * wait as long for it again.
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
      // Whoever enters takes the place that this one leaves.
      const next = waiting.shift();
      if (next) next.enter();
      else running--;
    }
  };
}
