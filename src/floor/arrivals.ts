import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { createArrivalMarks } from './arrivalMarks.ts';
import { createOrderEnd, LAG_MS } from './orderEnd.ts';

const look = planned('floor/arrivals', row<Look>());

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
   * The server is another one, or started again: what is known of positions may be wrong. If the order now ends before
   * what was known, the database was set back in time, to `end`: positions after it are given out again.
   */
  setBack(end: number | undefined): void;
}

/**
 * The order of arrival, as a replica knows it. A job takes its position before its transaction commits. Nearly every
 * job commits within LAG_MS. Scan floors (scanFloor.ts) rely on that. A job that may be later is marked, in the table
 * dibs.arrival_marks: dibs.enqueue marks its jobs in its own transaction, and `watch` marks those of Dibs' own
 * statements. Each replica sees each mark once, after its commit, and looks there for jobs that its floors passed over.
 */
export function createArrivals(db: Db, now: () => number = () => performance.now()) {
  let listeners: ArrivalListeners = { marked: () => undefined, setBack: () => undefined };
  const end = createOrderEnd(now);
  const marks = createArrivalMarks(db, now);
  let server: string | undefined;
  /** The snapshot of the last look. The next one sees the marks that became visible since. */
  let snapshot: string | null = null;
  let looking: Promise<void> | undefined;

  async function lookOnce(): Promise<void> {
    const rows = await db.query(look, { since: snapshot, highest: end.highest() });
    const { last_value: position, server: asked, snapshot: seen } = rows[0] as Look;
    const isEarlier = position < end.newest();
    const isSetBack = server !== undefined && (asked !== server || isEarlier);
    if (isSetBack) {
      marks.restored();
      end.forget();
    }
    server = asked;
    snapshot = seen;
    end.isAt(position);
    const found = rows.filter((row): row is Look & ArrivalMark => row.queue_id !== null);
    if (isSetBack) listeners.setBack(isEarlier ? position : undefined);
    else if (found.length > 0) listeners.marked(found);
  }

  /** Learns the end of the order, and sees new marks. */
  function refresh(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  return {
    newest: end.newest,
    leased: end.leased,
    isFresh: end.isFresh,
    distrust: end.distrust,
    committedUpTo: end.committedUpTo,

    listen(to: ArrivalListeners): void {
      listeners = to;
    },

    refresh,

    /** The duty. */
    async follow(): Promise<boolean> {
      await marks.markLate();
      await marks.dropForeign();
      await refresh();
      await marks.prune(snapshot);
      return false;
    },

    /** The server that all of this is known of. */
    server: (): string | undefined => server,

    /**
     * Runs work that gives jobs of some queues new positions and commits. When it took longer than
     * LAG_MS, the jobs are marked, also if it failed: it may have committed all the same.
     */
    async watch<T>(queueIds: () => number[], work: () => Promise<T>): Promise<T> {
      const first = end.newest() + 1;
      const began = now();
      try {
        return await work();
      } finally {
        if (now() - began > LAG_MS) for (const queueId of queueIds()) marks.noteLate(queueId, first);
      }
    },
  };
}

export type Arrivals = ReturnType<typeof createArrivals>;
