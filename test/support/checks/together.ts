import { TOLERANCE_MS } from '../history.ts';
import type { Life } from '../life.ts';

/** Until when the job `by` had a lease, or its place in a group. */
export interface Hold {
  until: number;
  by: string;
}

export const NOBODY: Hold = { until: Number.NEGATIVE_INFINITY, by: '' };

export const later = (a: Hold, b: Hold): Hold => (b.until > a.until ? b : a);

/** Pairs of these jobs that were leased at once. */
export function leasedTogether(jobs: Life[]): string[] {
  const found: string[] = [];
  const leases = jobs.flatMap((life) => life.leases).toSorted((a, b) => a.taken - b.taken);
  let last = NOBODY;
  for (const { job, taken, until } of leases) {
    if (last.by !== job && taken < last.until - TOLERANCE_MS)
      found.push(`job ${job} was leased while job ${last.by} was`);
    last = later(last, { until, by: job });
  }
  return found;
}
