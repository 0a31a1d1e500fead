/**
 * Finds the job of an operation whose unique key an open transaction holds: the portions of the operation become
 * smaller and smaller, until the limit 0 skips the job. Then they grow again.
 */
export function createHeldJob() {
  let held: { id: string; limit: number } | undefined;
  const limitOf = (id: string) => (held?.id === id ? held.limit : undefined);

  return {
    /** The jobs that the next portion may have, of `size`. */
    most: (id: string, size: number): number => Math.max(1, Math.min(size, limitOf(id) ?? size)),

    /** Whether the next portion is the job that is skipped. */
    skips: (id: string): boolean => limitOf(id) === 0,

    /** A portion met the lock of another transaction. */
    metLock(id: string, size: number): void {
      held = { id, limit: Math.min(size, limitOf(id) ?? size) >> 1 };
    },

    /** A portion met no lock. */
    metNoLock(id: string, size: number): void {
      const limit = limitOf(id);
      if (limit !== undefined) held = limit >= size ? undefined : { id, limit: Math.max(1, 2 * limit) };
    },
  };
}
