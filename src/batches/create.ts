import { refuse } from '../enqueue/checks.ts';
import type { Enqueue } from '../enqueue/enqueue.ts';
import { holdOf } from '../enqueue/holdBatches.ts';
import { checked, queueNameOf } from '../enqueue/intoQueues.ts';
import { headersOf } from '../enqueue/newJob.ts';
import { rareOf } from '../enqueue/rareFields.ts';
import { queueElsewhere } from '../errors.ts';
import type { Clock } from '../postgres/clock.ts';
import { batchAsRefusal } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { Places } from '../queues/elsewhere.ts';
import { BATCH_FOLLOWERS, type BatchFollower, type NewBatch } from '../verbs/batches.ts';
import type { NewJob } from '../verbs/enqueue.ts';

const statements = {
  create: planned('batches/create', row<{ id: string }>()),
  follow: planned('batches/follow'),
  close: planned('batches/close'),
};

interface Follower {
  kind: BatchFollower;
  job: NewJob;
}

const followersOf = (request: NewBatch): Follower[] =>
  BATCH_FOLLOWERS.flatMap((kind) => {
    const job = request[kind];
    return job ? [{ kind, job }] : [];
  });

/** Notes the followers of a batch, in the transaction that creates it. */
async function follow(
  transaction: Db,
  batch_id: string,
  followers: Follower[],
  times: (Date | null)[],
): Promise<void> {
  for (const { statement, parameters } of holdOf(followers.map(({ job: { batch = null } }) => ({ batch }))))
    await transaction.query(statement, parameters);
  for (const [i, { kind, job }] of followers.entries())
    await transaction.query(statements.follow, {
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
}

/** Makes the function that creates a batch with its first jobs and its followers. It returns the id. */
export function createCreateBatch(context: {
  queues: Queues;
  clock: Clock;
  enqueue: Pick<Enqueue, 'enqueueWithin' | 'newId'>;
  /** Set where there are several databases. */
  crossing?: Places | undefined;
}) {
  const { queues, clock, enqueue, crossing } = context;

  /** All jobs of a batch, and what follows it, are in its database. @throws Refusal `queue_elsewhere` */
  async function refuseElsewhere(jobs: NewJob[]): Promise<void> {
    for (const name of new Set(jobs.map(queueNameOf))) {
      const place = await crossing?.findElsewhere(name);
      if (place) throw queueElsewhere(name, place.database);
    }
  }

  return async (request: NewBatch): Promise<string> => {
    const { jobs, name = null, closed, by } = request;
    const followers = followersOf(request);
    const all = [...jobs, ...followers.map(({ job }) => job)];
    const at = (i: number) => (i < jobs.length ? `/jobs/${i}` : `/${followers[i - jobs.length]?.kind}`);
    const times = checked(all, at, clock.now()).slice(jobs.length);
    for (const [i, { batch }] of jobs.entries())
      if (batch !== undefined) throw refuse(`${at(i)}/batch`, 'must be left out: it is this batch');
    await refuseElsewhere(all);
    const queue = await queues.open(request.queue);
    // A follower comes in the commit of a job. No queue can be placed there.
    for (const { job } of followers) await queues.open(queueNameOf(job));
    const id = enqueue.newId(queue.id);
    await enqueue
      .enqueueWithin(
        jobs.map((job) => ({ ...job, batch: id })),
        at,
        async (transaction, enqueueIn) => {
          await transaction.query(statements.create, { id, queue_id: queue.id, name });
          await follow(transaction, id, followers, times);
          await enqueueIn(id);
          if (closed) await transaction.query(statements.close, { id });
        },
        { by },
      )
      .catch((error) => Promise.reject(batchAsRefusal(error)));
    return id;
  };
}
