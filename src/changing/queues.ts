import { HOME } from '../config/databases.ts';
import type { CountCache } from '../counting/countCache.ts';
import { invalidRequest, rethrowPartlyDone } from '../errors.ts';
import type { Narrowing } from '../groups/narrow.ts';
import type { GroupRepair } from '../groups/repair.ts';
import type { QueueLooks } from '../looking/queues.ts';
import type { Purge } from '../operations/purge.ts';
import type { Redrive } from '../operations/redrive.ts';
import type { SendHome } from '../operations/sendHome.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { orTooManyQueues } from '../queues/numbers.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Narrowed, Signed } from '../verbs/callers.ts';
import type { QueueName, QueueStatus } from '../verbs/queues.ts';
import type { RequestOf } from '../verbs.ts';

const statements = {
  configure: planned('changing/queue_configure'),
  deadLetterLock: planned('changing/dead_letter_lock'),
  deadLetterPath: planned('changing/dead_letter_path', row<{ name: string }>()),
  pause: planned('changing/queue_pause'),
};

const parametersOf = ({ queue: name, config }: RequestOf<'configureQueue'>) => ({
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
  alert_after_seconds: config.alert_after_seconds,
  dead_letter_queue: config.dead_letter_queue,
  group_concurrency: config.group_concurrency,
  group_batches: config.group_batches,
});

/** Says how a path of dead letter queues leads back to its first one. It names no queue that the caller may not use. */
function wordsOf(circle: string[], mayUse: Narrowed['mayUse']): string {
  if (mayUse && !circle.every(mayUse)) return '. It does, by way of queues that this access key may not use';
  const last = circle.at(-2);
  const first = last === circle[0] ? '' : `. Change the dead letter queue of ${last} first`;
  return `: ${circle.join(' → ')}${first}`;
}

/** Dead letter queues make no circle. @throws Refusal `invalid_request` */
async function refuseCircle(
  db: Db,
  name: string,
  dead_letter_queue: string,
  mayUse: Narrowed['mayUse'],
): Promise<void> {
  const path = await db.query(statements.deadLetterPath, { name, dead_letter_queue });
  if (path.at(-1)?.name !== name) return;
  const circle = [name, ...path.map((queue) => queue.name)];
  throw invalidRequest([
    {
      path: '/dead_letter_queue',
      message: `must not lead back to this queue${wordsOf(circle, mayUse)}`,
    },
  ]);
}

/** The verbs that change a queue, or many of its jobs. */
export function queueAdmin(context: {
  db: Database;
  queues: Queues;
  notifier: Notifier;
  looks: QueueLooks;
  purge: Purge;
  redrive: Redrive;
  sendHome: SendHome;
  countCache: CountCache;
  narrowing: Pick<Narrowing, 'begin'>;
  repair: Pick<GroupRepair, 'blocked'>;
}) {
  const { db, queues, notifier, looks, purge, redrive, sendHome, countCache, narrowing, repair } = context;
  const { status, current } = looks;

  /**
   * The queue after `work`, which creates and changes it. `work` runs again when somebody deletes the queue meanwhile:
   * it returns false when it found no queue to change.
   */
  async function afterCreating(name: string, work: () => Promise<boolean>): Promise<Queue> {
    for (;;) {
      const done = await work();
      queues.changed(name);
      const queue = done ? await queues.byName(name) : undefined;
      if (queue) return queue;
    }
  }

  return {
    refuseCircle: (name: string, dead_letter_queue: string, mayUse: Narrowed['mayUse']) =>
      refuseCircle(db, name, dead_letter_queue, mayUse),

    /** Replaces the configuration. It creates the queue when there is none. */
    async configure(request: RequestOf<'configureQueue'>): Promise<QueueStatus> {
      const { queue: name, by, mayUse, database = HOME } = request;
      if (database !== HOME)
        throw invalidRequest([{ path: '/database', message: 'must be the name of a database' }]);
      const { dead_letter_queue } = request.config;
      if (dead_letter_queue !== null) {
        // What is refused creates no queue.
        await refuseCircle(db, name, dead_letter_queue, mayUse);
        await queues.open(dead_letter_queue);
      }
      const turn = inTurnOf(db, { queue: name, by });
      const queue = await afterCreating(name, async () => {
        await orTooManyQueues(
          dead_letter_queue === null
            ? turn.query(statements.configure, parametersOf(request))
            : turn.transaction(async (transaction) => {
                await transaction.query(statements.deadLetterLock);
                await refuseCircle(transaction, name, dead_letter_queue, mayUse);
                return transaction.query(statements.configure, parametersOf(request));
              }),
        );
        return true;
      });
      // Claims look again: the queue may be new, or may have a higher limit.
      notifier.opened(name);
      notifier.ready(name);
      await narrowing.begin(queue.id);
      if (queue.group_concurrency > 1) repair.blocked(name, undefined);
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
      // Its groups may have waited for the end of an import.
      repair.blocked(name, undefined);
      return status(queue);
    },

    /** Deletes the jobs in these states. Returns their number. */
    async purge({ queue: name, states }: RequestOf<'purgeQueue'>): Promise<number> {
      const queue = await current(name);
      return purge
        .purge(queue, states)
        .catch(rethrowPartlyDone)
        .finally(() => countCache.drop(queue.id));
    },

    /** Makes dead jobs ready again, or sends dead letters back. Returns their number. */
    async redrive({ queue: name, ...wish }: RequestOf<'redriveQueue'>): Promise<number> {
      const queue = await current(name);
      return (wish.home ? sendHome : redrive)(queue, wish).finally(() => countCache.drop(queue.id));
    },
  };
}
