import { createNewest } from '../newest.ts';

/** No caller waits for an operation. So it waits longer for a lock than a request does. */
const PATIENT_MS = 5000;
/** So many operations are remembered, those that met a lock last. No more of them run at once. */
const MOST = 100;

/**
 * Finds the job of an operation that an open transaction holds: the portions of the operation become smaller and
 * smaller, until the limit 0 skips the job. Then they grow again. Whoever takes a unique key may keep it for long. Other
 * locks, such as that of a batch, end with a commit: the job is skipped only when that took too long.
 */
export function createHeldJob(now = () => performance.now()) {
  /** By operation. `since`: when it first met the lock, of those that it met one after the other. */
  const held = createNewest<{ limit: number; since: number | undefined }>(MOST);

  return {
    /** The jobs that the next portion may have, of `size`. */
    most: (id: string, size: number): number => Math.max(1, Math.min(size, held.find(id)?.limit ?? size)),

    /** Whether the next portion is the job that is skipped. */
    skips: (id: string): boolean => held.find(id)?.limit === 0,

    /** A portion met the lock of another transaction. `isOfKey`: that of a unique key. */
    metLock(id: string, size: number, isOfKey: boolean): void {
      const before = held.find(id);
      const since = before?.since ?? now();
      const half = Math.min(size, before?.limit ?? size) >> 1;
      const isTooLong = isOfKey || now() - since >= PATIENT_MS;
      held.note(id, { limit: isTooLong ? half : Math.max(1, half), since });
    },

    /** A portion met no lock. */
    metNoLock(id: string, size: number): void {
      const before = held.find(id);
      if (!before) return;
      // The next job may be held by the same transaction: it is not waited for again.
      const since = before.limit === 0 ? before.since : undefined;
      if (before.limit >= size) held.forget(id);
      else held.note(id, { limit: Math.max(1, 2 * before.limit), since });
    },
  };
}
