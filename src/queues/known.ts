import { type Queue, type QueueRow, toQueue } from './queue.ts';

/** An entry that is older is looked up again. Meanwhile it still serves, until it is twice as old. */
const FRESH_MS = 400;
/** So many are remembered, some 1 kB each: those that were looked up last. */
const MOST = 20_000;

interface Entry {
  queue: Queue;
  at: number;
}

/** The name of a queue, or its id. */
export type QueueKey = string | number;

/** The queues that were looked up lately. One serves for at most 0.8 s. A queue that was not found is not remembered. */
export function createKnownQueues(most = MOST) {
  const byName = new Map<string, Entry>();
  const byId = new Map<number, Entry>();
  let changes = 0;

  const entryOf = (key: QueueKey) => (typeof key === 'string' ? byName.get(key) : byId.get(key));

  function drop(key: QueueKey): void {
    const entry = entryOf(key);
    if (!entry) return;
    byName.delete(entry.queue.name);
    byId.delete(entry.queue.id);
  }

  function remember(queue: Queue): void {
    const entry = { queue, at: performance.now() };
    byName.set(queue.name, entry);
    byId.set(queue.id, entry);
    if (byName.size > most) drop(byName.keys().next().value as string);
  }

  return {
    /** The queue, if it is known. Calls `lookUpAgain` when that was some time ago. */
    get(key: QueueKey, lookUpAgain: (key: QueueKey) => void): Queue | undefined {
      const entry = entryOf(key);
      if (!entry) return undefined;
      const age = performance.now() - entry.at;
      if (age >= 2 * FRESH_MS) return undefined;
      if (age > FRESH_MS) lookUpAgain(key);
      return entry.queue;
    },

    /** The queue as it was known last. It may have changed. */
    last: (key: QueueKey): Queue | undefined => entryOf(key)?.queue,

    isFresh(name: string): boolean {
      const entry = byName.get(name);
      return entry !== undefined && performance.now() - entry.at < FRESH_MS;
    },

    /**
     * A look-up begins. Returns a function for its result. That remembers the queue, unless one was changed meanwhile.
     */
    beginLookUp() {
      const asOf = changes;
      return (key: QueueKey, row: QueueRow | undefined): Queue | undefined => {
        const queue = row && toQueue(row);
        if (asOf !== changes) return queue;
        drop(key);
        if (queue) remember(queue);
        return queue;
      };
    },

    /** A queue was changed. */
    changed(name: string): void {
      changes++;
      drop(name);
    },
  };
}

export type KnownQueues = ReturnType<typeof createKnownQueues>;
