interface Served {
  slot: number;
  priority: number;
  fairness_key: string | null;
}

/**
 * The fairness cursor of a queue: the key that was served last, in each priority. The next claim begins with the key
 * after it. Each replica has its own cursor. It is a hint: after the start of a replica, some keys are served too early
 * once.
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
