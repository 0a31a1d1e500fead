import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip } from '../batching/roundTrips.ts';
import { jobNotFound, leaseLost, type Refusal } from '../errors.ts';
import { type GroupHeads, type Moved, needsAdvance } from '../groups/heads.ts';
import { isUuid, queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';

const settled = prepared('settle/untouched', row<Found>());

const BATCH_ITEMS = 1000;
const BATCH_BYTES = 8 * 2 ** 20;

/** An item of a settling call, and the text that it brings for the job. */
export interface Item {
  id: string;
  lease_token: string;
}

interface Context {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  groups: GroupHeads;
}

/** A job that a settling statement did not touch. */
export interface Found {
  id: string;
  state: JobState;
  lease_token: string | null;
  enqueued: string | null;
}

/** A token that isn't one of ours matches no lease. */
export const tokens = (items: Item[]) => items.map((i) => (isUuid(i.lease_token) ? i.lease_token : null));
export const ids = (items: Item[]) => items.map((i) => i.id);

/**
 * One settling verb: `touch` runs its statement for items of one queue, in the order of their ids (so that two batches
 * cannot deadlock), and returns the rows that it touched. Items it didn't touch are refused, or repeated acks.
 */
export function settling<I extends Item, Row extends Moved>(
  context: Context,
  /** A verb of one statement takes part in the rounds of the queue. */
  inRoundTrips: boolean,
  touch: (queue: Queue, items: I[], on: Db) => Promise<Row[]>,
  text: (item: I) => string | undefined,
  /** What became of an item that the statement did not touch, if it was not lost. */
  otherwise?: (queue: Queue, item: I, found: Found) => Row | undefined | Promise<Row | undefined>,
): (item: I) => Promise<Row> {
  const { db, queues, groups } = context;

  async function missed(queue: Queue, items: I[]): Promise<Map<string, Row | Refusal>> {
    const outcomes = new Map<string, Row | Refusal>();
    if (items.length === 0) return outcomes;
    const rows = await db.query(settled, { queue_id: queue.id, ids: ids(items) });
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const item of items) {
      const row = found.get(item.id);
      const ownToken = row?.lease_token === item.lease_token;
      outcomes.set(
        item.id,
        row
          ? (ownToken && (await otherwise?.(queue, item, row))) || leaseLost(item.id)
          : jobNotFound(item.id),
      );
    }
    return outcomes;
  }

  const lanes = createBatcher<I, Row | Refusal>({
    joinRoundTrip: inRoundTrips ? context.joinRoundTrip : undefined,
    maxWeight: 1,
    weigh: (item) => 1 / BATCH_ITEMS + (text(item)?.length ?? 0) / BATCH_BYTES,
    clash: (item) => item.id,
    async run(queueId, items, trip) {
      const queue = await queues.byId(queueId);
      if (!queue) return items.map((item) => jobNotFound(item.id));
      const sorted = items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const touched = new Map((await touch(queue, sorted, trip?.db ?? db)).map((row) => [row.id, row]));
      const others = await missed(
        queue,
        sorted.filter((item) => !touched.has(item.id)),
      );
      return items.map((item) => (touched.get(item.id) ?? others.get(item.id)) as Row | Refusal);
    },
  });

  return async (item) => {
    const queueId = queueIdOf(item.id);
    if (queueId === undefined) throw jobNotFound(item.id);
    const outcome = await lanes(queueId, item);
    if (outcome instanceof Error) throw outcome;
    // Not in the batch, where those of no group would wait too.
    if (needsAdvance(outcome)) await groups.advanceAfter([outcome]);
    return outcome;
  };
}
