import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip, RoundTripDb } from '../batching/roundTrip.ts';
import { jobNotFound, leaseLost, Refusal } from '../errors.ts';
import { type GroupHeads, type Moved, needsAdvance } from '../groups/heads.ts';
import { isUuid, queueIdOf } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { LeaseName } from '../verbs/settle.ts';

const untouched = prepared('settle/untouched', row<Untouched>());

const BATCH_ITEMS = 1000;
const BATCH_BYTES = 8 * 2 ** 20;

/** A lease to settle or extend. */
export interface Item extends LeaseName {
  /**
   * The request of the item also claims. This is called when the item is in a round trip of its queue, and returns
   * whether the claim goes in the same round trip. If not, the claim begins when the item is answered.
   */
  thenClaims?: (queue: string) => boolean;
}

/** What every verb on a lease needs. */
export interface SettleContext {
  db: Database;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  groups: GroupHeads;
}

/** A job that the statement of a verb left as it was: its lease is over, or its state does not allow the verb. */
export interface Untouched {
  id: string;
  state: JobState;
  lease_token: string | null;
  enqueued: string | null;
  unique_key: string | null;
  headers: string;
  batch: string | null;
}

/** What became of each of these items, by id. */
export type Outcomes<Row> = Map<string, Row | Refusal>;

/** A verb, for the items of one queue. */
interface Verb<I extends Item, Row extends Moved> {
  /** Whether its statement goes in the round trips of the queue. Only a verb of one statement may. */
  inRoundTrips: boolean;
  /** Runs its statement, and returns the rows that it touched. Ids ascend, so that two batches cannot deadlock. */
  touch(queue: Queue, items: I[], on: RoundTripDb): Promise<Row[]>;
  /** The text that an item stores with its job. It counts for the size of the batch. */
  textOf(item: I): string | undefined;
  /**
   * The answer for an item that was not touched, though its token is that of the job's last lease. Undefined: the lease
   * is lost.
   */
  ifUntouched?(found: Untouched): Row | undefined;
  /**
   * Settles items whose jobs are dead, though their tokens are those of the last leases. This may have to wait for
   * other transactions. So no batch waits for it.
   */
  settleLate?(queue: Queue, items: I[], found: Map<string, Untouched>): Promise<Outcomes<Row>>;
}

/** The outcome of an item that is settled late, after its batch. */
interface Later<Row> {
  later: Promise<Outcomes<Row>>;
}

/** A token that isn't one of ours matches no lease. */
export const tokens = (items: Item[]) => items.map((i) => (isUuid(i.lease_token) ? i.lease_token : null));
export const ids = (items: Item[]) => items.map((i) => i.id);

/** Makes a verb for one item of a verb for many. Items of one queue go in batches. */
export function settleInBatches<I extends Item, Row extends Moved>(
  { db, joinRoundTrip, queues, groups }: SettleContext,
  { inRoundTrips, touch, textOf, ifUntouched, settleLate }: Verb<I, Row>,
): (item: I) => Promise<Row> {
  type Outcome = Row | Refusal | Later<Row>;

  async function outcomesOfUntouched(queue: Queue, items: I[]): Promise<Map<string, Outcome>> {
    const outcomes = new Map<string, Outcome>();
    if (items.length === 0) return outcomes;
    const rows = await db.query(untouched, { queue_id: queue.id, ids: ids(items) });
    const found = new Map(rows.map((row) => [row.id, row]));
    const late: I[] = [];
    for (const item of items) {
      const row = found.get(item.id);
      if (!row) outcomes.set(item.id, jobNotFound(item.id));
      else if (row.lease_token !== item.lease_token) outcomes.set(item.id, leaseLost(item.id));
      else if (settleLate && row.state === 'dead') late.push(item);
      else outcomes.set(item.id, ifUntouched?.(row) ?? leaseLost(item.id));
    }
    if (settleLate && late.length > 0) {
      const later = settleLate(queue, late, found);
      // Each of the items awaits it, and fails with it.
      later.catch(() => undefined);
      for (const { id } of late) outcomes.set(id, { later });
    }
    return outcomes;
  }

  const batched = createBatcher<I, Outcome>({
    joinRoundTrip: inRoundTrips ? joinRoundTrip : undefined,
    maxWeight: 1,
    weigh: (item) => 1 / BATCH_ITEMS + (textOf(item)?.length ?? 0) / BATCH_BYTES,
    clash: (item) => item.id,
    async run(queueId, items, trip) {
      const queue = await queues.byId(queueId);
      if (!queue) return items.map((item) => jobNotFound(item.id));
      const sorted = items.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      trip?.onceGathered(() => {
        for (const { thenClaims } of items) if (thenClaims && !thenClaims(queue.name)) trip.answerFirst();
      });
      const touched = new Map(
        (await touch(queue, sorted, trip?.db ?? inTurnOf(db, { queue: queueId }))).map((row) => [
          row.id,
          row,
        ]),
      );
      const left = sorted.filter((item) => !touched.has(item.id));
      const others = await outcomesOfUntouched(queue, left).catch((error) => {
        // What was touched has committed, and is answered as that.
        if (touched.size === 0 || !(error instanceof Refusal)) throw error;
        return new Map<string, Outcome>(left.map((item) => [item.id, error]));
      });
      return items.map((item) => (touched.get(item.id) ?? others.get(item.id)) as Outcome);
    },
  });

  return async (item) => {
    const queueId = queueIdOf(item.id);
    if (queueId === undefined) throw jobNotFound(item.id);
    const first = await batched(queueId, item);
    const outcome = 'later' in first ? ((await first.later).get(item.id) as Row | Refusal) : first;
    if (outcome instanceof Error) throw outcome;
    // Await this here and not in the batch. There, items without a group would wait for it, too.
    if (needsAdvance(outcome)) await (outcome.advanced ?? groups.advanceAfter([outcome]));
    return outcome;
  };
}
