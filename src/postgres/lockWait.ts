import { unavailable } from '../errors.ts';
import { behind } from './act.ts';
import { isLockTimeout } from './errorClasses.ts';
import { type Call, callOf } from './pipeline.ts';
import type { Database, Db } from './pool.ts';
import { createSemaphore } from './semaphore.ts';
import { prepared } from './statements.ts';

/*
 * Users' own transactions may hold unique keys and queues for any time. These are the limits on how long Dibs waits for
 * their locks, and what it answers then.
 */

const lockTimeout = prepared('postgres/lock_timeout');

/** How long a replica waits for the lock of another replica, which commits within some milliseconds. */
export const SHORT_LOCK_WAIT_MS = 50;
/** How long a request waits for a transaction of a user or of another request. */
export const LONG_LOCK_WAIT_MS = 2000;
/** Requests that try at once, and requests that wait at once. The pool's other connections serve other work. */
const TRIED_AT_ONCE = 2;
const WAITING_AT_ONCE = 3;

/** A duration as PostgreSQL's setting `lock_timeout` takes it. */
export const lockTimeoutOf = (ms: number): string => `${Math.ceil(ms)}ms`;

/** Goes before statements in their transaction. Each of them waits for a lock at most this long. */
export const lockLimit = (ms: number): Call => callOf(lockTimeout, { lock_timeout: lockTimeoutOf(ms) });

/** Limits how long the statements of an open transaction wait for a lock, from now on. */
export const limitLockWait = (transaction: Db, ms: number) =>
  transaction.query(lockTimeout, { lock_timeout: lockTimeoutOf(ms) });

/**
 * Runs statements, each `query` and each `pipeline` in a transaction of its own, behind those of `before`. It waits for a
 * lock at most this long.
 */
export function withLockTimeout(
  db: Database,
  ms: number,
  before: Call[] = [],
): Pick<Database, 'query' | 'pipeline'> {
  const first = [lockLimit(ms), ...before];
  return {
    ...behind(db, first),
    async pipeline(calls, sent) {
      const results = await db.pipeline([...first, ...calls], sent);
      return results.slice(first.length);
    },
  };
}

/** Returns what `work` returns. @throws Refusal `unavailable` with this detail when it waits too long for a lock */
export async function orUnavailable<T>(work: Promise<T>, detail: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isLockTimeout(error) ? unavailable(detail) : error;
  }
}

/**
 * Runs work that may meet the lock of a transaction that somebody keeps open. It tries for a short time first. Only
 * work that meets such a lock waits longer. So waiting takes few connections, and other work does not wait behind it.
 * @throws Refusal `unavailable` when that takes too long
 */
export function createLockWait() {
  const tried = createSemaphore(TRIED_AT_ONCE);
  const waiting = createSemaphore(WAITING_AT_ONCE);

  return async function waitForLocks<T>(work: (lockWaitMs: number) => Promise<T>): Promise<T> {
    const until = performance.now() + LONG_LOCK_WAIT_MS;
    const detail = 'An open transaction holds the unique key or the queue for too long.';
    try {
      return await tried(() => work(SHORT_LOCK_WAIT_MS));
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    const wait = () => {
      const left = until - performance.now();
      if (left < SHORT_LOCK_WAIT_MS) throw unavailable(detail);
      return work(left);
    };
    return orUnavailable(
      waiting(async () => wait()),
      detail,
    );
  };
}

export type WaitForLocks = ReturnType<typeof createLockWait>;
