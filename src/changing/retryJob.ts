import { regainIfThere } from '../enqueue/regainKeys.ts';
import { jobFinished, jobLeased, uniqueKeyTaken } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { Job, JobRow } from '../job.ts';
import { actAs, beginningWith } from '../postgres/act.ts';
import { isKeyTaken } from '../postgres/errorClasses.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { RequestOf } from '../verbs.ts';

const statement = planned('changing/retry', row<JobRow>());

/**
 * The verb that makes a dead or scheduled job ready, or blocked in its group, with all its attempts. A ready or blocked
 * job stays as it is.
 */
export function createRetryJob(context: {
  db: Database;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  groups: GroupHeads;
  getJob(look: { id: string }): Promise<Job>;
}) {
  const { db, queues, arrivals, notifier, groups, getJob } = context;

  /** @throws Refusal `job_not_found`, `job_leased`, `job_finished`, `unique_key_taken` */
  return async ({ id, by }: RequestOf<'retryJob'>): Promise<Job> => {
    const queue = await queues.ofJob(id);
    const retryNow = async () => {
      const [position = 0] = await nextPositions(db, 1);
      // An open transaction may hold the unique key. Then this waits in the turn of the caller.
      const on = beginningWith(inTurnOf(db, { queue: queue.id, by }), actAs(by));
      return on.query(statement, { queue_id: queue.id, id, position });
    };
    const [row] = await arrivals
      .watch(() => [queue.id], retryNow)
      .catch((error) => {
        throw isKeyTaken(error) ? uniqueKeyTaken(id) : error;
      });
    if (row) {
      await regainIfThere({ db, notifier }, [row]);
      if (row.state === 'ready') notifier.ready(queue.name);
      await groups.advanceAfter([row]);
      return { ...row, queue: queue.name };
    }
    const { payload: _, ...job } = await getJob({ id });
    if (job.state === 'leased') throw jobLeased(id);
    if (job.state === 'completed' || job.state === 'cancelled') throw jobFinished(id, job.state);
    return job;
  };
}
