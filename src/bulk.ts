import type { Db } from './db.ts';
import { FIRST_ID } from './ids.ts';
import type { Pace } from './pace.ts';
import { placesFor } from './positions.ts';
import type { Queue } from './queues.ts';
import { planned } from './sql.ts';
import type { JobState } from './types.ts';
import type { Wakes } from './wakes.ts';

const statements = {
  now: planned('now_text'),
  purge: planned('purge'),
  purgeReady: planned('purge_ready'),
  purgeFair: planned('purge_fair'),
  page: planned('redrive_page'),
  redrive: planned('redrive'),
  clear: planned('queue_clear'),
};

interface DeadJob {
  id: string;
  finished_at: string;
  wanted: boolean;
}

/** Below everything that is ready: see floor.ts. */
const FIRST_READY = ['-101', '0'];
const FIRST_FAIR = ['-101', '', '0'];

interface Batch {
  count: number;
  /** Behind what the next one begins. */
  last: string[] | null;
}

/** Verbs over any number of jobs: in chunks, each its own transaction, and none touches what came after the call. */
export function bulkVerbs(context: { db: Db; wakes: Wakes; pace: Pace }) {
  const { db, wakes, pace } = context;

  async function now(): Promise<string> {
    const [row] = await db.query<{ now: string }>(statements.now);
    return (row as { now: string }).now;
  }

  /** Runs a statement for one batch of jobs after the other, from behind `first`; returns how many there were. */
  async function inBatches(
    first: string[],
    batch: (after: string[], size: number) => Promise<Batch[]>,
  ): Promise<number> {
    const chunk = pace.chunks();
    let after: string[] | null = first;
    let count = 0;
    while (after) {
      const from: string[] = after;
      count += await chunk(async (size) => {
        const [row] = (await batch(from, size)) as [Batch];
        after = row.last;
        return row.count;
      });
    }
    return count;
  }

  async function revive(queue: Queue, dead: string[]): Promise<number> {
    if (dead.length === 0) return 0;
    const { ids, positions } = await placesFor(db, dead);
    const rows = await db.query(statements.redrive, [queue.id, ids, positions]);
    wakes.ready(queue.name);
    return rows.length;
  }

  return {
    /** Deletes the jobs in these states; returns how many. */
    async purge(queue: Queue, states: JobState[]): Promise<number> {
      const called = await now();
      let count = 0;
      for (const state of new Set(states))
        count +=
          state === 'ready'
            ? (await inBatches(FIRST_READY, (after, size) =>
                db.query(statements.purgeReady, [queue.id, ...after, called, size]),
              )) +
              (await inBatches(FIRST_FAIR, (after, size) =>
                db.query(statements.purgeFair, [queue.id, ...after, called, size]),
              ))
            : await inBatches([FIRST_ID], (after, size) =>
                db.query(statements.purge, [queue.id, state, ...after, called, size]),
              );
      return count;
    },

    /** Makes dead jobs ready again, oldest first, attempts afresh; returns how many. */
    async redrive(queue: Queue, wish: { limit?: number; error_contains?: string }): Promise<number> {
      const called = await now();
      const limit = wish.limit ?? Number.POSITIVE_INFINITY;
      const chunk = pace.chunks();
      let after = ['-infinity', FIRST_ID];
      let count = 0;
      let looked: number;
      do {
        looked = await chunk(async (size) => {
          const asked = [queue.id, ...after, called, wish.error_contains ?? null, size];
          const page = await db.query<DeadJob>(statements.page, asked);
          const last = page.at(-1);
          if (last) after = [last.finished_at, last.id];
          const wanted = page.filter((job) => job.wanted).slice(0, limit - count);
          count += await revive(
            queue,
            wanted.map((job) => job.id),
          );
          return page.length;
        });
      } while (looked > 0 && count < limit);
      return count;
    },

    /** Deletes every job, leased ones too. */
    async clear(queue: Queue): Promise<void> {
      await inBatches([FIRST_ID], (after, size) => db.query(statements.clear, [queue.id, ...after, size]));
    },
  };
}

export type Bulk = ReturnType<typeof bulkVerbs>;
