import { queueIdOf } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Waiters } from './waiters.ts';

const finished = prepared('waiting/finished', row<{ id: string; finished: boolean }>());

const POLL_MS = 1000;
const BATCH = 1000;

/**
 * Looks once a second which of the jobs that clients wait for here are finished, in case a notification was lost. An
 * outage shows within the same time: `failed` is called.
 */
export function pollWaiters(options: { db: Db; waiters: Waiters; failed(error: unknown): void }): {
  stop(): void;
} {
  const { db, waiters, failed } = options;
  let looking = false;

  /** Those of the jobs that are finished, or gone. */
  async function endedOf(queueId: number, ids: string[]): Promise<string[]> {
    const rows = await db.query(finished, { queue_id: queueId, ids });
    const unfinished = new Set(rows.filter((row) => !row.finished).map((row) => row.id));
    return ids.filter((id) => !unfinished.has(id));
  }

  async function look(): Promise<void> {
    const byQueue = new Map<number, string[]>();
    for (const id of waiters.ids().sort()) {
      const queueId = queueIdOf(id) as number;
      byQueue.set(queueId, byQueue.get(queueId) ?? []);
      byQueue.get(queueId)?.push(id);
    }
    for (const [queueId, ids] of byQueue)
      for (let at = 0; at < ids.length; at += BATCH)
        waiters.wake(await endedOf(queueId, ids.slice(at, at + BATCH)));
  }

  const poll = setInterval(() => {
    if (looking) return;
    looking = true;
    look()
      .catch(failed)
      .finally(() => {
        looking = false;
      });
  }, POLL_MS);
  poll.unref();

  return { stop: () => clearInterval(poll) };
}
