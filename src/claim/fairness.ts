interface Served {
  slot: number;
  priority: number;
  fairness_key: string | null;
}

/**
 * Which fairness key of a queue was served last, per priority: the next claim begins with the key behind it. It is a hint,
 * and each replica has its own: one that starts gives some keys a turn too early.
 */
export function createFairnessCursor() {
  const last = new Map<number, string>();
  return {
    /** As claim_fair.sql takes them: ranks, which are priorities negated, and keys; the empty one is none. */
    cursors: (): [number[], string[]] => [[...last.keys()], [...last.values()]],

    /** A claim leased these jobs. */
    leased(jobs: Served[]): void {
      for (const { priority, fairness_key } of jobs.toSorted((a, b) => a.slot - b.slot))
        last.set(-priority, fairness_key ?? '');
    },
  };
}

export type FairnessCursor = ReturnType<typeof createFairnessCursor>;
