import type { Enqueue } from '../enqueue/enqueue.ts';
import { jobNotFound, leaseLost } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import type { Job } from '../job.ts';
import type { Tally } from '../metrics/tally.ts';
import { actOn, noteAct } from '../postgres/act.ts';
import { isKeyTaken } from '../postgres/errorClasses.ts';
import { gathering } from '../postgres/gathering.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { eachOf, inSlicesIf } from '../slices.ts';
import { traceInText } from '../traceparent.ts';
import type { Signed } from '../verbs/callers.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import type { Ack, Acked, Nack, Nacked } from '../verbs/settle.ts';
import type { Changed, Waiters } from '../waiting/waiters.ts';
import { ackedAs, completeJobs } from './complete.ts';
import type { FollowUpBatcher } from './followUpBatcher.ts';
import { currentJobs, prepareNack } from './giveBack.ts';
import type { Item, Untouched } from './settleBatch.ts';
import type { Settlement } from './verbs.ts';

const statements = {
  job: prepared('settle/untouched', row<Untouched>()),
  limits: planned('postgres/transaction_limits'),
  keepFollowUps: planned('settle/keep_follow_ups'),
};

/** A look at many jobs takes this number of them, with this number of statements at once. Other requests need connections, too. */
const MOST_TOGETHER = 1000;
const LOOKS_AT_ONCE = 3;

/** The text of more follow-ups is written in slices. */
const WRITTEN_AT_ONCE = 100;

/** The text of the follow-ups that a completed job keeps. */
function* textOf(jobs: Job[]): Generator<void, string> {
  const texts: string[] = [];
  yield* eachOf(jobs, (job) => texts.push(JSON.stringify(job)));
  return `[${texts.join()}]`;
}

/** Follow-ups belong to the trace of their request. Where it has none, to that of the job that they follow. */
function withTraceOf({ headers }: Untouched, jobs: NewJob[]): NewJob[] {
  const trace = traceInText(headers);
  return trace ? jobs.map((job) => (job.trace ? job : { ...job, trace })) : jobs;
}

/**
 * Acks and nacks with follow-ups. Each runs in a transaction of its own: its follow-ups exist if and only if it
 * counted. Without follow-ups, the plain verbs (verbs.ts) do the work.
 */
export function createFollowUps(context: {
  db: Database;
  queues: Queues;
  arrivals: Arrivals;
  waiters: Waiters;
  settlement: Settlement;
  enqueueWithin: Enqueue['enqueueWithin'];
  enqueueTogether: Enqueue['enqueueTogether'];
  ackWithJobs: FollowUpBatcher;
  groups: GroupHeads;
  tally: Tally;
}) {
  const { db, queues, arrivals, waiters, settlement, groups, tally } = context;
  const { enqueueWithin, enqueueTogether, ackWithJobs } = context;

  const lookAt = createSemaphore(LOOKS_AT_ONCE);

  /** Looks at the jobs of many items with one statement for each queue. A settlement of 1000 items may be all of them. */
  const look = gathering(MOST_TOGETHER, async (items: { queue: Queue; id: string }[]) => {
    const idsOf = new Map<number, string[]>();
    for (const { queue, id } of items) {
      const ids = idsOf.get(queue.id);
      if (ids) ids.push(id);
      else idsOf.set(queue.id, [id]);
    }
    const found = new Map<string, Untouched>();
    await Promise.all(
      Array.from(idsOf, ([queue_id, ids]) =>
        lookAt(async () => {
          for (const row of await db.query(statements.job, { queue_id, ids: ids.sort() }))
            found.set(row.id, row);
        }),
      ),
    );
    return items.map(({ id }) => found.get(id));
  });

  /** The job, if this is its last lease. @throws Refusal `lease_lost` or `job_not_found` */
  async function find(queue: Queue, { id, lease_token }: Item): Promise<Untouched> {
    const found = await look({ queue, id });
    if (!found) throw jobNotFound(id);
    if (found.lease_token !== lease_token) throw leaseLost(id);
    return found;
  }

  /** Runs `settle` in a transaction. It inserts the follow-ups where it calls `enqueueIn`. */
  async function withFollowUps<T>(
    jobs: NewJob[],
    at: PathOf,
    { by }: Signed,
    settle: (transaction: Db, enqueueIn: () => Promise<Job[]>) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    return enqueueWithin(
      jobs,
      at,
      async (transaction, enqueueIn) => {
        await transaction.query(statements.limits);
        return settle(transaction, enqueueIn);
      },
      { by },
    );
  }

  /** A job was acked, and its follow-ups are inserted. */
  async function acked(queue: Queue, row: Changed & Pick<Moved, 'id' | 'group'>, enqueued: Job[]) {
    tally.acked(queue.id, [row]);
    waiters.changed([row]);
    settlement.leaseEnded(queue);
    const answer: Acked = { id: row.id, state: 'completed', enqueued };
    await groups.advanceAfter([{ ...answer, group: row.group }]);
    return answer;
  }

  /** Acks a job together with others. Undefined when nothing was done: alone, it is told why. */
  async function ackTogether(queue: Queue, jobs: NewJob[], item: Ack, at: PathOf) {
    if (queue.retention_seconds !== 0) return undefined;
    const needsTrace = jobs.some(({ trace }) => trace === undefined);
    const done = await enqueueTogether(jobs, at, (followUps) =>
      ackWithJobs(queue, { item, followUps, needsTrace }),
    );
    return done && acked(queue, done.row, done.inserted);
  }

  async function ackWithFollowUps(jobs: NewJob[], item: Ack, at: PathOf): Promise<Acked> {
    const queue = await queues.ofJob(item.id);
    return (await ackTogether(queue, jobs, item, at)) ?? ackAlone(queue, jobs, item, at);
  }

  async function ackAlone(queue: Queue, jobs: NewJob[], item: Ack, at: PathOf): Promise<Acked> {
    // Look first. An ack that does not count must not create the queues of its follow-ups. A repeated ack is answered
    // again.
    const before = await find(queue, item);
    if (before.state === 'completed') return ackedAs(before);
    const traced = withTraceOf(before, jobs);
    const together = traced === jobs ? undefined : await ackTogether(queue, traced, item, at);
    if (together) return together;
    const done = await withFollowUps(traced, at, item, async (transaction, enqueueIn) => {
      // Complete the job first, so that a follow-up may have its unique_key.
      const [row] = await completeJobs(queue, [item], transaction);
      if (!row) return undefined;
      const enqueued = await enqueueIn();
      if (!row.state) return { row, enqueued };
      // A repeated ack gets the same answer. So this one shows the follow-ups as they are at the commit, and not later.
      const answered = enqueued.map((job) => ({ ...job }));
      await transaction.query(statements.keepFollowUps, {
        queue_id: queue.id,
        id: row.id,
        enqueued: await inSlicesIf(enqueued.length > WRITTEN_AT_ONCE, textOf(answered)),
      });
      return { row, enqueued: answered };
    });
    if (done) return acked(queue, done.row, done.enqueued);
    const since = await find(queue, item);
    if (since.state !== 'completed') throw leaseLost(item.id);
    return ackedAs(since);
  }

  async function nackWithFollowUps(jobs: NewJob[], item: Nack, at: PathOf): Promise<Nacked> {
    const queue = await queues.ofJob(item.id);
    const before = await find(queue, item);
    if (before.state === 'completed') throw leaseLost(item.id);
    const nack = async () => {
      const nackIn = await prepareNack(db, queue, [item], true);
      return withFollowUps(withTraceOf(before, jobs), at, item, async (transaction, enqueueIn) => {
        await noteAct(transaction, actOn([item]));
        const [row] = await nackIn(transaction);
        return row && { row, enqueued: row.state === 'dead' ? await enqueueIn() : [] };
      });
    };
    const done = await arrivals
      .watch(() => [queue.id], nack)
      .catch((error) => {
        if (!isKeyTaken(error)) throw error;
      });
    if (!done) {
      const { state } = await find(queue, item);
      const [job] = state === 'dead' ? await currentJobs(db, queue, [item.id]) : [];
      if (!job) throw leaseLost(item.id);
      // The sweeper made the job dead, and another job has its unique key by now. The job stays dead, but not because of
      // this nack. So no follow-up is inserted.
      return { ...job, enqueued: [] };
    }
    tally.nacked(queue.id, [done.row], before.state === 'dead');
    const [job] = await settlement.givenBack(queue, [done.row]);
    await groups.advanceAfter([job as Job]);
    return { ...(job as Job), enqueued: done.enqueued };
  }

  return {
    /** The job is done. Its follow-ups are inserted in the same transaction. `at` gives the JSON pointer of each. */
    ack: (item: Ack, at: PathOf): Promise<Acked> =>
      item.enqueue?.length ? ackWithFollowUps(item.enqueue, item, at) : settlement.ack(item),

    /** The attempt failed. If this makes the job dead, its follow-ups are inserted in the same transaction. */
    async nack(item: Nack, at: PathOf): Promise<Nacked> {
      if (item.enqueue?.length) return nackWithFollowUps(item.enqueue, item, at);
      const job = await settlement.nack(item);
      return item.enqueue ? { ...job, enqueued: [] } : job;
    },
  };
}
