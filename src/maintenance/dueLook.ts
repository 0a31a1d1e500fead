import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { NextDue } from './nextLook.ts';
import type { ScanHorizon } from './scanHorizon.ts';

const nextDue = prepared('maintenance/next_due', row<NextDue | { duty: null; in_ms: null }>());

/** Looks for what is due next, and tells the other replicas. */
export const dueLook =
  (context: { db: Db; notifier: Notifier; leaseHorizon: ScanHorizon; scheduledHorizon: ScanHorizon }) =>
  async (): Promise<NextDue[]> => {
    const { db, notifier, leaseHorizon, scheduledHorizon } = context;
    const rows = await notifier.sending(() =>
      db.query(nextDue, {
        self: notifier.self,
        leases_from: leaseHorizon.dealtWith(),
        scheduled_from: scheduledHorizon.dealtWith(),
      }),
    );
    return rows.filter((one): one is NextDue => one.duty !== null);
  };
