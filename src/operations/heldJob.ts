/** No caller waits for an operation. So it waits longer for a lock than a request does. */
const PATIENT_MS = 5000;

/**
 * Finds the job of an operation that an open transaction holds: the portions of the operation become smaller and
 * smaller, until the limit 0 skips the job. Then they grow again. Whoever takes a unique key may keep it for long. Other
 * locks, such as that of a batch, end with a commit: the job is skipped only when that took too long.
 */
export function createHeldJob(now = () => performance.now()) {
  /** `since`: when it first met the lock, of those that it met one after the other. */
  let held: { id: string; limit: number; since: number | undefined } | undefined;
  const limitOf = (id: string) => (held?.id === id ? held.limit : undefined);
  const sinceOf = (id: string) => (held?.id === id ? held.since : undefined);

  return {
    /** The jobs that the next portion may have, of `size`. */
    most: (id: string, size: number): number => Math.max(1, Math.min(size, limitOf(id) ?? size)),

    /** Whether the next portion is the job that is skipped. */
    skips: (id: string): boolean => limitOf(id) === 0,

    /** A portion met the lock of another transaction. `isOfKey`: that of a unique key. */
    metLock(id: string, size: number, isOfKey: boolean): void {
      const since = sinceOf(id) ?? now();
      const half = Math.min(size, limitOf(id) ?? size) >> 1;
      const isTooLong = isOfKey || now() - since >= PATIENT_MS;
      held = { id, limit: isTooLong ? half : Math.max(1, half), since };
    },

    /** A portion met no lock. */
    metNoLock(id: string, size: number): void {
      const limit = limitOf(id);
      if (limit === undefined) return;
      // The next job may be held by the same transaction: it is not waited for again.
      const since = limit === 0 ? sinceOf(id) : undefined;
      held = limit >= size ? undefined : { id, limit: Math.max(1, 2 * limit), since };
    },
  };
}
