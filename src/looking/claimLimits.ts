import { hasClaimLimit } from '../claim/limits.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';

const statement = planned('looking/explain_limits', row<{ leased: number; next_at: string | null }>());

/** A claim limit that is reached. `until` is the time when it allows another job, if that is known. */
export interface ReachedLimit {
  code: 'max_leased_reached' | 'rate_limited';
  detail: string;
  until?: string;
}

/** The claim limit that keeps claims from getting a job of this queue, if one does. */
export async function claimLimitReached(db: Db, queue: Queue): Promise<ReachedLimit | undefined> {
  if (!hasClaimLimit(queue)) return undefined;
  const [row] = await db.query(statement, { queue_id: queue.id });
  const { max_leased, rate_limit } = queue;
  if (row && max_leased !== null && row.leased >= max_leased)
    return {
      code: 'max_leased_reached',
      detail: `The queue has as many leases as it may have (max_leased: ${max_leased}). One must be settled or run out first.`,
    };
  if (!row || row.next_at === null || rate_limit === null) return undefined;
  const { jobs, per_seconds } = rate_limit;
  return {
    code: 'rate_limited',
    detail: `The queue allows ${jobs} claimed jobs in ${per_seconds} s. It allows the next at ${row.next_at}.`,
    until: row.next_at,
  };
}
