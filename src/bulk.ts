import type { Db } from './db.ts';
import { FIRST_ID } from './ids.ts';
import { placesFor } from './positions.ts';
import type { Queue } from './queues.ts';
import { planned } from './sql.ts';
import type { JobState } from './types.ts';
import type { Wakes } from './wakes.ts';

const statements = {
  now: planned('now_text'),
  purge: planned('purge'),
  page: planned('redrive_page'),
  redrive: planned('redrive'),
  clear: planned('queue_clear'),
};

interface DeadJob {
  id: string;
  finished_at: string;
  wanted: boolean;
}

/** Verbs over any number of jobs: in batches of 1000, each its own transaction, and none touches what came after the call. */
export function bulkVerbs(context: { db: Db; wakes: Wakes }) {
  const { db, wakes } = context;

  async function now(): Promise<string> {
    const [row] = await db.query<{ now: string }>(statements.now);
    return (row as { now: string }).now;
  }

  return {
    /** Deletes the jobs in these states; returns how many. */
    async purge(queue: Queue, states: JobState[]): Promise<number> {
      const called = await now();
      let count = 0;
      for (const state of new Set(states)) {
        let last = FIRST_ID;
        for (;;) {
          const rows = await db.query<{ id: string }>(statements.purge, [queue.id, state, last, called]);
          if (rows.length === 0) break;
          count += rows.length;
          last = rows.reduce((highest, { id }) => (id > highest ? id : highest), last);
        }
      }
      return count;
    },

    /** Makes dead jobs ready again, oldest first, attempts afresh; returns how many. */
    async redrive(queue: Queue, wish: { limit?: number; error_contains?: string }): Promise<number> {
      const called = await now();
      const limit = wish.limit ?? Number.POSITIVE_INFINITY;
      let after = ['-infinity', FIRST_ID];
      let count = 0;
      while (count < limit) {
        const page = await db.query<DeadJob>(statements.page, [
          queue.id,
          ...after,
          called,
          wish.error_contains ?? null,
        ]);
        const last = page.at(-1);
        if (!last) break;
        after = [last.finished_at, last.id];
        const wanted = page.filter((job) => job.wanted).slice(0, limit - count);
        if (wanted.length === 0) continue;
        const { ids, positions } = await placesFor(
          db,
          wanted.map((job) => job.id),
        );
        const rows = await db.query(statements.redrive, [queue.id, ids, positions]);
        count += rows.length;
        wakes.ready(queue.name);
      }
      return count;
    },

    /** Deletes every job, leased ones too. */
    async clear(queue: Queue): Promise<void> {
      while ((await db.query(statements.clear, [queue.id])).length > 0);
    },
  };
}

export type Bulk = ReturnType<typeof bulkVerbs>;
