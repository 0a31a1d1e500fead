import { unavailable } from '../errors.ts';
import type { Call } from './pipeline.ts';
import { type Database, type Db, isLockTimeout } from './pool.ts';
import { createSemaphore } from './semaphore.ts';
import { type Prepared, prepared, type Statement } from './statements.ts';

const statement = prepared('postgres/lock_timeout');

/** As long as replicas that want the same may keep each other waiting: a commit takes some milliseconds. */
export const SHORT_LOCK_WAIT_MS = 50;
/** As long as a request waits for a transaction of somebody else's. */
const LONG_MS = 2000;
/** So many requests are tried by themselves at once, and so many wait; the pool's other connections serve the rest. */
const TRIED_AT_ONCE = 2;
const WAITING_AT_ONCE = 3;

/** Lets the statements that follow it in its transaction wait so long for a lock, and no longer. */
export const lockTimeout = (ms: number): Call => ({ statement, parameters: [`${Math.ceil(ms)}ms`] });

export const longLockTimeout = lockTimeout(LONG_MS);

/** Runs prepared statements, each in a transaction of its own that waits no longer than so for a lock. */
export const withLockTimeout = (db: Database, ms: number): Db => ({
  async query<Row>(statement: Statement, parameters: unknown[] = []) {
    const [, rows] = await db.pipeline([lockTimeout(ms), { statement: statement as Prepared, parameters }]);
    return rows as Row[];
  },
});

/**
 * Runs what may run into the locks of a transaction that somebody keeps open: for a moment first, and only what meets one
 * waits longer, so that few connections are spent on it, and the others do not wait behind it.
 * @throws Refusal `unavailable` when that takes too long
 */
export function createLockWait() {
  const tried = createSemaphore(TRIED_AT_ONCE);
  const waiting = createSemaphore(WAITING_AT_ONCE);

  return async function waitForLocks<T>(work: (lockTimeoutMs: number) => Promise<T>): Promise<T> {
    try {
      return await tried(() => work(SHORT_LOCK_WAIT_MS));
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    const until = performance.now() + LONG_MS;
    try {
      return await waiting(() => work(Math.max(SHORT_LOCK_WAIT_MS, until - performance.now())));
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      throw unavailable('An open transaction holds the unique key or the queue for too long.');
    }
  };
}

export type WaitForLocks = ReturnType<typeof createLockWait>;
