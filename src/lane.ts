import { setImmediate as turn } from 'node:timers/promises';
import { isDataError } from './db.ts';
import { isOutage } from './errors.ts';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Natural batching: while a batch of a key runs, the items of that key gather, and go together when it returns; nothing
 * waits when nothing runs. A batch that fails for its data is run again item by item, so that a bad one fails alone.
 *
 * `weigh` tells an item's share of `maxWeight`; an item heavier than that goes alone. `clash` names what two items of
 * one batch must not share; the second waits for the next batch, and holds up no other item.
 */
export function createLanes<Item, Result>(options: {
  run(key: number, items: Item[]): Promise<Result[]>;
  weigh(item: Item): number;
  maxWeight: number;
  clash?(item: Item): string;
}): (key: number, item: Item) => Promise<Result> {
  const lanes = new Map<number, Waiting<Item, Result>[]>();

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
    lane.splice(0, taken.length + clashing.length, ...clashing);
    return taken;
  }

  async function settle(
    key: number,
    lane: Waiting<Item, Result>[],
    batch: Waiting<Item, Result>[],
  ): Promise<void> {
    try {
      const results = await options.run(
        key,
        batch.map((w) => w.item),
      );
      for (const [i, waiting] of batch.entries()) waiting.resolve(results[i] as Result);
    } catch (error) {
      if (batch.length > 1 && isDataError(error)) {
        for (const waiting of batch) await settle(key, lane, [waiting]);
      } else {
        for (const waiting of batch) waiting.reject(error);
        // Who gathered meanwhile has waited as long; with a statement of its own it would wait that long again.
        if (isOutage(error)) for (const waiting of lane.splice(0)) waiting.reject(error);
      }
    }
  }

  async function drain(key: number, lane: Waiting<Item, Result>[]): Promise<void> {
    while (lane.length > 0) {
      // What else has arrived by now goes along: one turn of the event loop reads all the sockets that are ready.
      await turn();
      await settle(key, lane, take(lane));
    }
    lanes.delete(key);
  }

  return (key, item) =>
    new Promise((resolve, reject) => {
      const lane = lanes.get(key);
      if (lane) {
        lane.push({ item, resolve, reject });
      } else {
        const opened = [{ item, resolve, reject }];
        lanes.set(key, opened);
        void drain(key, opened);
      }
    });
}
