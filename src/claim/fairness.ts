import type { ClaimedRow } from './leasedJob.ts';

type Served = Pick<ClaimedRow, 'id' | 'slot' | 'priority' | 'fairness_key' | 'stand_ins'>;

/** Whose turn a job took: in most cases, that of its own key. */
const turnOf = ({ id, priority, fairness_key, stand_ins }: Served) =>
  stand_ins?.[id] ?? { rank: -priority, key: fairness_key ?? '' };

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
      for (const job of jobs.toSorted((a, b) => a.slot - b.slot)) {
        const { rank, key } = turnOf(job);
        last.set(rank, key);
      }
    },
  };
}
