import { jobFinished } from '../errors.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { Job, JobRow } from '../job.ts';
import { actAs, beginningWith } from '../postgres/act.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { RequestOf } from '../verbs.ts';
import type { Waiters } from '../waiting/waiters.ts';

const statement = planned('changing/cancel', row<JobRow>());

/**
 * The verb that cancels a job that waits or is dead. A leased job comes back `leased`, and its worker is asked to stop.
 */
export function createCancelJob(context: {
  db: Database;
  queues: Queues;
  waiters: Waiters;
  settlement: Settlement;
  groups: GroupHeads;
  getJob(look: { id: string }): Promise<Job>;
}) {
  const { db, queues, waiters, settlement, groups, getJob } = context;

  /** @throws Refusal `job_not_found`, `job_finished` */
  return async ({ id, by }: RequestOf<'cancelJob'>): Promise<Job> => {
    const queue = await queues.ofJob(id);
    const on = beginningWith(inTurnOf(db, { queue: queue.id, by }), actAs(by));
    const [row] = await on.query(statement, { queue_id: queue.id, id });
    if (!row) throw jobFinished(id, (await getJob({ id })).state);
    waiters.changed([row]);
    await settlement.dropCancelled(queue, [row]);
    await groups.advanceAfter([row]);
    return { ...row, queue: queue.name };
  };
}
