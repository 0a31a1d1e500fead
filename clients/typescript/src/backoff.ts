import { DibsError } from './errors.ts';
import { after } from './timer.ts';

const BASE_MS = 100;
/** Workers must be back soon after Dibs is. */
const LONGEST_MS = 2000;

/**
 * How long to wait after this many failures in a row: a random share of a time that doubles (full jitter), so that many workers
 * do not come back in step. A Retry-After counts, with a random bit more.
 */
export function backoffMs(failures: number, error: unknown, random: () => number = Math.random): number {
  const most = Math.min(LONGEST_MS, BASE_MS * 2 ** Math.min(failures, 10));
  const asked = error instanceof DibsError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
  return asked + random() * (asked > 0 ? Math.min(most, asked) : most);
}

/** Waits, or less long if the signal fires. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      timer.clear();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = after(ms, done);
    signal?.addEventListener('abort', done);
  });
