import type { Enqueue } from '../enqueue/enqueue.ts';
import { leaseLost } from '../errors.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { Job } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { eachOf, inSlicesIf } from '../slices.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Ack, Acked } from '../verbs/settle.ts';
import { ackedAs, completeJobs, type Done } from './complete.ts';
import type { FollowUpBatcher } from './followUpBatcher.ts';
import { type InTransaction, withTraceOf } from './followUpTransaction.ts';
import type { FindLast } from './lastLease.ts';
import type { Settlement } from './verbs.ts';

const keepFollowUps = planned('settle/keep_follow_ups');

/** The text of more follow-ups is written in slices. */
const WRITTEN_AT_ONCE = 100;

function* textOf(jobs: Job[]): Generator<void, string> {
  const texts: string[] = [];
  yield* eachOf(jobs, (job) => texts.push(JSON.stringify(job)));
  return `[${texts.join()}]`;
}

/** An ack that counted, with the follow-ups that it inserted. */
interface AckDone {
  row: Done;
  enqueued: Job[];
}

/** Acks a job and inserts its follow-ups. The job is completed first, so that a follow-up may have its unique_key. */
async function ackIn(
  transaction: Db,
  queue: Queue,
  item: Ack,
  enqueueIn: () => Promise<Job[]>,
): Promise<AckDone | undefined> {
  const [row] = await completeJobs(queue, [item], transaction);
  if (!row) return undefined;
  const enqueued = await enqueueIn();
  if (!row.state) return { row, enqueued };
  // A repeated ack gets the same answer. So this one shows the follow-ups as they are at the commit, and not later.
  const answered = enqueued.map((job) => ({ ...job }));
  await transaction.query(keepFollowUps, {
    queue_id: queue.id,
    id: row.id,
    enqueued: await inSlicesIf(enqueued.length > WRITTEN_AT_ONCE, textOf(answered)),
  });
  return { row, enqueued: answered };
}

/** Acks jobs that have follow-ups. */
export function createAckWithFollowUps(context: {
  queues: Queues;
  settlement: Pick<Settlement, 'acked'>;
  groups: GroupHeads;
  enqueueTogether: Enqueue['enqueueTogether'];
  ackWithJobs: FollowUpBatcher;
  inTransaction: InTransaction;
  findLast: FindLast;
}) {
  const { queues, settlement, groups, enqueueTogether, ackWithJobs, inTransaction, findLast } = context;

  async function acked(queue: Queue, { row, enqueued }: AckDone): Promise<Acked> {
    settlement.acked(queue, [row]);
    const answer: Acked = { id: row.id, state: 'completed', enqueued };
    await groups.advanceAfter([{ ...answer, group: row.group }]);
    return answer;
  }

  /** Acks a job together with others. Undefined when nothing was done: alone, it is told why. */
  async function ackTogether(
    queue: Queue,
    followUps: NewJob[],
    item: Ack,
    at: PathOf,
  ): Promise<Acked | undefined> {
    if (queue.retention_seconds !== 0) return undefined;
    const needsTrace = followUps.some(({ trace }) => trace === undefined);
    const done = await enqueueTogether(followUps, at, (jobs) =>
      ackWithJobs(queue, { item, followUps: jobs, needsTrace }),
    );
    return done && acked(queue, { row: done.row, enqueued: done.inserted });
  }

  async function ackAlone(queue: Queue, followUps: NewJob[], item: Ack, at: PathOf): Promise<Acked> {
    // Look first. An ack that does not count must not create the queues of its follow-ups. A repeated ack is answered
    // again.
    const before = await findLast(queue, item);
    if (before.state === 'completed') return ackedAs(before);
    const traced = withTraceOf(before, followUps);
    const together = traced === followUps ? undefined : await ackTogether(queue, traced, item, at);
    if (together) return together;
    const done = await inTransaction(traced, at, item, (transaction, enqueueIn) =>
      ackIn(transaction, queue, item, () => enqueueIn(before.batch)),
    );
    if (done) return acked(queue, done);
    const since = await findLast(queue, item);
    if (since.state !== 'completed') throw leaseLost(item.id);
    return ackedAs(since);
  }

  return async (item: Ack, followUps: NewJob[], at: PathOf): Promise<Acked> => {
    const queue = await queues.ofJob(item.id);
    return (await ackTogether(queue, followUps, item, at)) ?? ackAlone(queue, followUps, item, at);
  };
}
