import { Refusal } from '../errors.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';
import { EVENTS, type Event, type PerSecond } from '../verbs/counting.ts';
import type { Counts, Tally } from './tally.ts';

/*
 * The totals of all replicas (table dibs.totals). Once a second, each replica adds what it has counted since, and reads the
 * sum. So every replica tells the same totals, and a replica that is killed takes a second of them along, not more.
 *
 * The busiest queues have a row of their own. All the others share a row. A queue gets its row when something happens in it
 * and a row is free, or when it is busier by far than one that has a row. What was counted for a queue that loses its row
 * goes to a third kind, GONE. So no total ever goes down, and no rate ever shows what did not happen at that time.
 */

export const EVERYTHING_ELSE = 0;
export const GONE = -1;

/** A row of dibs.totals, with its queue if it has one. */
export interface TotalRow extends Record<Event, number> {
  queue_id: number;
  name: string | null;
  paused: boolean | null;
  max_ready: number | null;
  max_leased: number | null;
}

const statements = {
  lock: prepared('metrics/lock'),
  leave: prepared('metrics/leave'),
  enter: prepared('metrics/enter'),
  add: prepared('metrics/add'),
  totals: prepared('metrics/totals', row<TotalRow>()),
};

/** The totals are read for this long after somebody has asked for them. */
const WATCHED_MS = 5 * 60_000;
/** Rates are those of this window, or of what there is of it, if that is not too short. A sample is kept this often. */
const WINDOW_MS = 60_000;
const LEAST_WINDOW_MS = 4000;
const SAMPLE_MS = 5000;
/** A queue without a row must be busier by this factor to get the row of another one. */
const BUSIER = 2;
/** So many rows change hands in one window. */
const MOST_MOVES = 10;
/**
 * The duty takes this share of the time. While an old transaction keeps the dead versions of the rows, each change of them
 * takes longer than the one before.
 */
const SHARE = 1 / 20;

type Sample = { at: number; rows: Map<number, TotalRow> };

const activityOf = (row: Record<Event, number>): number =>
  row.enqueued + row.deduplicated + row.claimed + row.rescued + row.expired;

function activityIn(numbers: Float64Array): number {
  const row = Object.fromEntries(EVENTS.map((event, i) => [event, numbers[i] as number]));
  return activityOf(row as Record<Event, number>);
}

const columnsOf = (counts: Counts) =>
  Object.fromEntries(
    EVENTS.map((event, i) => [event, [...counts.values()].map((numbers) => numbers[i] as number)]),
  ) as Record<Event, number[]>;

export function createTotals(context: { db: Database; tally: Tally; most: number }) {
  const { db, tally, most } = context;
  let rows = new Map<number, TotalRow>();
  let readAt: number | undefined;
  let watchedUntil = Number.NEGATIVE_INFINITY;
  const samples: Sample[] = [];
  /** How busy queues without a row were on this replica, in this window. */
  let busy = new Map<number, number>();
  let busySince = performance.now();
  let proposed: number[] = [];
  let restUntil = 0;

  const isWatched = () => performance.now() < watchedUntil;
  const ownIds = () => [...rows.keys()].filter((id) => id > 0);

  /** The sample from which the present window began. A queue that is newer has none. */
  const windowBegan = (id: number) => samples.find((sample) => sample.rows.has(id));

  function note(read: TotalRow[]): void {
    const at = performance.now();
    rows = new Map(read.map((row) => [row.queue_id, row]));
    readAt = at;
    tally.keepTimesOf(ownIds());
    if (at < (samples.at(-1)?.at ?? Number.NEGATIVE_INFINITY) + SAMPLE_MS) return;
    samples.push({ at, rows });
    while ((samples[0] as Sample).at < at - WINDOW_MS) samples.shift();
  }

  /** The queues that get a free row: those of which something was counted, the busiest first. */
  function entering(counts: Counts): number[] {
    if (ownIds().length >= most) return [];
    const counted = [...counts].filter(([id]) => !rows.has(id));
    counted.sort(([, a], [, b]) => activityIn(b) - activityIn(a));
    const wanted = [...counted.map(([id]) => id), ...proposed].slice(0, most);
    proposed = [];
    return wanted;
  }

  /** The queues that give their rows to busier ones, and those. It decides once in a window. */
  function moving(): { out: number[]; in: number[] } {
    const out = ownIds().filter((id) => rows.get(id)?.name === null);
    const surplus = ownIds().length - out.length - most;
    const now = performance.now();
    const isDue = now - busySince >= WINDOW_MS;
    if (surplus <= 0 && !isDue) return { out, in: [] };
    const ranked = [...busy].filter(([id]) => !rows.has(id)).sort(([, a], [, b]) => b - a);
    const quiet = [...rows.values()]
      .filter((row) => row.queue_id > 0 && row.name !== null)
      .map((row) => {
        const began = windowBegan(row.queue_id)?.rows.get(row.queue_id);
        return {
          id: row.queue_id,
          ever: activityOf(row),
          lately: began ? activityOf(row) - activityOf(began) : 0,
        };
      })
      .sort((a, b) => a.lately - b.lately || a.ever - b.ever);
    // Another replica may have been told a larger number of rows.
    for (const { id } of quiet.splice(0, Math.max(0, surplus))) out.push(id);
    const into: number[] = [];
    // While there are free rows, nobody has to leave one: `entering` gives them. A busy queue may have been deleted since.
    if (isDue && surplus === 0)
      for (const [i, [id, activity]] of ranked.slice(0, MOST_MOVES).entries()) {
        const other = quiet[i];
        if (!other || activity <= BUSIER * Math.max(1, other.lately)) break;
        out.push(other.id);
        into.push(id);
      }
    if (isDue) {
      busy = new Map();
      busySince = now;
    }
    return { out, in: into };
  }

  function noteBusy(counts: Counts): void {
    for (const [id, numbers] of counts)
      if (!rows.has(id)) busy.set(id, (busy.get(id) ?? 0) + activityIn(numbers));
  }

  /** What a queue was and is, and the seconds in between: a minute, or what there is of it. */
  function windowOf(id: number): { last: TotalRow; began: TotalRow; seconds: number } | undefined {
    const [last, first] = [rows.get(id), windowBegan(id)];
    const began = first?.rows.get(id);
    if (!last || !first || !began || readAt === undefined || readAt < first.at + LEAST_WINDOW_MS)
      return undefined;
    return { last, began, seconds: (readAt - first.at) / 1000 };
  }

  let flushing: Promise<void> = Promise.resolve();

  /** Adds what was counted, and reads the totals: once at a time, so that no older read comes after a newer one. */
  function flush(): Promise<void> {
    const flushed = flushing.then(flushOnce);
    flushing = flushed.catch(() => undefined);
    return flushed;
  }

  async function flushOnce(): Promise<void> {
    const counts = tally.take();
    noteBusy(counts);
    const { out, in: into } = moving();
    // A queue that was counted may be among those that are proposed.
    const enter = [...new Set([...into, ...entering(counts)])];
    const calls = [];
    const hasChanges = counts.size > 0 || out.length > 0 || enter.length > 0;
    if (hasChanges) calls.push(callOf(statements.lock, {}));
    if (out.length > 0) calls.push(callOf(statements.leave, { queue_ids: out }));
    if (enter.length > 0) calls.push(callOf(statements.enter, { queue_ids: enter, most }));
    if (counts.size > 0)
      calls.push(callOf(statements.add, { queue_ids: [...counts.keys()], ...columnsOf(counts) }));
    calls.push(callOf(statements.totals, {}));
    try {
      const results = await db.pipeline(calls);
      note(results.at(-1) as unknown as TotalRow[]);
    } catch (error) {
      // If nobody knows whether they were added, they are not added again: rather too few than too many.
      if (!(error instanceof Refusal && error.outcome === 'unknown')) tally.putBack(counts);
      throw error;
    }
  }

  return {
    /** The duty: costs nothing while nothing happens and nobody looks. */
    async run(): Promise<boolean> {
      const began = performance.now();
      if (began < restUntil || !(tally.hasCounts() || isWatched())) return false;
      await flush();
      const took = performance.now() - began;
      restUntil = performance.now() + restAfter(took, SHARE);
      return false;
    },

    flush,

    isWatched,

    /** Somebody looks at the metrics. */
    watch(): void {
      watchedUntil = performance.now() + WATCHED_MS;
    },

    /** The rows. What belongs to queues that were deleted since is among the numbers of GONE already. */
    rows(): TotalRow[] {
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
    },

    hasRow: (id: number): boolean => rows.has(id),

    /** Queues that have jobs, and should have rows if there are free ones. */
    propose(ids: number[]): void {
      if (ownIds().length < most) proposed = ids.slice(0, most);
    },

    /** Seconds since the totals were read, if they ever were. */
    ageSeconds: (): number | undefined =>
      readAt === undefined ? undefined : (performance.now() - readAt) / 1000,

    /** By how many jobs a second a queue shrinks: settled or dead, less enqueued, over the last minute. */
    shrinking(id: number): number | undefined {
      const window = windowOf(id);
      if (!window) return undefined;
      const { last, began, seconds } = window;
      // The difference of whole numbers is exact. One of rates may be a little more than nothing.
      const gone = last.acked + last.dead - began.acked - began.dead;
      return (gone - (last.enqueued - began.enqueued)) / seconds;
    },

    /** What happened in a queue over the last minute, for each second. */
    perSecond(id: number): PerSecond | undefined {
      const window = windowOf(id);
      if (!window) return undefined;
      const { last, began, seconds } = window;
      return Object.fromEntries(
        EVENTS.map((event) => [event, (last[event] - began[event]) / seconds]),
      ) as PerSecond;
    },
  };
}

export type Totals = ReturnType<typeof createTotals>;
