interface Served {
  slot: number;
  priority: number;
  fairness_key: string | null;
}

/**
 * The fairness cursor of a queue: the key that was served last, for each priority. The next claim begins with the key behind it.
 * It is a hint, and each replica has its own: a replica that starts serves some keys too early once.
 */
export function createFairnessCursor() {
  const last = new Map<number, string>();
  return {
    /** As claim/fair.sql takes it. A rank is a negated priority. The empty key stands for the jobs without a key. */
    parameters: () => ({ cursor_ranks: [...last.keys()], cursor_keys: [...last.values()] }),

    /** A claim leased these jobs. */
    leased(jobs: Served[]): void {
      for (const { priority, fairness_key } of jobs.toSorted((a, b) => a.slot - b.slot))
        last.set(-priority, fairness_key ?? '');
    },
  };
}
