import type { Db } from './pool.ts';
import { planned, row } from './statements.ts';

const now = planned('postgres/now', row<{ now: string }>());

/** How often it looks at the time. The quickest look counts: it is off by half of its time at most. */
const LOOKS = 3;

/**
 * The database's time in milliseconds, as this replica last heard it. It serves only for the times in ids, for the
 * limit on `run_at`, and for the ends of keys. The database itself decides everything that moves a job.
 */
export function databaseClock(db: Db) {
  let offset = 0;

  async function look(): Promise<{ offset: number; took: number }> {
    const asked = Date.now();
    const [row] = await db.query(now);
    const heard = Date.now();
    return { offset: row ? Date.parse(row.now) - (asked + heard) / 2 : offset, took: heard - asked };
  }

  return {
    now: () => Date.now() + offset,
    async adjust(): Promise<void> {
      let best = await look();
      for (let looks = 1; looks < LOOKS; looks++) {
        const next = await look();
        if (next.took < best.took) best = next;
      }
      offset = best.offset;
    },
  };
}

export type Clock = ReturnType<typeof databaseClock>;
