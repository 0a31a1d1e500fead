import type { Call, Rows } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';

const statements = {
  gate: prepared('claim/limit_lock'),
  tidy: prepared('claim/limit_upkeep'),
  next: prepared('claim/rate_next'),
};

export const limitsClaims = (queue: Queue): boolean => queue.max_leased !== null || queue.rate_limit !== null;

/**
 * Runs a claiming statement on a queue that limits its claims, one after another over all replicas: all of it goes to the database at once,
 * so that others wait for one transaction there, and never for a replica. Tells in how many milliseconds the rate lets the
 * next job go.
 */
export async function limited<Row>(
  db: Database,
  queueId: number,
  claim: Call,
): Promise<{ rows: Row[]; nextMs: number | undefined }> {
  const calls: Call[] = [
    { statement: statements.gate, parameters: [queueId] },
    { statement: statements.tidy, parameters: [queueId] },
    claim,
    { statement: statements.next, parameters: [queueId] },
  ];
  const [, , rows, next] = (await db.pipeline(calls)) as [Rows, Rows, Rows, { seconds: number }[]];
  return { rows: rows as Row[], nextMs: next[0] && next[0].seconds * 1000 };
}

/** What comes later than that, waiting claims see by themselves (src/dispatch.ts). */
const LONGEST_MS = 1000;

/** Rings once for each queue, at the time that was named last, if that is soon. */
export function alarms(ring: (queue: string) => void) {
  const timers = new Map<string, NodeJS.Timeout>();
  return (queue: string, ms: number): void => {
    clearTimeout(timers.get(queue));
    timers.delete(queue);
    if (ms > LONGEST_MS) return;
    const timer = setTimeout(() => {
      timers.delete(queue);
      ring(queue);
    }, Math.ceil(ms));
    timers.set(queue, timer.unref());
  };
}
