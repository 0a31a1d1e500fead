import type { Enqueue } from '../enqueue/enqueue.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { Db } from '../postgres/pool.ts';
import type { Queues } from '../queues/cache.ts';
import type { PathOf } from '../verbs/enqueue.ts';
import type { Ack, Acked, Nack, Nacked } from '../verbs/settle.ts';
import { createAckWithFollowUps } from './ackWithFollowUps.ts';
import type { FollowUpBatcher } from './followUpBatcher.ts';
import { createInTransaction } from './followUpTransaction.ts';
import { createFindLast } from './lastLease.ts';
import { createNackWithFollowUps } from './nackWithFollowUps.ts';
import type { Settlement } from './verbs.ts';

/**
 * Acks and nacks, of which some have follow-ups. Those run in one transaction with the follow-ups, which exist if and
 * only if the ack or nack counted. Without follow-ups, the plain verbs (verbs.ts) do the work.
 */
export function createFollowUps(context: {
  db: Db;
  queues: Queues;
  arrivals: Arrivals;
  settlement: Settlement;
  enqueueWithin: Enqueue['enqueueWithin'];
  enqueueTogether: Enqueue['enqueueTogether'];
  ackWithJobs: FollowUpBatcher;
  groups: GroupHeads;
}) {
  const { db, settlement, enqueueWithin } = context;
  const shared = {
    ...context,
    findLast: createFindLast(db),
    inTransaction: createInTransaction(enqueueWithin),
  };
  const ackWithFollowUps = createAckWithFollowUps(shared);
  const nackWithFollowUps = createNackWithFollowUps(shared);

  return {
    /** The job is done. `at` gives the JSON pointer of each follow-up in the request. */
    ack: (item: Ack, at: PathOf): Promise<Acked> =>
      item.enqueue?.length ? ackWithFollowUps(item, item.enqueue, at) : settlement.ack(item),

    /** The attempt failed. The follow-ups are inserted if this makes the job dead. */
    async nack(item: Nack, at: PathOf): Promise<Nacked> {
      if (item.enqueue?.length) return nackWithFollowUps(item, item.enqueue, at);
      const job = await settlement.nack(item);
      return item.enqueue ? { ...job, enqueued: [] } : job;
    },
  };
}
