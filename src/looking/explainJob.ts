import type { ClaimsInDatabase } from '../claim/claims.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import type { Explanation } from '../verbs/jobs.ts';
import { claimLimitReached } from './claimLimits.ts';
import { type JobFacts, MOST_AHEAD, MOST_KEYS, reasonOf } from './jobReasons.ts';

const statement = planned('looking/explain_job', row<JobFacts>());

/**
 * Why a job is not running. `cursor` tells with which fairness key claims go on. Undefined when there is no such job.
 */
export async function explainJob(
  db: Db,
  queue: Queue,
  id: string,
  cursor: ReturnType<ClaimsInDatabase['fairnessCursor']>,
): Promise<Explanation | undefined> {
  const bounds = { max_ahead: MOST_AHEAD, max_keys: MOST_KEYS };
  const [facts] = await db.query(statement, { queue_id: queue.id, id, ...bounds, ...cursor });
  if (!facts) return undefined;
  const reason = reasonOf(facts);
  const limit = reason.code === 'next_in_line' ? await claimLimitReached(db, queue) : undefined;
  return { id: facts.id, state: facts.state, ...(limit ?? reason) };
}
