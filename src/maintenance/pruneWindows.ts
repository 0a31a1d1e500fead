import type { Clock } from '../postgres/clock.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { createScanHorizon } from './scanHorizon.ts';

const expire = planned('maintenance/prune_windows');

/** As many as windows_expire.sql deletes at once. */
const BATCH = 1000;

/** Deletes the windows of unique keys that are over. */
export function pruneWindows({ db, clock }: { db: Db; clock: Clock }): () => Promise<boolean> {
  const horizon = createScanHorizon(clock);
  return () =>
    horizon.from(async (from) => {
      const rows = await db.query<{ ended: string }>(expire, [from]);
      if (rows.length < BATCH) return undefined;
      return rows.reduce((last, row) => (row.ended > last ? row.ended : last), '');
    });
}
