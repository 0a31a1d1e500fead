import { type Lease, TOLERANCE_MS } from '../history.ts';
import type { Life } from '../life.ts';

export interface Limits {
  max_leased?: number;
  rate_limit?: { jobs: number; per_seconds: number };
}

/** No queue has more leases at once, or more claimed jobs in a window, than its limits allow. */
export function limitViolations(lives: Life[], limits: Record<string, Limits>): string[] {
  return Object.entries(limits).flatMap(([queue, { max_leased, rate_limit }]) => {
    const leases = lives.filter(({ intent }) => intent.spec.queue === queue).flatMap((life) => life.leases);
    return [
      ...(max_leased === undefined ? [] : tooManyAtOnce(leases, max_leased)),
      ...(rate_limit === undefined ? [] : tooManyInWindow(leases, rate_limit)),
    ].map((found) => `queue ${queue}: ${found}`);
  });
}

/** Whether more of these leases ran at once. */
export function tooManyAtOnce(leases: Lease[], most: number): string[] {
  const changes = leases
    .filter(({ taken, until }) => taken < until - TOLERANCE_MS)
    .flatMap(({ taken, until }) => [
      { at: taken, by: 1 },
      { at: until - TOLERANCE_MS, by: -1 },
    ])
    .toSorted((a, b) => a.at - b.at || a.by - b.by);
  let running = 0;
  let highest = 0;
  for (const { by } of changes) {
    running += by;
    highest = Math.max(highest, running);
  }
  return highest > most ? [`${highest} leases ran at once, where ${most} may`] : [];
}

/** A claim happened between the start of its lease and its answer. A job counts when both are in the window. */
function tooManyInWindow(
  leases: Lease[],
  { jobs, per_seconds }: { jobs: number; per_seconds: number },
): string[] {
  const window = per_seconds * 1000 - TOLERANCE_MS;
  let highest = 0;
  for (const { taken: end } of leases) {
    const within = leases.filter(({ start, taken }) => taken <= end && start > end - window);
    highest = Math.max(highest, within.length);
  }
  return highest > jobs ? [`${highest} jobs were claimed within ${per_seconds} s, where ${jobs} may be`] : [];
}
