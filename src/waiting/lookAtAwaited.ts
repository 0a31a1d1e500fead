import { queueIdOf } from '../ids.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Waiters } from './waiters.ts';

const finished = prepared('waiting/finished', row<{ id: string; finished: boolean }>());

const BATCH = 1000;

/** Looks at all jobs that clients wait for here, and wakes those whose job is finished, or gone. */
export function createLookAtAwaited({ db, waiters }: { db: Db; waiters: Waiters }) {
  async function endedOf(queueId: number, ids: string[]): Promise<string[]> {
    const rows = await db.query(finished, { queue_id: queueId, ids });
    const unfinished = new Set(rows.filter((row) => !row.finished).map((row) => row.id));
    return ids.filter((id) => !unfinished.has(id));
  }

  return async (): Promise<void> => {
    const byQueue = new Map<number, string[]>();
    for (const id of waiters.ids().sort()) {
      const queueId = queueIdOf(id) as number;
      byQueue.set(queueId, byQueue.get(queueId) ?? []);
      byQueue.get(queueId)?.push(id);
    }
    for (const [queueId, ids] of byQueue)
      for (let at = 0; at < ids.length; at += BATCH)
        waiters.wake(await endedOf(queueId, ids.slice(at, at + BATCH)));
  };
}
