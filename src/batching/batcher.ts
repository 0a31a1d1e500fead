import { setImmediate as nextLoop } from 'node:timers/promises';
import { askers } from '../askers.ts';
import { overloaded } from '../errors.ts';
import { runBatch, takeBatch, type Waiting } from './batch.ts';
import type { JoinRoundTrip, RoundTrip } from './roundTrip.ts';

/*
 * Natural batching: while a batch of a queue runs, the items of that queue gather. They go together when it returns.
 * Nothing waits when nothing runs. See docs/decisions/0008-natural-batching.md.
 */

/** What gathers for a queue while batches of it run. */
interface Gathering<Item, Result> {
  items: Waiting<Item, Result>[];
  weight: number;
  running: number;
}

/** A batcher holds as much as this number of full batches. It refuses more, so that memory does not grow. */
const MOST_BATCHES = 16;

/** Gives each item to a batch of its queue, and returns the result of that item. */
export type Batcher<Item, Result> = (queueId: number, item: Item) => Promise<Result>;

/**
 * Makes a batcher. A batch that fails for its data is run again item by item, so that a bad item fails alone.
 *
 * With `joinRoundTrip`, a batch goes in the next round trip of its queue, and the next batch may go in the one after
 * it. A batch that waits too long for a lock is run again item by item, beside the next batches.
 *
 * Without `joinRoundTrip`, the batches of a queue run one after the other. Full ones begin beside them, up to
 * `fullAtOnce` in all: a full batch gains nothing by waiting.
 *
 * A batch weighs at most `maxWeight`, and an item heavier than that goes alone. `clash` names what two items of one
 * batch must not share. The second of them waits for the next batch, and holds up no other item.
 */
export function createBatcher<Item, Result>(options: {
  joinRoundTrip?: JoinRoundTrip | undefined;
  run(queueId: number, items: Item[], trip: RoundTrip | undefined): Promise<Result[]>;
  weigh(item: Item): number;
  maxWeight: number;
  fullAtOnce?: number;
  clash?(item: Item): string;
}): Batcher<Item, Result> {
  const { joinRoundTrip, fullAtOnce = 1 } = options;
  const gathered = new Map<number, Gathering<Item, Result>>();
  /** The weight of all items that wait. */
  let held = 0;

  function leave(queue: Gathering<Item, Result>, items: Waiting<Item, Result>[]): void {
    const weight = items.reduce((sum, waiting) => sum + waiting.weight, 0);
    queue.weight -= weight;
    held -= weight;
  }

  function takeNext(queue: Gathering<Item, Result>): Waiting<Item, Result>[] {
    const batch = takeBatch(queue.items, options.maxWeight, options.clash);
    leave(queue, batch);
    return batch;
  }

  function begin(queueId: number, queue: Gathering<Item, Result>): void {
    queue.running++;
    const work = (items: Item[], trip: RoundTrip | undefined) => options.run(queueId, items, trip);
    const forget = () => gathered.get(queueId) === queue && gathered.delete(queueId);
    const next = async (trip?: RoundTrip) => {
      const batch = takeNext(queue);
      // Another batch of this queue may have taken all items meanwhile.
      const done = batch.length > 0 ? runBatch(batch, work, trip) : undefined;
      if (!joinRoundTrip) await done;
      queue.running--;
      if (queue.items.length > 0) beginIfFree(queueId, queue);
      else if (queue.running === 0) forget();
      await done;
    };
    // The event loop reads all sockets that are ready in one pass. Wait for the end of this pass, so that their items
    // join.
    const begun = joinRoundTrip ? joinRoundTrip(queueId, next) : nextLoop().then(() => next());
    begun.catch((error) => {
      // The database is away. The items that gathered meanwhile fail, too: their own statement would wait as long
      // again.
      forget();
      const refused = queue.items.splice(0);
      leave(queue, refused);
      for (const waiting of refused) waiting.reject(error);
    });
  }

  function beginIfFree(queueId: number, queue: Gathering<Item, Result>): void {
    const isFull = queue.weight >= options.maxWeight;
    if (queue.running === 0 || (isFull && queue.running < fullAtOnce)) begin(queueId, queue);
  }

  return (queueId, item) =>
    new Promise((resolve, reject) => {
      if (held > MOST_BATCHES * options.maxWeight) {
        reject(overloaded());
        return;
      }
      const queue = gathered.get(queueId) ?? { items: [], weight: 0, running: 0 };
      gathered.set(queueId, queue);
      const weight = options.weigh(item);
      held += weight;
      queue.weight += weight;
      queue.items.push({ item, weight, askers: askers(), resolve, reject });
      beginIfFree(queueId, queue);
    });
}
