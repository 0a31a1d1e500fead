import { EVENTS, type Event } from '../verbs/counting.ts';

/** The row of all queues that have none of their own. */
export const EVERYTHING_ELSE = 0;
/** The row of what was counted for queues that lost theirs, or were deleted. */
export const GONE = -1;

/** A row of dibs.totals, with its queue if it has one. */
export interface TotalRow extends Record<Event, number> {
  queue_id: number;
  name: string | null;
  paused: boolean | null;
  max_ready: number | null;
  max_leased: number | null;
  alert_after_seconds: number | null;
}

export type TotalRows = Map<number, TotalRow>;

/** How much there was to do. */
export const activityOf = (row: Record<Event, number>): number =>
  row.enqueued + row.deduplicated + row.claimed + row.rescued + row.expired;

/** The same of numbers in the order of EVENTS. */
export function activityIn(numbers: Float64Array): number {
  const row = Object.fromEntries(EVENTS.map((event, i) => [event, numbers[i] as number]));
  return activityOf(row as Record<Event, number>);
}
