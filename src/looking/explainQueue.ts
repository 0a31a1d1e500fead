import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import type { QueueExplanation } from '../verbs/queues.ts';
import { claimLimitReached } from './claimLimits.ts';

interface Found {
  ready_id: string | null;
  /** Fairness keys alternate, so nobody can tell which job is next. */
  has_keys: boolean | null;
  scheduled_id: string | null;
  run_at: string | null;
  /** No scheduled job is due before this time. To tell the exact time would take a long scan. */
  not_before: string | null;
  blocked_id: string | null;
  leased_id: string | null;
  lease_expires_at: string | null;
}

const statement = planned('looking/explain_queue', row<Found>());
const importing = planned('looking/importing', row<{ is_importing: boolean }>());

/** A queue whose import has not ended. */
export const IMPORTING =
  'An import of the queue has not ended. Until then, it is paused. If the import broke off, run it again with the same file.';

type Reason = Omit<QueueExplanation, 'queue'>;

/** The reason when no job is ready. */
function nothingReady(found: Found): Reason {
  const { scheduled_id, run_at, not_before, blocked_id, leased_id, lease_expires_at } = found;
  if (scheduled_id !== null && run_at !== null)
    return {
      code: 'all_delayed',
      detail: `No job is ready. The first of the scheduled jobs is ready at ${run_at}.`,
      until: run_at,
      job_id: scheduled_id,
    };
  if (not_before !== null)
    return {
      code: 'all_delayed',
      detail: `No job is ready. The first of the scheduled jobs is ready after ${not_before}.`,
    };
  if (blocked_id !== null)
    return {
      code: 'all_blocked',
      detail:
        'No job is ready. Every waiting job is blocked: another job of its group goes before it, or its group is paused.',
      job_id: blocked_id,
    };
  if (leased_id !== null && lease_expires_at !== null)
    return {
      code: 'all_leased',
      detail: `Every job is with a worker. The first of the leases runs out at ${lease_expires_at}.`,
      until: lease_expires_at,
      job_id: leased_id,
    };
  return { code: 'empty', detail: 'The queue has no unfinished job.' };
}

/** What a claim from this queue would get now. claim/claim.ts lists every reason why a claim gets nothing. */
export async function explainQueue(db: Db, queue: Queue): Promise<QueueExplanation> {
  const { name } = queue;
  if (queue.paused) {
    const [row] = await db.query(importing, { queue_id: queue.id });
    return {
      queue: name,
      code: 'paused',
      detail: row?.is_importing ? IMPORTING : 'The queue is paused. A claim gets no job until it is resumed.',
    };
  }
  const [found] = (await db.query(statement, { queue_id: queue.id })) as [Found];
  if (found.ready_id === null) return { queue: name, ...nothingReady(found) };
  const reached = await claimLimitReached(db, queue);
  if (reached) return { queue: name, ...reached };
  return {
    queue: name,
    code: 'ready',
    detail: 'A job is ready. A claim gets it now.',
    ...(found.has_keys ? {} : { job_id: found.ready_id }),
  };
}
