import { EVENTS, type PerSecond } from '../verbs/counting.ts';
import { activityOf, type TotalRow, type TotalRows } from './totalRow.ts';

export const MINUTE_MS = 60_000;
/**
 * Rates are of the last minute. If the rows do not go back that far, of the time since the first row, if that is
 * LEAST_MS or more. Every KEEP_MS, the rows are remembered.
 */
const LEAST_MS = 4000;
const KEEP_MS = 5000;

/** The totals of the last minute. What happened in it is the difference between the newest row and the oldest. */
export function createLastMinute() {
  const kept: { at: number; rows: TotalRows }[] = [];
  let last: { at: number; rows: TotalRows } | undefined;

  /** The oldest rows that have this queue. It may have got its row later than others. */
  const oldest = (id: number) => kept.find(({ rows }) => rows.has(id));

  /** The oldest and the newest row of a queue, and the seconds between them. */
  function spanOf(id: number): { now: TotalRow; before: TotalRow; seconds: number } | undefined {
    const first = oldest(id);
    const [now, before] = [last?.rows.get(id), first?.rows.get(id)];
    if (!last || !now || !first || !before || last.at < first.at + LEAST_MS) return undefined;
    return { now, before, seconds: (last.at - first.at) / 1000 };
  }

  return {
    /** The totals were read. */
    note(rows: TotalRows): void {
      const at = performance.now();
      last = { at, rows };
      if (at < (kept.at(-1)?.at ?? Number.NEGATIVE_INFINITY) + KEEP_MS) return;
      kept.push(last);
      while ((kept[0] as { at: number }).at < at - MINUTE_MS) kept.shift();
    },

    /** Seconds since the totals were read, if they ever were. */
    ageSeconds: (): number | undefined => last && (performance.now() - last.at) / 1000,

    /** How much a queue had to do lately. 0 if it just got its row. */
    activity(row: TotalRow): number {
      const before = oldest(row.queue_id)?.rows.get(row.queue_id);
      return before ? activityOf(row) - activityOf(before) : 0;
    },

    /** By how many jobs a second a queue shrinks: settled or dead, less enqueued. */
    shrinking(id: number): number | undefined {
      const span = spanOf(id);
      if (!span) return undefined;
      const { now, before, seconds } = span;
      // Totals are subtracted, and not rates. Rates are fractions: their difference may be slightly above 0 in a queue
      // that does not shrink.
      const gone = now.acked + now.dead - before.acked - before.dead;
      return (gone - (now.enqueued - before.enqueued)) / seconds;
    },

    /** What happened in a queue, for each second. */
    perSecond(id: number): PerSecond | undefined {
      const span = spanOf(id);
      if (!span) return undefined;
      const { now, before, seconds } = span;
      return Object.fromEntries(
        EVENTS.map((event) => [event, (now[event] - before[event]) / seconds]),
      ) as PerSecond;
    },
  };
}

export type LastMinute = ReturnType<typeof createLastMinute>;
