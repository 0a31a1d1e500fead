import { leaseLost } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { Job, JobRow } from '../job.ts';
import { actOn, noteAct } from '../postgres/act.ts';
import { isKeyTaken } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Nack, Nacked } from '../verbs/settle.ts';
import { type InTransaction, withTraceOf } from './followUpTransaction.ts';
import { currentJobs, prepareNack } from './giveBack.ts';
import type { FindLast } from './lastLease.ts';
import type { Settlement } from './verbs.ts';

/** A nack that counted, with the follow-ups that it inserted: those of a job that it made dead. */
interface NackDone {
  row: JobRow;
  enqueued: Job[];
}

/** Nacks jobs that have follow-ups. */
export function createNackWithFollowUps(context: {
  db: Db;
  queues: Queues;
  arrivals: Arrivals;
  settlement: Pick<Settlement, 'nacked'>;
  groups: GroupHeads;
  inTransaction: InTransaction;
  findLast: FindLast;
}) {
  const { db, queues, arrivals, settlement, groups, inTransaction, findLast } = context;

  async function nack(
    queue: Queue,
    followUps: NewJob[],
    item: Nack,
    at: PathOf,
    batch: string | null,
  ): Promise<NackDone | undefined> {
    const nackIn = await prepareNack(db, queue, [item], true);
    return inTransaction(followUps, at, item, async (transaction, enqueueIn) => {
      await noteAct(transaction, actOn([item]));
      const [row] = await nackIn(transaction);
      return row && { row, enqueued: row.state === 'dead' ? await enqueueIn(batch) : [] };
    });
  }

  /**
   * The answer to a nack that did nothing. The sweeper made the job dead, and another job has its unique key by now:
   * then it stays dead, but not because of this nack. So no follow-up is inserted.
   */
  async function keptDead(queue: Queue, item: Nack): Promise<Nacked> {
    const { state } = await findLast(queue, item);
    const [job] = state === 'dead' ? await currentJobs(db, queue, [item.id]) : [];
    if (!job) throw leaseLost(item.id);
    return { ...job, enqueued: [] };
  }

  return async (item: Nack, followUps: NewJob[], at: PathOf): Promise<Nacked> => {
    const queue = await queues.ofJob(item.id);
    const before = await findLast(queue, item);
    if (before.state === 'completed') throw leaseLost(item.id);
    const traced = withTraceOf(before, followUps);
    const done = await arrivals
      .watch(
        () => [queue.id],
        () => nack(queue, traced, item, at, before.batch),
      )
      .catch((error) => {
        if (!isKeyTaken(error)) throw error;
      });
    if (!done) return keptDead(queue, item);
    const [job] = (await settlement.nacked(queue, [done.row], before.state === 'dead')) as [Job];
    await groups.advanceAfter([job]);
    return { ...job, enqueued: done.enqueued };
  };
}
