import type { Clock } from '../clock.ts';
import type { Db } from '../db.ts';
import { planned } from '../sql.ts';
import { sweepHorizon } from './horizon.ts';

const expire = planned('idempotency_expire');

/** As many as idempotency_expire.sql deletes at once. */
const BATCH = 1000;

/** Deletes the answers of idempotency keys that have expired. */
export function forgetAnswers({ db, clock }: { db: Db; clock: Clock }): () => Promise<boolean> {
  const horizon = sweepHorizon(clock);
  return () =>
    horizon.from(async (from) => {
      const rows = await db.query<{ expires_at: string }>(expire, [from]);
      if (rows.length < BATCH) return undefined;
      return rows.reduce((last, row) => (row.expires_at > last ? row.expires_at : last), '');
    });
}
