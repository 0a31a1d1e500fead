import { Refusal } from '../errors.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';
import { EVENTS } from '../verbs/counting.ts';
import type { Counts } from './eventCounts.ts';
import { createLastMinute } from './lastMinute.ts';
import { createRowHolders } from './rowHolders.ts';
import type { Tally } from './tally.ts';
import { GONE, type TotalRow, type TotalRows } from './totalRow.ts';

/*
 * The totals of all replicas (table dibs.totals). Once a second, each replica adds what it has counted since, and reads
 * the sum. So every replica tells the same totals. A replica that is killed loses what it counted in its last second,
 * and no more.
 *
 * The busiest queues have a row of their own (rowHolders.ts). All the others share a row. What was counted for a queue
 * that loses its row goes to a third kind, GONE. So no total ever goes down, and no rate shows something at a time at
 * which it did not happen.
 */

const statements = {
  lock: prepared('metrics/lock'),
  leave: prepared('metrics/leave'),
  enter: prepared('metrics/enter'),
  add: prepared('metrics/add'),
  totals: prepared('metrics/totals', row<TotalRow>()),
};

/** The totals are read for this long after somebody has asked for them. */
const WATCHED_MS = 5 * 60_000;
const columnsOf = (counts: Counts) =>
  Object.fromEntries(
    EVENTS.map((event, i) => [event, [...counts.values()].map((numbers) => numbers[i] as number)]),
  ) as Record<(typeof EVENTS)[number], number[]>;

/** The rows without those of queues that were deleted. Their numbers are in GONE already. */
function withoutDeleted(rows: TotalRows): TotalRow[] {
  const all = [...rows.values()];
  const deleted = all.filter((row) => row.queue_id > 0 && row.name === null);
  if (deleted.length === 0) return all;
  const sumOf = (gone: TotalRow) =>
    Object.fromEntries(
      EVENTS.map((event) => [event, deleted.reduce((n, row) => n + row[event], gone[event])]),
    );
  return all
    .filter((row) => !deleted.includes(row))
    .map((row) => (row.queue_id === GONE ? { ...row, ...sumOf(row) } : row));
}

export function createTotals({ db, tally, most }: { db: Database; tally: Tally; most: number }) {
  const lastMinute = createLastMinute();
  const holders = createRowHolders({ most, lastMinute });
  let rows: TotalRows = new Map();
  let watchedUntil = Number.NEGATIVE_INFINITY;
  let movedAt = Number.NEGATIVE_INFINITY;
  let restUntil = 0;

  const isWatched = () => performance.now() < watchedUntil;
  const rowIds = () => [...rows.keys()].filter((id) => id > 0);

  async function flushOnce(): Promise<void> {
    const counts = tally.take();
    const { out, enter } = holders.changes(rows, counts);
    const calls = [];
    if (counts.size > 0) movedAt = performance.now();
    if (counts.size > 0 || out.length > 0 || enter.length > 0) calls.push(callOf(statements.lock, {}));
    if (out.length > 0) calls.push(callOf(statements.leave, { queue_ids: out }));
    if (enter.length > 0) calls.push(callOf(statements.enter, { queue_ids: enter, most }));
    if (counts.size > 0)
      calls.push(callOf(statements.add, { queue_ids: [...counts.keys()], ...columnsOf(counts) }));
    calls.push(callOf(statements.totals, {}));
    try {
      const read = (await db.pipeline(calls)).at(-1) as unknown as TotalRow[];
      rows = new Map(read.map((row) => [row.queue_id, row]));
      lastMinute.note(rows);
      tally.keepTimesOf(rowIds());
    } catch (error) {
      // After an unknown outcome they are not added again. Too few is better than twice.
      if (!(error instanceof Refusal && error.outcome === 'unknown')) tally.putBack(counts);
      throw error;
    }
  }

  let flushing: Promise<void> = Promise.resolve();

  /**
   * Adds what was counted, and reads the totals. Only one runs at a time, so that an older result never replaces a
   * newer one.
   */
  function flush(): Promise<void> {
    const flushed = flushing.then(flushOnce);
    flushing = flushed.catch(() => undefined);
    return flushed;
  }

  return {
    ageSeconds: lastMinute.ageSeconds,
    shrinking: lastMinute.shrinking,
    perSecond: lastMinute.perSecond,

    /** A run of the duty. It sends nothing while nothing happens and nobody looks. */
    async run(): Promise<void> {
      const began = performance.now();
      if (began < restUntil || !(tally.hasCounts() || isWatched())) return;
      await flush();
      restUntil = performance.now() + restAfter(performance.now() - began, 'totals');
    },

    flush,

    isWatched,

    /** Somebody looks at the metrics. */
    watch(): void {
      watchedUntil = performance.now() + WATCHED_MS;
    },

    /** When this replica last counted that something happened. */
    movedAt: (): number => movedAt,

    rows: (): TotalRow[] => withoutDeleted(rows),

    hasRow: (id: number): boolean => rows.has(id),

    /** The queues that have a row. */
    rowIds,

    /** Queues that have jobs, and should have rows if there are free ones. */
    propose: (ids: number[]): void => holders.propose(ids, rows),
  };
}

export type Totals = ReturnType<typeof createTotals>;
