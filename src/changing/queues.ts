import type { CountCache } from '../counting/countCache.ts';
import { queueCounter } from '../counting/counts.ts';
import { queueNotEmpty, queueNotFound, withUnknownOutcome } from '../errors.ts';
import { explainQueue } from '../looking/explainQueue.ts';
import type { Purge } from '../operations/purge.ts';
import type { Redrive } from '../operations/redrive.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import { type Queue, type Queues, toQueue } from '../queues/cache.ts';
import { orTooManyQueues } from '../queues/numbers.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Signed } from '../verbs/callers.ts';
import type { QueueCounts, QueueExplanation, QueueName, QueuePage, QueueStatus } from '../verbs/queues.ts';
import type { RequestOf } from '../verbs.ts';

const statements = {
  list: planned('changing/queue_list', row<Parameters<typeof toQueue>[0]>()),
  configure: planned('changing/queue_configure'),
  pause: planned('changing/queue_pause'),
  lock: planned('changing/queue_lock'),
  empty: planned('changing/queue_empty', row<{ empty: boolean }>()),
  delete: planned('changing/queue_delete'),
};

/** @throws the error of work that had done a part of it, perhaps */
function isPartlyDone(error: unknown): never {
  throw withUnknownOutcome(error);
}

/** The verbs that look at queues and change them. */
export function queueAdmin(context: {
  db: Database;
  queues: Queues;
  notifier: Notifier;
  purge: Purge;
  redrive: Redrive;
  countCache: CountCache;
}) {
  const { db, queues, notifier, purge, redrive, countCache } = context;
  const { countsOf, drop } = queueCounter(countCache);

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

  /** The queue of this name as it is now. The cache may be some time behind. */
  async function current(name: string): Promise<Queue> {
    const queue = await queues.lookNow(name);
    if (!queue) throw queueNotFound(name);
    return queue;
  }

  /**
   * The queue after `work`, which creates and changes it. `work` runs again when somebody deletes the queue meanwhile: it
   * returns false when it found no queue to change.
   */
  async function afterCreating(name: string, work: () => Promise<boolean>): Promise<Queue> {
    for (;;) {
      const done = await work();
      queues.changed(name);
      const queue = done ? await queues.byName(name) : undefined;
      if (queue) return queue;
    }
  }

  /**
   * Deletes a queue. Without `force` only one that has no jobs: false when it has some. With `force` it deletes the jobs that
   * came since the queue was cleared. None can come while it holds the lock.
   */
  async function removeLocked(queue: Queue, force: boolean, by?: string): Promise<boolean> {
    const queue_id = queue.id;
    return inTurnOf(db, { queue: queue_id, by }).transaction(async (transaction) => {
      await transaction.query(statements.lock, { queue_id });
      if (force) await purge.clearLocked(queue, transaction);
      const [row] = await transaction.query(statements.empty, { queue_id });
      if (!row?.empty) return false;
      await transaction.query(statements.delete, { queue_id });
      return true;
    });
  }

  return {
    get: async ({ queue }: QueueName & Signed): Promise<QueueStatus> => status(await current(queue)),

    /** What a claim would get now. If it would get nothing: why. */
    explain: async ({ queue }: QueueName & Signed): Promise<QueueExplanation> =>
      explainQueue(db, await current(queue)),

    /** A page of queues by name. A page shorter than its limit is the last one. */
    async list({ limit, after = '', name_contains, visible = null }: QueuePage): Promise<QueueStatus[]> {
      const filters = { visible, name_contains: name_contains ?? null };
      const rows = await db.query(statements.list, { after, limit, ...filters });
      return statuses(rows.map(toQueue), 'amongOthers');
    },

    /** Replaces the configuration. It creates the queue when there is none. */
    async configure({ queue: name, config, by }: RequestOf<'configureQueue'>): Promise<QueueStatus> {
      const parameters = {
        name,
        lease_seconds: config.lease_seconds,
        max_attempts: config.max_attempts,
        backoff: JSON.stringify(config.backoff),
        retention_seconds: config.retention_seconds,
        dead_retention_seconds: config.dead_retention_seconds,
        max_leased: config.max_leased,
        rate_jobs: config.rate_limit?.jobs ?? null,
        rate_seconds: config.rate_limit?.per_seconds ?? null,
        max_ready: config.max_ready,
      };
      const queue = await afterCreating(name, async () => {
        await orTooManyQueues(inTurnOf(db, { queue: name, by }).query(statements.configure, parameters));
        return true;
      });
      // It may be new, or a limit may have been raised.
      notifier.opened(name);
      notifier.ready(name);
      return status(queue);
    },

    /** Has the queue accept jobs but give none to claims. It creates the queue when there is none. */
    async pause({ queue: name, by }: QueueName & Signed): Promise<QueueStatus> {
      const queue = await afterCreating(name, async () => {
        await queues.open(name);
        return (
          (await inTurnOf(db, { queue: name, by }).query(statements.pause, { name, paused: true })).length > 0
        );
      });
      return status(queue);
    },

    async resume({ queue: name, by }: QueueName & Signed): Promise<QueueStatus> {
      await inTurnOf(db, { queue: name, by }).query(statements.pause, { name, paused: false });
      const queue = await current(name);
      notifier.ready(name);
      return status(queue);
    },

    /** Deletes a queue, with `force` its jobs too. @throws Refusal `queue_not_empty` */
    async remove({ queue: name, force, by }: RequestOf<'deleteQueue'>): Promise<void> {
      const queue = await current(name);
      // Whoever holds the queue is met before any job is deleted.
      if (force) await inTurnOf(db, { queue: queue.id, by }).query(statements.lock, { queue_id: queue.id });
      if (force) await purge.clear(queue).catch(isPartlyDone);
      const deleted = await removeLocked(queue, force, by).catch(force ? isPartlyDone : undefined);
      queues.changed(name);
      drop(queue.id);
      if (!deleted) throw queueNotEmpty(name);
      return purge.clearWindows(queue);
    },

    /** Deletes the jobs in these states. Returns their number. */
    async purge({ queue: name, states }: RequestOf<'purgeQueue'>): Promise<number> {
      const queue = await current(name);
      return purge
        .purge(queue, states)
        .catch(isPartlyDone)
        .finally(() => drop(queue.id));
    },

    /** Makes dead jobs ready again. Returns their number. */
    async redrive({ queue: name, ...wish }: RequestOf<'redriveQueue'>): Promise<number> {
      const queue = await current(name);
      return redrive(queue, wish)
        .catch(isPartlyDone)
        .finally(() => drop(queue.id));
    },
  };
}
