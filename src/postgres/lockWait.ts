import { HeldUp } from '../errors.ts';
import { isLockTimeout } from './errorClasses.ts';
import { createSemaphore, NoPlace, type Semaphore } from './semaphore.ts';
import type { Path } from './turns.ts';

/*
 * Users' own transactions may hold unique keys, queues and jobs for any time. This is the one rule for all statements
 * that may wait for such a lock. The pool applies it to every statement (pool.ts). See
 * docs/decisions/0048-one-rule-for-lock-waits.md.
 */

/** How long a statement tries. Another replica commits within some milliseconds. */
export const SHORT_LOCK_WAIT_MS = 50;
/** How long a request waits in all for a lock that it has met. */
export const LONG_LOCK_WAIT_MS = 2000;
/** Work waits for a lock for this time. Then it gives its place to the next one, and stands in line again. */
const SLICE_MS = 250;
/** Who has met a lock counts as held up for this time, and has few places for its tries. */
const HELD_UP_MS = 1000;
/** Shares of the connections: for waiting, and for trying where locks were met. */
const WAITING = 1 / 3;
const TRYING = 1 / 5;
/** So many wait for a place. */
const MOST_WAITING = 1000;

/** A duration as PostgreSQL's setting `lock_timeout` takes it. */
export const lockTimeoutOf = (ms: number): string => `${Math.ceil(ms)}ms`;

/** In whose turn a statement waits. */
export interface LockTurn {
  /**
   * The queue that it is about: its id, or its name where that is all that is known. Without it, statements of one kind
   * take turns.
   */
  queue?: number | string | undefined;
  by?: string | undefined;
  /** Where it takes a place for its first try. While it waits, it holds none. */
  slot?: Semaphore | undefined;
  /** It tries for so long only. Then its caller hears of the lock (isLockTimeout). */
  tryMs?: number | undefined;
  /** The locks of which its caller hears at once. It waits for others. */
  hears?: ((error: unknown) => boolean) | undefined;
  /** What it needs is known to be held: it waits without a try. */
  isHeld?: boolean | undefined;
  /**
   * It is a step of a transaction that has a place already. It tries for a short time and fails. Then the transaction
   * waits.
   */
  isPart?: boolean | undefined;
}

/** Whether its caller hears of this lock. */
const isTold = ({ tryMs, isPart, hears }: LockTurn, error: unknown): boolean =>
  tryMs !== undefined || isPart === true || hears?.(error) === true;

/** Runs work with this limit for each wait for a lock. It may run again after a wait that was too long. */
type LockWork<T> = (lockWaitMs: number) => Promise<T>;

/**
 * Runs work that may meet a lock. It tries for a short time first. What meets a lock waits in one of few places, in
 * turns, and is refused after LONG_LOCK_WAIT_MS. Whoever has met a lock just now has few places for its tries, too. So
 * work that meets no lock has connections, however much other work meets some.
 */
export function createLockWaits(connections: number) {
  const trying = createSemaphore(Math.max(1, Math.floor(connections * TRYING)), MOST_WAITING);
  const waiting = createSemaphore(Math.max(1, Math.floor(connections * WAITING)), MOST_WAITING);
  /** Until when somebody counts as held up, the oldest first. */
  const heldUp = new Map<unknown, number>();

  function noteLock(queue: unknown): void {
    const now = performance.now();
    heldUp.delete(queue);
    heldUp.set(queue, now + HELD_UP_MS);
    for (const [oldest, until] of heldUp) {
      if (until > now) break;
      heldUp.delete(oldest);
    }
  }

  const isHeldUpNow = (queue: unknown) => (heldUp.get(queue) ?? 0) > performance.now();

  const pathOf = ({ queue, by }: LockTurn, kind = ''): Path => [queue ?? kind, by ?? ''];

  function tryOnce<T>(work: LockWork<T>, turn: LockTurn, from: Path, until: number): Promise<T> {
    const attempt = () => work(turn.tryMs ?? SHORT_LOCK_WAIT_MS);
    if (isHeldUpNow(from[0]) && !turn.isPart) return trying(attempt, from, until);
    return turn.slot ? turn.slot(attempt, from) : attempt();
  }

  /** @throws the error of the lock after a wait that was too long */
  async function wait<T>(work: LockWork<T>, turn: LockTurn, from: Path, until: number): Promise<T> {
    for (;;) {
      try {
        return await waiting(
          () => work(Math.max(1, Math.min(SLICE_MS, until - performance.now()))),
          from,
          until,
        );
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
        noteLock(from[0]);
        if (isTold(turn, error)) throw error;
        if (until - performance.now() < SHORT_LOCK_WAIT_MS) throw error;
      }
    }
  }

  /**
   * Work of one `kind` takes turns where no queue is named. @throws Refusal `unavailable` when the wait takes too long
   */
  async function inTurn<T>(work: LockWork<T>, turn: LockTurn, kind?: string): Promise<T> {
    const until = performance.now() + LONG_LOCK_WAIT_MS;
    const from = pathOf(turn, kind);
    try {
      if (!turn.isHeld)
        try {
          return await tryOnce(work, turn, from, until);
        } catch (error) {
          if (!isLockTimeout(error)) throw error;
          noteLock(from[0]);
          if (isTold(turn, error)) throw error;
        }
      return await wait(work, turn, from, until);
    } catch (error) {
      const isLocked = isLockTimeout(error) && !isTold(turn, error);
      throw isLocked || error instanceof NoPlace ? new HeldUp(error) : error;
    }
  }

  return {
    inTurn,
    /** How much work waits for a lock, or for a place to do so. */
    held: (): number => trying.held() + waiting.held(),
  };
}

export type InTurn = ReturnType<typeof createLockWaits>['inTurn'];
