import type { Db } from './pool.ts';
import { planned, row } from './statements.ts';

const now = planned('postgres/now', row<{ now: string }>());

/**
 * The database's time in milliseconds, as this replica last heard it. It serves only for the times in ids and for the
 * limit on `run_at`. The database itself decides everything that moves a job.
 */
export function databaseClock(db: Db) {
  let offset = 0;
  return {
    now: () => Date.now() + offset,
    async adjust(): Promise<void> {
      const asked = Date.now();
      const [row] = await db.query(now);
      if (row) offset = Date.parse(row.now) - (asked + Date.now()) / 2;
    },
  };
}

export type Clock = ReturnType<typeof databaseClock>;
