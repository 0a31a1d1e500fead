import type { Lease } from './history.ts';

/** Answered times are cut to milliseconds, and the clocks of the tests and of the database differ a little. */
const TOLERANCE_MS = 5;

/** The most leases that ran at once. A lease runs until its end, or until its ack, nack or release is sent. */
export function mostAtOnce(leases: Pick<Lease, 'start' | 'until'>[]): number {
  const steps = leases
    .filter(({ start, until }) => until - TOLERANCE_MS > start)
    .flatMap(({ start, until }) => [
      { at: start, by: 1 },
      { at: until - TOLERANCE_MS, by: -1 },
    ])
    // A lease that ends at a moment does not run together with one that begins then.
    .sort((a, b) => a.at - b.at || a.by - b.by);
  let running = 0;
  let most = 0;
  for (const { by } of steps) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
}

/** The most leases that began in any window of this length. */
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
