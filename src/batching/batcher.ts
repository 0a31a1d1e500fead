import { isOutage, overloaded } from '../errors.ts';
import { isDataError } from '../postgres/pool.ts';
import type { JoinRoundTrip, RoundTrip } from './roundTrips.ts';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Lanes hold as much as so many full batches; what comes beyond is refused, instead of growing memory. */
const MOST_BATCHES = 16;

/**
 * Natural batching: while a batch of a queue runs, the items of that queue gather, and go together when it returns; nothing
 * waits when nothing runs. A batch that fails for its data is run again item by item, so that a bad one fails alone.
 *
 * `join` says when a batch may begin, and where it runs; where batches take several statements, `oneAtATime` keeps one from
 * overtaking another.
 * `weigh` tells an item's share of `maxWeight`; an item heavier than that goes alone. `clash` names what two items of
 * one batch must not share; the second waits for the next batch, and holds up no other item.
 */
export function createBatcher<Item, Result>(options: {
  joinRoundTrip: JoinRoundTrip;
  oneAtATime?: boolean;
  run(queueId: number, items: Item[], trip: RoundTrip): Promise<Result[]>;
  weigh(item: Item): number;
  maxWeight: number;
  clash?(item: Item): string;
}): (queueId: number, item: Item) => Promise<Result> {
  const lanes = new Map<number, Waiting<Item, Result>[]>();
  let held = 0;

  function take(lane: Waiting<Item, Result>[]): Waiting<Item, Result>[] {
    const seen = new Set<string>();
    const taken: Waiting<Item, Result>[] = [];
    const clashing: Waiting<Item, Result>[] = [];
    let weight = 0;
    for (const waiting of lane) {
      weight += options.weigh(waiting.item);
      if (taken.length > 0 && weight > options.maxWeight) break;
      const key = options.clash?.(waiting.item);
      if (key !== undefined && seen.has(key)) {
        clashing.push(waiting);
      } else {
        if (key !== undefined) seen.add(key);
        taken.push(waiting);
      }
    }
    held -= taken.reduce((sum, { item }) => sum + options.weigh(item), 0);
    lane.splice(0, taken.length + clashing.length, ...clashing);
    return taken;
  }

  async function settle(queueId: number, batch: Waiting<Item, Result>[], trip: RoundTrip): Promise<void> {
    try {
      const results = await options.run(
        queueId,
        batch.map((w) => w.item),
        trip,
      );
      for (const [i, waiting] of batch.entries()) waiting.resolve(results[i] as Result);
    } catch (error) {
      if (batch.length > 1 && isDataError(error)) {
        const alone = trip.leave();
        for (const waiting of batch) await settle(queueId, [waiting], alone);
      } else {
        for (const waiting of batch) waiting.reject(error);
        if (isOutage(error)) throw error;
      }
    }
  }

  function joinRoundTrip(queueId: number, lane: Waiting<Item, Result>[]): void {
    options
      .joinRoundTrip(queueId, async (trip) => {
        const settled = settle(queueId, take(lane), trip);
        if (options.oneAtATime) await settled;
        if (lane.length > 0) joinRoundTrip(queueId, lane);
        else lanes.delete(queueId);
        await settled;
      })
      .catch((error) => {
        // An outage. Who gathered meanwhile has waited as long; with a statement of its own it would wait that long again.
        lanes.delete(queueId);
        for (const waiting of lane.splice(0)) {
          held -= options.weigh(waiting.item);
          waiting.reject(error);
        }
      });
  }

  return (queueId, item) =>
    new Promise((resolve, reject) => {
      if (held > MOST_BATCHES * options.maxWeight) {
        reject(overloaded());
        return;
      }
      held += options.weigh(item);
      const lane = lanes.get(queueId);
      if (lane) {
        lane.push({ item, resolve, reject });
      } else {
        const opened = [{ item, resolve, reject }];
        lanes.set(queueId, opened);
        joinRoundTrip(queueId, opened);
      }
    });
}
