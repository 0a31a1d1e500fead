import { refuse, refuseHalfPairs } from '../enqueue/checks.ts';
import type { Enqueue } from '../enqueue/enqueue.ts';
import { checkBatches, holdOf } from '../enqueue/holdBatches.ts';
import { checked, queueNameOf } from '../enqueue/intoQueues.ts';
import { takeKey } from '../enqueue/keptJobs.ts';
import { headersOf } from '../enqueue/newJob.ts';
import { rareOf } from '../enqueue/rareFields.ts';
import { notTogether } from '../errors.ts';
import type { Job } from '../job.ts';
import type { Clock } from '../postgres/clock.ts';
import { batchAsRefusal } from '../postgres/errorClasses.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { Misplaced, type Places } from '../queues/elsewhere.ts';
import { type CreatedBatch, type Follower, followersOf, type NewBatch } from '../verbs/batches.ts';
import type { NewJob, PathOf } from '../verbs/enqueue.ts';
import { batchOf, type Created, keepCreated, recallCreated } from './keptBatch.ts';

const statements = {
  create: planned('batches/create', row<{ created_at: string }>()),
  follow: planned('batches/follow', row<{ batch_id: string }>()),
  close: planned('batches/close'),
};

/** Where the jobs of a request stand, and behind them its followers. */
function pathsOf(request: NewBatch): PathOf {
  const { jobs } = request;
  const followers = followersOf(request);
  return (i) => (i < jobs.length ? `/jobs/${i}` : `/${followers[i - jobs.length]?.kind}`);
}

/** Notes the followers of a batch, in the transaction that creates it. */
async function follow(
  transaction: Db,
  batch_id: string,
  followers: Follower[],
  times: (Date | null)[],
): Promise<void> {
  for (const { statement, parameters } of holdOf(followers.map(({ job: { batch = null } }) => ({ batch }))))
    await transaction.query(statement, parameters);
  for (const [i, { kind, job }] of followers.entries()) {
    const [noted] = await transaction.query(statements.follow, {
      batch_id,
      on_success: kind === 'on_success',
      queue: queueNameOf(job),
      delay_seconds: job.delay_seconds ?? 0,
      run_at: times[i]?.toISOString() ?? null,
      priority: job.priority ?? 0,
      max_attempts: job.max_attempts ?? null,
      headers: headersOf(job),
      payload: job.payload?.text ?? 'null',
      on_duplicate: job.on_duplicate ?? null,
      unique_until: job.unique_until ?? null,
      joins: job.batch ?? null,
      ...rareOf(job),
    });
    if (!noted) throw new OwnQueueGone();
  }
}

/** The queue of a batch or of a follower is gone: it was deleted since it was opened, or has left the database. */
class OwnQueueGone extends Error {}

const statesOf = (jobs: Job[]) => jobs.map(({ state }) => state);

/** Makes the function that creates a batch with its first jobs and its followers, once for each idempotency key. */
export function createCreateBatch(context: {
  db: Database;
  queues: Queues;
  clock: Clock;
  enqueue: Pick<Enqueue, 'enqueueWithin' | 'newId'>;
  /** Set where there are several databases. */
  crossing?: Places | undefined;
}) {
  const { db, queues, clock, enqueue, crossing } = context;

  /** All jobs of a batch, and what follows it, are in its database. @throws Refusal `queue_elsewhere` */
  async function refuseElsewhere(queue: string, jobs: NewJob[], at: PathOf): Promise<void> {
    if (!crossing) return;
    const names = jobs.map(queueNameOf);
    for (const name of new Set(names)) {
      const place = await crossing.findElsewhere(name);
      const path = `${at(names.indexOf(name))}/queue`;
      if (place) throw notTogether(path, place.database, `queue ${queue}`, crossing.self);
    }
  }

  /** Creates it in one transaction with its jobs. Undefined: a request with its key has created one meanwhile. */
  async function createIn(
    request: NewBatch,
    queueId: number,
    times: (Date | null)[],
  ): Promise<Created | undefined> {
    const { jobs, name = null, closed, trace, by, once } = request;
    const id = enqueue.newId(queueId);
    let own: Job[] = [];
    const created = await enqueue.enqueueWithin(
      jobs.map((job) => ({ ...job, batch: id })),
      pathsOf(request),
      async (transaction, enqueueIn) => {
        if (once && !(await takeKey(transaction, once))) return undefined;
        const traceparent = trace?.traceparent ?? null;
        const [row] = await transaction.query(statements.create, {
          ...{ id, queue_id: queueId, name, traceparent },
        });
        if (!row) throw new OwnQueueGone();
        await follow(transaction, id, followersOf(request), times);
        const inserted = await enqueueIn(id);
        if (closed) await transaction.query(statements.close, { id });
        own = inserted.filter(({ deduplicated }) => !deduplicated);
        const created = { id, created_at: row.created_at, states: statesOf(own) };
        if (once) await keepCreated(transaction, once, request.queue, created);
        return created;
      },
      { by, first: request.queue },
    );
    // The first job of a group becomes ready after the commit. A key has kept it as it was before.
    return created && !once ? { ...created, states: statesOf(own) } : created;
  }

  async function create(request: NewBatch): Promise<Created | undefined> {
    const { jobs, name } = request;
    refuseHalfPairs({ name }, '');
    const followers = followersOf(request);
    const all = [...jobs, ...followers.map(({ job }) => job)];
    const at = pathsOf(request);
    const times = checked(all, at, clock.now()).slice(jobs.length);
    for (const [i, { batch }] of jobs.entries())
      if (batch !== undefined) throw refuse(`${at(i)}/batch`, 'must be left out: it is this batch');
    for (;;) {
      if (await crossing?.findElsewhere(request.queue)) throw new Misplaced();
      await refuseElsewhere(request.queue, all, at);
      await checkBatches(
        db,
        followers.map(({ job }) => job),
      );
      const queue = await queues.open(request.queue);
      // A follower comes in the commit of a job. No queue can be placed there.
      for (const { job } of followers) await queues.open(queueNameOf(job));
      try {
        return await createIn(request, queue.id, times);
      } catch (error) {
        if (!(error instanceof OwnQueueGone)) throw batchAsRefusal(error);
        for (const name of [request.queue, ...followers.map(({ job }) => queueNameOf(job))])
          queues.changed(name);
      }
    }
  }

  return async (request: NewBatch): Promise<CreatedBatch> => {
    const { once } = request;
    // The look comes first: a request that was carried out must not create its queue again.
    const before = once && (await recallCreated(db, once));
    const created = before ?? (await create(request));
    if (created && !before) return batchOf(request, created);
    const given = created ?? (once && (await recallCreated(db, once)));
    return { ...batchOf(request, given as Created), replayed: true };
  };
}
