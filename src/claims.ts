import { randomUUID } from 'node:crypto';
import type { Db } from './db.ts';
import type { Queues } from './queues.ts';
import { prepared } from './sql.ts';
import type { JobRow, LeasedJob } from './types.ts';

const claim = prepared('claim');

/** One answer carries at most about this much payload, whatever its `limit`. */
export const CLAIM_BYTES = 16 * 2 ** 20;

/** One consumer's share of a claiming statement. */
export interface Consumer {
  limit: number;
  lease_seconds: number | undefined;
  worker: string | undefined;
}

/** Leases ready jobs of one queue to consumers, in their order, with one statement; an unknown queue has none. */
export function claiming(db: Db, queues: Queues) {
  return async function claimFor(name: string, consumers: Consumer[]): Promise<LeasedJob[][]> {
    const shares: LeasedJob[][] = consumers.map(() => []);
    const queue = await queues.byName(name);
    if (!queue) return shares;

    const first: number[] = [];
    const last: number[] = [];
    let slots = 0;
    for (const consumer of consumers) {
      first.push(slots + 1);
      slots += consumer.limit;
      last.push(slots);
    }
    const rows = await db.query<JobRow & { slot: number }>(claim, [
      queue.id,
      slots,
      CLAIM_BYTES,
      first,
      consumers.map(() => randomUUID()),
      consumers.map((c) => c.lease_seconds ?? queue.lease_seconds),
      consumers.map((c) => c.worker ?? null),
    ]);
    rows.sort((a, b) => a.slot - b.slot);
    let at = 0;
    for (const { slot, ...row } of rows) {
      while (slot > (last[at] as number)) at++;
      (shares[at] as LeasedJob[]).push({ ...row, queue: queue.name } as LeasedJob);
    }
    return shares;
  };
}
