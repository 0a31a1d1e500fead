import type { Clock } from '../postgres/clock.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { createScanHorizon } from './scanHorizon.ts';

const expire = planned('maintenance/prune_answers');

/** As many as idempotency_expire.sql deletes at once. */
const BATCH = 1000;

/** Deletes the answers of idempotency keys that have expired. */
export function pruneAnswers({ db, clock }: { db: Db; clock: Clock }): () => Promise<boolean> {
  const horizon = createScanHorizon(clock);
  return () =>
    horizon.from(async (from) => {
      const rows = await db.query<{ expires_at: string }>(expire, [from]);
      if (rows.length < BATCH) return undefined;
      return rows.reduce((last, row) => (row.expires_at > last ? row.expires_at : last), '');
    });
}
