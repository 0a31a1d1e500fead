import type { Lease } from './history.ts';

/** Answered times are cut to milliseconds, and the clock of the tests is that of the database only nearly. */
const TOLERANCE_MS = 5;

/** How many leases ran at once at most: from when each began until it ran out, or its settling call was sent. */
export function mostAtOnce(leases: Pick<Lease, 'start' | 'until'>[]): number {
  const steps = leases
    .filter(({ start, until }) => until - TOLERANCE_MS > start)
    .flatMap(({ start, until }) => [
      { at: start, by: 1 },
      { at: until - TOLERANCE_MS, by: -1 },
    ])
    // What ends at a moment makes room for what begins then.
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let running = 0;
  let most = 0;
  for (const { by } of steps) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
}

/** How many leases began at most in any window of that length. */
export function mostInWindow(leases: Pick<Lease, 'start'>[], seconds: number): number {
  const starts = leases.map(({ start }) => start).sort((a, b) => a - b);
  const length = seconds * 1000 - TOLERANCE_MS;
  let first = 0;
  let most = 0;
  for (const [i, start] of starts.entries()) {
    while (start - (starts[first] as number) >= length) first++;
    most = Math.max(most, i - first + 1);
  }
  return most;
}
