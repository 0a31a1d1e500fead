const SHORTEST_SECONDS = 60;

/** Where a chart begins: at the first number that there is, if it is newer than what the chart may show. In seconds. */
export const chartStart = (first: number | undefined, minutes: number, now: number): number =>
  Math.min(Math.max(now - minutes * 60, first ?? 0), now - SHORTEST_SECONDS);
