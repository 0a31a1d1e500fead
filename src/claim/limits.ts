import { type Call, callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { type Prepared, prepared } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';

const statements = {
  lock: prepared('claim/limit_lock'),
  upkeep: prepared('claim/limit_upkeep'),
  next: prepared('claim/rate_next'),
};

export const hasClaimLimit = (queue: Queue): boolean =>
  queue.max_leased !== null || queue.rate_limit !== null;

/**
 * Runs a claiming statement on a queue with a claim limit. Such claims run one after the other, over all replicas. The
 * whole transaction is sent at once: other claims wait until PostgreSQL has run it, and never for this replica.
 * `before` and `behind` run before and after the statement. `opensInMs` is the time until the rate limit allows another
 * job.
 */
export async function withinClaimLimits<Parameters extends object, Row>(
  db: Database,
  queueId: number,
  claim: Prepared<Parameters, Row>,
  parameters: Parameters,
  { before, behind }: { before: Call[]; behind: Call[] },
): Promise<{ rows: Row[]; opensInMs: number | undefined }> {
  const queue = { queue_id: queueId };
  const results = await db.pipeline([
    callOf(statements.lock, queue),
    callOf(statements.upkeep, queue),
    ...before,
    callOf(claim, parameters),
    callOf(statements.next, queue),
    ...behind,
  ]);
  const [rows, next] = results.slice(2 + before.length);
  const seconds = next?.[0]?.seconds as number | undefined;
  return { rows: rows as Row[], opensInMs: seconds === undefined ? undefined : seconds * 1000 };
}

/** No claim waits longer: `wait_seconds` is at most 60. A claim that comes later looks by itself. */
const LONGEST_MS = 60_000;

/** Calls `ring` for a queue after `ms`. A newer time for the same queue replaces the older one. */
export function alarms(ring: (queue: string) => void) {
  const timers = new Map<string, NodeJS.Timeout>();
  return (queue: string, ms: number): void => {
    clearTimeout(timers.get(queue));
    timers.delete(queue);
    if (ms > LONGEST_MS) return;
    const timer = setTimeout(
      () => {
        timers.delete(queue);
        ring(queue);
      },
      Math.max(0, Math.ceil(ms)),
    );
    timers.set(queue, timer.unref());
  };
}
