import { sizeOf } from '../job.ts';
import { COPIES, SMALL_BYTES } from '../memory.ts';
import type { Queue } from '../queues/cache.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { Claim } from './claim.ts';
import { type LeasedRow, toLease } from './leasedJob.ts';

/**
 * Deals the rows of a statement out to the claims that it served, by their slots. `size` is how many UTF-16 units all the
 * jobs take.
 */
export function dealRows(
  rows: LeasedRow[],
  queue: Queue,
  claims: Claim[],
  firstSlots: number[],
): { jobs: LeasedJob[][]; size: number } {
  rows.sort((a, b) => a.slot - b.slot);
  let size = 0;
  let at = 0;
  const jobs = claims.map((claim, i) => {
    const end = firstSlots[i + 1] ?? Number.POSITIVE_INFINITY;
    const leased: LeasedJob[] = [];
    let own = 0;
    for (let row = rows[at]; row && row.slot < end; row = rows[++at]) {
      const job = toLease(row, queue, claim.lease_seconds);
      leased.push(job);
      own += sizeOf(job);
    }
    claim.owned = true;
    claim.bytes += own;
    if (own > SMALL_BYTES) claim.hold?.().add(own * (COPIES - 1));
    size += own;
    return leased;
  });
  return { jobs, size };
}
