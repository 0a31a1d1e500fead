import { queueNotEmpty, queueNotFound, unavailable } from '../errors.ts';
import type { JobState } from '../job.ts';
import { longLockTimeout } from '../postgres/lockWait.ts';
import { type Database, isLockTimeout } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { type Queue, type Queues, toQueue } from '../queues/cache.ts';
import type { QueueConfig } from '../queues/queue.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Bulk } from './bulk.ts';
import { type QueueCounts, queueCounter } from './counts.ts';

const statements = {
  list: planned('admin/queue_list'),
  create: planned('queues/create'),
  configure: planned('admin/queue_configure'),
  pause: planned('admin/queue_pause'),
  lock: planned('admin/queue_lock'),
  empty: planned('admin/queue_empty'),
  delete: planned('admin/queue_delete'),
};

export type QueueStatus = Queue & QueueCounts;

/** Looking at queues, and changing them. */
export function queueAdmin(context: { db: Database; queues: Queues; notifier: Notifier; bulk: Bulk }) {
  const { db, queues, notifier, bulk } = context;
  const { countsOf, forget } = queueCounter(db);

  async function statuses(queues: Queue[], asked: Parameters<typeof countsOf>[1]): Promise<QueueStatus[]> {
    const counts = await countsOf(
      queues.map(({ id }) => id),
      asked,
    );
    return queues.map((queue) => ({ ...queue, ...(counts.get(queue.id) as QueueCounts) }));
  }

  async function status(queue: Queue): Promise<QueueStatus> {
    const [only] = await statuses([queue], 'alone');
    return only as QueueStatus;
  }

  async function known(name: string): Promise<Queue> {
    queues.changed(name);
    const queue = await queues.byName(name);
    if (!queue) throw queueNotFound(name);
    return queue;
  }

  /** Deletes a queue that has no jobs; false when it has some. */
  async function removeEmpty({ id }: Queue): Promise<boolean> {
    try {
      return await db.transaction(async (transaction) => {
        await transaction.query(longLockTimeout.statement, longLockTimeout.parameters);
        await transaction.query(statements.lock, [id]);
        const [row] = await transaction.query<{ empty: boolean }>(statements.empty, [id]);
        if (!row?.empty) return false;
        await transaction.query(statements.delete, [id]);
        return true;
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      throw unavailable('An open transaction has enqueued into the queue, and holds it for too long.');
    }
  }

  return {
    get: async (name: string) => status(await known(name)),

    /** A page of queues by name, after the given one; a page shorter than its limit is the last one. */
    async list(limit: number, after = ''): Promise<QueueStatus[]> {
      const rows = await db.query<Parameters<typeof toQueue>[0]>(statements.list, [after, limit]);
      return statuses(rows.map(toQueue), 'amongOthers');
    },

    /** Replaces the configuration, creating the queue when there is none. */
    async configure(name: string, config: QueueConfig): Promise<QueueStatus> {
      await db.query(statements.configure, [
        name,
        config.lease_seconds,
        config.max_attempts,
        JSON.stringify(config.backoff),
        config.retention_seconds,
        config.dead_retention_seconds,
        config.max_leased,
        config.rate_limit?.jobs ?? null,
        config.rate_limit?.per_seconds ?? null,
        config.max_ready,
      ]);
      const queue = await known(name);
      // A limit may have been raised.
      notifier.ready(name);
      return status(queue);
    },

    /** A paused queue accepts jobs and hands out none. Pausing creates the queue when there is none; resuming doesn't. */
    async pause(name: string, paused: boolean): Promise<QueueStatus> {
      if (paused) await db.query(statements.create, [name]);
      await db.query(statements.pause, [name, paused]);
      const queue = await known(name);
      if (!paused) notifier.ready(name);
      return status(queue);
    },

    /** Deletes a queue; with `force` its jobs, too. @throws Refusal `queue_not_empty` */
    async remove(name: string, force: boolean): Promise<void> {
      const queue = await known(name);
      for (;;) {
        if (force) await bulk.clear(queue);
        const deleted = await removeEmpty(queue);
        queues.changed(name);
        forget(queue.id);
        if (deleted) return bulk.clearWindows(queue);
        if (!force) throw queueNotEmpty(name);
      }
    },

    async purge(name: string, states: JobState[]): Promise<number> {
      const queue = await known(name);
      return bulk.purge(queue, states).finally(() => forget(queue.id));
    },

    async redrive(name: string, wish: { limit?: number; error_contains?: string }): Promise<number> {
      const queue = await known(name);
      return bulk.redrive(queue, wish).finally(() => forget(queue.id));
    },
  };
}
