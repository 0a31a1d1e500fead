import type { Db } from '../db.ts';
import { planned } from '../sql.ts';
import type { JobState } from '../types.ts';

const outlived = planned('outlived');
const forget = planned('forget');

/** As many as forget.sql deletes at once. */
const BATCH = 1000;

/** Deletes finished jobs that outlived their queue's retention. */
export const forgetOutlived = (db: Db) => async (): Promise<boolean> => {
  let more = false;
  const found = await db.query<{ queue_id: number; state: JobState; retention_seconds: number }>(outlived);
  for (const { queue_id, state, retention_seconds } of found) {
    const rows = await db.query(forget, [queue_id, state, retention_seconds]);
    more ||= rows.length === BATCH;
  }
  return more;
};
