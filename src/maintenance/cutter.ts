import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

/** The rows of `owner` up to this id are deleted. */
interface Cut {
  owner: string;
  up_to: number;
}

interface Cuts {
  owners: string[];
  up_tos: number[];
  /** The last row that was looked at. */
  after: number;
}

/** How many rows of each table are kept. The owner of a row is its queue (history) or its caller (audit). */
const TABLES = {
  history: {
    most: 5_000_000,
    cuts: planned('maintenance/history_cuts', row<Cut>()),
    cut: planned('maintenance/cut_history', row<{ after: number | null }>()),
  },
  audit: {
    most: 1_000_000,
    cuts: planned('maintenance/audit_cuts', row<Cut>()),
    cut: planned('maintenance/cut_audit', row<{ after: number | null }>()),
  },
};

/**
 * Deletes rows of a table that has too many: the oldest rows of the owners that have most. So no owner can fill the
 * disk, or drive out the rows of others. Replicas that do it at the same time find about the same rows.
 */
export function cutTable({ db }: { db: Db }, name: keyof typeof TABLES, most = TABLES[name].most) {
  const { cuts: find, cut } = TABLES[name];
  let cuts: Cuts | undefined;

  return async (): Promise<boolean> => {
    if (!cuts) {
      const found = await db.query(find, { most });
      if (found.length === 0) return false;
      cuts = { owners: found.map((one) => one.owner), up_tos: found.map((one) => one.up_to), after: 0 };
    }
    const [looked] = await db.query(cut, cuts);
    const after = looked?.after ?? null;
    const isOver = after === null || cuts.up_tos.every((id) => id <= after);
    cuts = isOver ? undefined : { ...cuts, after };
    return !isOver;
  };
}
