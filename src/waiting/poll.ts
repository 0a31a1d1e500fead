import { queueIdOf } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Waiters } from './waiters.ts';

const finished = prepared('waiting/finished', row<{ id: string; finished: boolean }>());

const POLL_MS = 1000;
const BATCH = 1000;

/**
 * Looks once a second which of the jobs that clients wait for here are finished, in case a notification was lost. It
 * does not while the replica rests. An outage shows within the same time: `failed` is called.
 */
export function pollWaiters(options: {
  db: Db;
  waiters: Waiters;
  isAwake(): boolean;
  failed(error: unknown): void;
}) {
  const { db, waiters, isAwake, failed } = options;
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

  function lookOnce(): void {
    if (looking) return;
    looking = true;
    look()
      .catch(failed)
      .finally(() => {
        looking = false;
      });
  }

  const poll = setInterval(() => {
    if (isAwake()) lookOnce();
  }, POLL_MS);
  poll.unref();

  return { look: lookOnce, stop: () => clearInterval(poll) };
}
