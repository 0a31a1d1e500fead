import type { Clock } from '../clock.ts';
import type { Db } from '../db.ts';
import { planned } from '../sql.ts';
import { sweepHorizon } from './horizon.ts';

const expire = planned('windows_expire');

/** As many as windows_expire.sql deletes at once. */
const BATCH = 1000;

/** Deletes the windows of unique keys that are over. */
export function forgetWindows({ db, clock }: { db: Db; clock: Clock }): () => Promise<boolean> {
  const horizon = sweepHorizon(clock);
  return () =>
    horizon.from(async (from) => {
      const rows = await db.query<{ ended: string }>(expire, [from]);
      if (rows.length < BATCH) return undefined;
      return rows.reduce((last, row) => (row.ended > last ? row.ended : last), '');
    });
}
