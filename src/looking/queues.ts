import type { CountCache } from '../counting/countCache.ts';
import { queueCounter } from '../counting/counts.ts';
import { queueNotFound } from '../errors.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { toQueue } from '../queues/queue.ts';
import type { Signed } from '../verbs/callers.ts';
import type {
  QueueCounts,
  QueueErrors,
  QueueExplanation,
  QueueList,
  QueueName,
  QueuePage,
  QueueStatus,
} from '../verbs/queues.ts';
import { deadErrors } from './deadErrors.ts';
import { explainQueue } from './explainQueue.ts';

const pausedGroups = planned('looking/paused_groups', row<{ group: string }>());
const list = planned('looking/list_queues', row<Parameters<typeof toQueue>[0]>());

/** The verbs that look at queues. */
export function createQueueLooks(context: { db: Database; queues: Queues; countCache: CountCache }) {
  const { db, queues, countCache } = context;
  const { countsOf } = queueCounter(countCache);

  async function statuses(queues: Queue[], asked: Parameters<typeof countsOf>[1]): Promise<QueueStatus[]> {
    const counts = await countsOf(
      queues.map(({ id }) => id),
      asked,
    );
    return queues.map((queue) => ({ ...queue, ...(counts.get(queue.id) as QueueCounts) }));
  }

  /** A queue, with the counts of its jobs. */
  async function status(queue: Queue): Promise<QueueStatus> {
    const [only] = await statuses([queue], 'alone');
    return only as QueueStatus;
  }

  /** The queue of this name as it is now. The cache may be some time behind. @throws Refusal `queue_not_found` */
  async function current(name: string): Promise<Queue> {
    const queue = await queues.lookNow(name);
    if (!queue) throw queueNotFound(name);
    return queue;
  }

  return {
    status,
    current,

    async get({ queue: name }: QueueName & Signed): Promise<QueueStatus> {
      const queue = await current(name);
      const found = await status(queue);
      const groups = await db.query(pausedGroups, { queue_id: queue.id });
      return groups.length === 0 ? found : { ...found, paused_groups: groups.map(({ group }) => group) };
    },

    /** What a claim would get now. If it would get nothing: why. */
    explain: async ({ queue }: QueueName & Signed): Promise<QueueExplanation> =>
      explainQueue(db, await current(queue)),

    /** Why jobs are dead. */
    errors: async ({ queue }: QueueName): Promise<QueueErrors> => deadErrors(db, await current(queue)),

    /** A page of queues by name. A page shorter than its limit is the last one. */
    async list({ limit, after = '', name_contains, visible = null }: QueuePage): Promise<QueueList> {
      const filters = { visible, name_contains: name_contains ?? null };
      const rows = await db.query(list, { after, limit, ...filters });
      return { queues: await statuses(rows.map(toQueue), 'amongOthers') };
    },
  };
}

export type QueueLooks = ReturnType<typeof createQueueLooks>;
