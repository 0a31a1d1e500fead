import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../errors.ts';

/** Looks at the database begin at most this often, however many wrong keys come. */
const LOOK_MS = 50;
/** A look takes at most this long: a request must be answered within 5 s. */
const LONGEST_LOOK_MS = 4000;

const inTime = (work: Promise<void>) =>
  new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(unavailable()), LONGEST_LOOK_MS);
    work.finally(() => clearTimeout(late)).then(resolve, reject);
  });

/**
 * Looks that many share: all who call before a look begins get the same one. It sees every change that committed before
 * their calls.
 */
export function createRefresh(look: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let began = Number.NEGATIVE_INFINITY;
  let next: Promise<void> | undefined;

  async function lookNext(): Promise<void> {
    await running.catch(() => undefined);
    const pause = began + LOOK_MS - performance.now();
    if (pause > 0) await sleep(pause);
    next = undefined;
    began = performance.now();
    running = look();
    return running;
  }

  return () => {
    next ??= inTime(lookNext());
    return next;
  };
}
