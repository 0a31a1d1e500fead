import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import { FIRST_ID } from '../ids.ts';
import type { JobState } from '../job.ts';
import { type Db, isKeyTaken, isLockTimeout } from '../postgres/pool.ts';
import { planned, type Statement } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { positionsFor } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';

const statements = {
  now: planned('admin/call_time'),
  purge: planned('admin/purge'),
  purgeReady: planned('admin/purge_ready'),
  purgeFair: planned('admin/purge_fair'),
  page: planned('admin/redrive_page'),
  redrive: planned('admin/redrive'),
  clear: planned('admin/queue_clear'),
  clearWindows: planned('admin/windows_clear'),
};

interface DeadJob {
  id: string;
  finished_at: string;
  wanted: boolean;
  unique_key: string | null;
}

/** The first ones with their unique keys: when they are back, the others cannot be. */
function firsts(jobs: DeadJob[]): DeadJob[] {
  const keys = new Set<string>();
  return jobs.filter(({ unique_key: key }) => key === null || (!keys.has(key) && keys.add(key)));
}

/** Purged in this order, no job escapes by going from one of these states to the next meanwhile. */
const TOWARDS_READY: JobState[] = ['scheduled', 'blocked', 'ready'];

/** Below everything that is ready: see floor.ts. */
const FIRST_READY = ['-101', '0'];
const FIRST_FAIR = ['-101', '', '0'];

interface Batch {
  count: number;
  /** Behind what the next one begins. */
  last: string[] | null;
  /** Whose heads it took. */
  groups?: string[] | null;
}

/** Verbs over any number of jobs: in chunks, each its own transaction, and none touches what came after the call. */
export function bulkVerbs(context: {
  db: Db;
  notifier: Notifier;
  throttle: BulkThrottle;
  groups: GroupHeads;
}) {
  const { db, notifier, throttle, groups } = context;

  async function now(): Promise<string> {
    const [row] = await db.query<{ now: string }>(statements.now);
    return (row as { now: string }).now;
  }

  /** Runs a statement for one batch of jobs after the other, from behind `first`; tells `each` of them. */
  async function inBatches(
    first: string[],
    batch: (after: string[], size: number) => Promise<Batch[]>,
    each: (done: Batch) => void = () => undefined,
  ): Promise<void> {
    const chunk = throttle.chunks();
    let after: string[] | null = first;
    while (after) {
      const from: string[] = after;
      await chunk(async (size) => {
        const [row] = (await batch(from, size)) as [Batch];
        after = row.last;
        each(row);
        return row.count;
      });
    }
  }

  async function revive(queue: Queue, dead: string[]): Promise<number> {
    if (dead.length === 0) return 0;
    try {
      const { ids, positions } = await positionsFor(db, dead);
      const rows = await db.query<Moved>(statements.redrive, [queue.id, ids, positions]);
      notifier.ready(queue.name);
      await groups.advanceAfter(rows);
      return rows.length;
    } catch (error) {
      if (!isKeyTaken(error) && !isLockTimeout(error)) throw error;
      // Somebody takes a key at this moment: the job that this is about stays dead, and no other.
      if (dead.length === 1) return 0;
      const half = dead.length >> 1;
      return (await revive(queue, dead.slice(0, half))) + (await revive(queue, dead.slice(half)));
    }
  }

  return {
    /** Deletes the jobs in these states; returns how many. */
    async purge(queue: Queue, states: JobState[]): Promise<number> {
      const called = await now();
      const headless = new Set<string>();
      let count = 0;
      const note = (done: Batch) => {
        count += done.count;
        for (const group of done.groups ?? []) headless.add(group);
      };
      const clear = (statement: Statement, first: string[], wish: unknown[] = []) =>
        inBatches(
          first,
          (after, size) => db.query(statement, [queue.id, ...wish, ...after, called, size]),
          note,
        );
      const inTurn = [...new Set(states)].sort((a, b) => TOWARDS_READY.indexOf(a) - TOWARDS_READY.indexOf(b));
      for (const state of inTurn)
        if (state === 'ready') {
          await clear(statements.purgeReady, FIRST_READY);
          await clear(statements.purgeFair, FIRST_FAIR);
        } else {
          await clear(statements.purge, [FIRST_ID], [state]);
        }
      // Not before: a purge of what is ready would go on to those whose turn came by it.
      await groups.advance(queue.id, headless);
      return count;
    },

    /** Makes dead jobs ready again, oldest first, attempts afresh; returns how many. */
    async redrive(queue: Queue, wish: { limit?: number; error_contains?: string }): Promise<number> {
      const called = await now();
      const limit = wish.limit ?? Number.POSITIVE_INFINITY;
      const chunk = throttle.chunks();
      let after = ['-infinity', FIRST_ID];
      let count = 0;
      let looked: number;
      do {
        looked = await chunk(async (size) => {
          const asked = [queue.id, ...after, called, wish.error_contains ?? null, size];
          const page = await db.query<DeadJob>(statements.page, asked);
          const last = page.at(-1);
          if (last) after = [last.finished_at, last.id];
          const wanted = firsts(page.filter((job) => job.wanted)).slice(0, limit - count);
          count += await revive(
            queue,
            wanted.map((job) => job.id),
          );
          return page.length;
        });
      } while (looked > 0 && count < limit);
      return count;
    },

    /** Forgets the unique keys of a queue that is gone. */
    async clearWindows(queue: Queue): Promise<void> {
      let rows: unknown[];
      do rows = await db.query(statements.clearWindows, [queue.id]);
      while (rows.length > 0);
    },

    /** Deletes every job, leased ones too. */
    async clear(queue: Queue): Promise<void> {
      await inBatches([FIRST_ID], (after, size) => db.query(statements.clear, [queue.id, ...after, size]));
    },
  };
}

export type Bulk = ReturnType<typeof bulkVerbs>;
