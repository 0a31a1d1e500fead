import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';

/** Marks stay for this time, for replicas that the database did not answer meanwhile. */
const KEPT_MS = 60_000;
const PRUNE_MS = 10_000;

const statements = {
  mark: planned('floor/mark_arrivals'),
  prune: planned('floor/prune_marks'),
  dropForeign: planned('floor/drop_foreign_marks'),
};

/** Writes the marks of jobs that may have committed late, and deletes old marks. */
export function createArrivalMarks(db: Db, now: () => number) {
  /** Where jobs that may be late begin, by queue. They are not marked yet. */
  let late = new Map<number, number>();
  /** The database may have been restored from another server, with marks of that one. */
  let isRestored = true;
  /** Snapshots of looks at the marks, one every PRUNE_MS: marks that an old one shows are deleted. */
  const snapshots: { snapshot: string; at: number }[] = [];

  function noteLate(queueId: number, first: number): void {
    late.set(queueId, Math.min(first, late.get(queueId) ?? first));
  }

  return {
    /** Jobs of this queue may be late: those with positions from `first` on. */
    noteLate,

    /** Marks the jobs that were noted. */
    async markLate(): Promise<void> {
      if (late.size === 0) return;
      const marks = [...late];
      late = new Map();
      try {
        await db.query(statements.mark, {
          queue_ids: marks.map(([queueId]) => queueId),
          firsts: marks.map(([, first]) => first),
        });
      } catch (error) {
        for (const [queueId, first] of marks) noteLate(queueId, first);
        throw error;
      }
    },

    /** The server is another one, or the database was set back. */
    restored(): void {
      isRestored = true;
    },

    /** Drops the marks of another server, where there may be some. */
    async dropForeign(): Promise<void> {
      if (!isRestored) return;
      isRestored = false;
      try {
        await db.query(statements.dropForeign);
      } catch (error) {
        isRestored = true;
        throw error;
      }
    },

    /** Deletes marks that are older than KEPT_MS. `seen` is the snapshot of the last look at marks. */
    async prune(seen: string | null): Promise<void> {
      const at = now();
      if (seen !== null && at >= (snapshots.at(-1)?.at ?? Number.NEGATIVE_INFINITY) + PRUNE_MS)
        snapshots.push({ snapshot: seen, at });
      const [first, second] = snapshots;
      if (!first || !second || second.at > at - KEPT_MS) return;
      snapshots.shift();
      await db.query(statements.prune, { after: first.snapshot, up_to: second.snapshot });
    },
  };
}
