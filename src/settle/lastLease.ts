import { jobNotFound, leaseLost } from '../errors.ts';
import { gathering } from '../postgres/gathering.ts';
import type { Db } from '../postgres/pool.ts';
import { createSemaphore } from '../postgres/semaphore.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import type { Item, Untouched } from './settleBatch.ts';

const statement = prepared('settle/untouched', row<Untouched>());

/**
 * A look at many jobs takes this number of them, with this number of statements at once. Other requests need
 * connections, too.
 */
const MOST_TOGETHER = 1000;
const LOOKS_AT_ONCE = 3;

/** Gives the job of an item, if the item names its last lease. @throws Refusal `lease_lost` or `job_not_found` */
export type FindLast = (queue: Queue, item: Item) => Promise<Untouched>;

/** Looks at the jobs of many items with one statement for each queue: a settlement may have 1000 items. */
export function createFindLast(db: Db): FindLast {
  const inPlace = createSemaphore(LOOKS_AT_ONCE);

  const look = gathering(MOST_TOGETHER, async (items: { queueId: number; id: string }[]) => {
    const idsOf = new Map<number, string[]>();
    for (const { queueId, id } of items) {
      const ids = idsOf.get(queueId);
      if (ids) ids.push(id);
      else idsOf.set(queueId, [id]);
    }
    const found = new Map<string, Untouched>();
    const lookInto = async (queue_id: number, ids: string[]) => {
      for (const job of await db.query(statement, { queue_id, ids: ids.sort() })) found.set(job.id, job);
    };
    await Promise.all(Array.from(idsOf, ([queueId, ids]) => inPlace(() => lookInto(queueId, ids))));
    return items.map(({ id }) => found.get(id));
  });

  return async (queue, { id, lease_token }) => {
    const found = await look({ queueId: queue.id, id });
    if (!found) throw jobNotFound(id);
    if (found.lease_token !== lease_token) throw leaseLost(id);
    return found;
  };
}
