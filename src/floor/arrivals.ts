import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';

/*
 * The order of arrival, as a replica knows it. A job takes its position before its transaction commits. Nearly every job
 * commits within LAG_MS. Scan floors (scanFloor.ts) rely on that. A job that may be later is marked, in the table
 * dibs.arrival_marks: dibs.enqueue marks its jobs in its own transaction, and `watch` marks those of Dibs' own
 * statements. Each replica sees each mark once, after its commit, and looks there for jobs that its floors passed over.
 */

/** A position that was drawn longer ago than this has committed, or is marked. */
export const LAG_MS = 250;
/** What a replica knows of the order is good for this time. */
const FRESH_MS = 2000;
/** Marks stay for this time, for replicas that the database did not answer meanwhile. */
const MARKS_KEPT_MS = 60_000;
const PRUNE_MS = 10_000;

const statements = {
  look: planned('floor/arrivals', row<Look>()),
  mark: planned('floor/mark_arrivals'),
  prune: planned('floor/prune_marks'),
  dropForeign: planned('floor/drop_foreign_marks'),
};

interface Look {
  last_value: number;
  server: string;
  snapshot: string;
  queue_id: number | null;
  first: number | null;
  last: number | null;
}

/** Some jobs of a queue committed, perhaps late. They have positions from `first` to `last`. */
export interface ArrivalMark {
  queue_id: number;
  first: number;
  last: number;
}

export interface ArrivalListeners {
  /** These marks became visible. */
  marked(marks: ArrivalMark[]): void;
  /**
   * The server is another one, or started again: what is known of positions may be wrong. If the order now ends before what
   * was known, the database was set back in time, to `end`: positions behind it come again.
   */
  setBack(end: number | undefined): void;
}

export function createArrivals(db: Db, now: () => number = () => performance.now()) {
  let listeners: ArrivalListeners = { marked: () => undefined, setBack: () => undefined };
  /** Ends of the order, and when each was known: one that is at least LAG_MS old, and those behind it. */
  let ends: { position: number; at: number }[] = [];
  let highest = -1;
  let server: string | undefined;
  /** The database may have been restored from another server. */
  let isRestored = true;
  /** After an outage it may be another database. */
  let isDistrusted = false;
  let snapshot: string | null = null;
  let looking: Promise<void> | undefined;
  /** Where jobs that may be late begin, by queue. They are not marked yet. */
  let late = new Map<number, number>();
  const snapshots: { snapshot: string; at: number }[] = [];

  const newest = () => ends.at(-1)?.position ?? -1;

  async function look(): Promise<void> {
    const rows = await db.query(statements.look, { since: snapshot, highest });
    const { last_value: position, server: asked, snapshot: seen } = rows[0] as Look;
    const at = now();
    isDistrusted = false;
    const isBehind = position < newest();
    const isSetBack = server !== undefined && (asked !== server || isBehind);
    if (isSetBack) {
      isRestored = true;
      ends = [];
      highest = -1;
    }
    server = asked;
    snapshot = seen;
    ends.push({ position, at });
    while (ends[1] && ends[1].at <= at - LAG_MS) ends.shift();
    highest = Math.max(highest, position);
    const marks = rows.filter((row): row is Look & ArrivalMark => row.queue_id !== null);
    if (isSetBack) listeners.setBack(isBehind ? position : undefined);
    else if (marks.length > 0) listeners.marked(marks);
  }

  async function prune(): Promise<void> {
    const at = now();
    if (snapshot !== null && at >= (snapshots.at(-1)?.at ?? Number.NEGATIVE_INFINITY) + PRUNE_MS)
      snapshots.push({ snapshot, at });
    const [first, second] = snapshots;
    if (!first || !second || second.at > at - MARKS_KEPT_MS) return;
    snapshots.shift();
    await db.query(statements.prune, { after: first.snapshot, up_to: second.snapshot });
  }

  async function dropForeign(): Promise<void> {
    isRestored = false;
    try {
      await db.query(statements.dropForeign);
    } catch (error) {
      isRestored = true;
      throw error;
    }
  }

  function noteLate(queueId: number, first: number): void {
    late.set(queueId, Math.min(first, late.get(queueId) ?? first));
  }

  async function markLate(): Promise<void> {
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
  }

  /** Learns the end of the order, and sees new marks. */
  function refresh(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    listen(to: ArrivalListeners): void {
      listeners = to;
    },

    refresh,

    /** The duty. */
    async follow(): Promise<boolean> {
      await markLate();
      if (isRestored) await dropForeign();
      await refresh();
      await prune();
      return false;
    },

    /** Whether the end of the order is known well enough. */
    isFresh: (): boolean => !isDistrusted && (ends.at(-1)?.at ?? Number.NEGATIVE_INFINITY) > now() - FRESH_MS,

    /** A statement failed. What is known counts no more until the next look. */
    distrust(): void {
      isDistrusted = true;
    },

    /** A position was leased. */
    leased(position: number): void {
      if (position > highest) highest = position;
    },

    /** The last position that is known. */
    newest,

    /** The server that this is known of. */
    server: (): string | undefined => server,

    /** All jobs up to this position have committed, or are marked. None when nothing was known long enough ago. */
    committedUpTo(): number | undefined {
      const at = now() - LAG_MS;
      return ends.findLast((end) => end.at <= at)?.position;
    },

    /**
     * Runs work that gives jobs of some queues new positions and commits. When it took long, the jobs are marked. So they are
     * when it failed: nobody knows whether it committed.
     */
    async watch<T>(queueIds: () => number[], work: () => Promise<T>): Promise<T> {
      const first = newest() + 1;
      const began = now();
      try {
        return await work();
      } finally {
        if (now() - began > LAG_MS) for (const queueId of queueIds()) noteLate(queueId, first);
      }
    },
  };
}

export type Arrivals = ReturnType<typeof createArrivals>;
