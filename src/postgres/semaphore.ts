import { unavailable } from '../errors.ts';
import { isOfDatabase } from './errorClasses.ts';
import { type Path, Turns } from './turns.ts';

interface Waiting {
  /** It is refused when it gets no place by this time. */
  until: number;
  enter(): void;
  refuse(error: unknown): void;
}

/**
 * Runs work as soon as there is a place for it. `from` tells who asks for it: those who ask take turns. Work that gets
 * no place until then, by performance.now(), throws NoPlace.
 */
export interface Semaphore {
  <T>(work: () => Promise<T>, from?: Path, until?: number): Promise<T>;
  /** How much runs or waits. */
  held(): number;
}

const ANYBODY: Path = [];

/** Work got no place in time, or too much else waits. */
export class NoPlace extends Error {}

/**
 * Lets at most `most` pieces of work run at once, and at most `mostWaiting` wait: then the longest line gives way. When
 * a piece of work finds the database away, all work that waits is refused: otherwise each of them would wait just as
 * long for the same failure. What a piece of work meets by itself is its own.
 */
export function createSemaphore(most: number, mostWaiting = Number.POSITIVE_INFINITY): Semaphore {
  const line = new Turns<Waiting>();
  let running = 0;
  /** None of those who wait has an earlier `until`. */
  let soonest = Number.POSITIVE_INFINITY;

  const refuseAll = (waiting: Waiting[], error: unknown) => {
    for (const { refuse } of waiting) refuse(error);
  };

  function enter(from: Path, until: number): Promise<void> {
    return new Promise((enter, refuse) => {
      line.push(from, { until, enter, refuse });
      soonest = Math.min(soonest, until);
      if (line.size > mostWaiting) line.lastOfLongest()?.refuse(new NoPlace());
    });
  }

  function refuseLate(): void {
    const now = performance.now();
    if (soonest >= now) return;
    soonest = Number.POSITIVE_INFINITY;
    const late = line.takeIf(({ until }) => {
      if (until < now) return true;
      soonest = Math.min(soonest, until);
      return false;
    });
    refuseAll(late, new NoPlace());
  }

  /** The next one takes the place of one that ends, so `running` stays. */
  function passOn(): void {
    refuseLate();
    const waiting = line.next();
    if (waiting) waiting.enter();
    else running--;
  }

  const semaphore: Semaphore = async (work, from = ANYBODY, until = Number.POSITIVE_INFINITY) => {
    if (running === most) await enter(from, until);
    else running++;
    try {
      return await work();
    } catch (error) {
      if (isOfDatabase(error)) {
        const waiting = line.takeIf(() => true);
        refuseAll(waiting, unavailable(undefined, 'not_done', error.cause));
      }
      throw error;
    } finally {
      passOn();
    }
  };
  semaphore.held = () => running + line.size;
  return semaphore;
}
