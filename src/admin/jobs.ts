import { jobFinished, jobLeased, jobNotFound, unavailable, uniqueKeyTaken } from '../errors.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { queueIdOf } from '../ids.ts';
import type { Job, JobRow, JobState } from '../job.ts';
import { type Db, isKeyTaken, isLockTimeout } from '../postgres/pool.ts';
import { planned, prepared } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { type Explanation, explain } from './explain.ts';

const statements = {
  get: prepared('settle/job'),
  cancel: planned('admin/cancel'),
  retry: planned('admin/retry'),
  newest: planned('admin/list_newest'),
  oldest: planned('admin/list_oldest'),
};

export interface JobFilter {
  queue?: string;
  state?: JobState;
  group?: string;
  unique_key?: string;
  payload: boolean;
  order: 'newest' | 'oldest';
  limit: number;
  /** The last id of the page before. */
  after?: string;
}

/** Looking at single jobs, and mending them. */
export function jobAdmin(context: {
  db: Db;
  queues: Queues;
  notifier: Notifier;
  waiters: Waiters;
  settlement: Settlement;
  groups: GroupHeads;
}) {
  const { db, queues, notifier, waiters, settlement, groups } = context;

  async function queueOf(id: string): Promise<Queue> {
    const queueId = queueIdOf(id);
    const queue = queueId === undefined ? undefined : await queues.byId(queueId);
    if (!queue) throw jobNotFound(id);
    return queue;
  }

  /** The job with its payload. @throws Refusal `job_not_found` */
  async function get(id: string): Promise<Job> {
    const queue = await queueOf(id);
    const [row] = await db.query<JobRow>(statements.get, [queue.id, id]);
    if (!row) throw jobNotFound(id);
    return { ...row, queue: queue.name };
  }

  async function withoutPayload(id: string): Promise<Job> {
    const { payload: _, ...job } = await get(id);
    return job;
  }

  return {
    get,

    /** Why the job is not running. @throws Refusal `job_not_found` */
    async explain(id: string): Promise<Explanation> {
      const queue = await queueOf(id);
      const explanation = await explain(db, queue, id);
      if (!explanation) throw jobNotFound(id);
      return explanation;
    },

    /** A page of jobs; a page shorter than its limit is the last one. */
    list(filter: JobFilter): Promise<Job[]> {
      return db.query<Job>(statements[filter.order], [
        filter.queue ?? null,
        filter.state ?? null,
        filter.after ?? null,
        filter.limit,
        filter.payload,
        filter.group ?? null,
        filter.unique_key ?? null,
      ]);
    },

    /** Cancels a waiting or dead job; a leased one comes back still `leased`, its worker being asked to stop. */
    async cancel(id: string): Promise<Job> {
      const queue = await queueOf(id);
      const [row] = await db.query<JobRow>(statements.cancel, [queue.id, id]);
      if (!row) throw jobFinished(id, (await get(id)).state);
      waiters.changed([row]);
      await settlement.dropCancelled(queue, [row]);
      await groups.advanceAfter([row]);
      return { ...row, queue: queue.name };
    },

    /** Makes a dead or scheduled job ready, or blocked in its group, its attempts afresh; one that waits already is left as it is. */
    async retry(id: string): Promise<Job> {
      const queue = await queueOf(id);
      const [position] = await nextPositions(db, 1);
      const [row] = await db.query<JobRow>(statements.retry, [queue.id, id, position]).catch((error) => {
        if (isKeyTaken(error)) throw uniqueKeyTaken(id);
        if (isLockTimeout(error)) throw unavailable('An open transaction holds the unique key for too long.');
        throw error;
      });
      if (row) {
        if (row.state === 'ready') notifier.ready(queue.name);
        await groups.advanceAfter([row]);
        return { ...row, queue: queue.name };
      }
      const job = await withoutPayload(id);
      if (job.state === 'leased') throw jobLeased(id);
      if (job.state === 'completed' || job.state === 'cancelled') throw jobFinished(id, job.state);
      return job;
    },
  };
}
