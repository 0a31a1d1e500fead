import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import { actAs, beginningWith } from '../postgres/act.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Waiters } from '../waiting/waiters.ts';

interface Cancelled {
  id: string;
  state: JobState;
  group: string | null;
  awaited: boolean | null;
}

const statement = planned('batches/cancel_jobs', row<Cancelled>());

/** It goes on for so long. The duty does the rest. */
const LONGEST_MS = 1000;

/** Cancels waiting jobs of a batch, in chunks, for a second. Each chunk is a transaction of its own. Returns whether more wait. */
export type CancelJobs = (batch: string, by?: string) => Promise<boolean>;

export function createCancelJobs(context: {
  db: Database;
  queues: Queues;
  throttle: BulkThrottle;
  waiters: Waiters;
  settlement: Pick<Settlement, 'dropCancelled'>;
  groups: GroupHeads;
}): CancelJobs {
  const { db, queues, throttle, waiters, settlement, groups } = context;

  /** What has to be done after the commit of each chunk. */
  async function cancelled(jobs: Cancelled[]): Promise<void> {
    waiters.changed(jobs);
    for (const id of new Set(jobs.map((job) => queueIdOf(job.id) as number))) {
      const queue = await queues.byId(id);
      const own = jobs.filter((job) => queueIdOf(job.id) === id);
      if (queue) await settlement.dropCancelled(queue, own);
    }
    await groups.advanceAfter(jobs);
  }

  return async (batch, by) => {
    const on = beginningWith(db, actAs(by));
    const chunk = throttle.chunks();
    const until = performance.now() + LONGEST_MS;
    let count: number;
    do
      count = await chunk(async (limit) => {
        const jobs = await on.query(statement, { id: batch, limit });
        await cancelled(jobs);
        return jobs.length;
      });
    while (count > 0 && performance.now() < until);
    return count > 0;
  };
}
