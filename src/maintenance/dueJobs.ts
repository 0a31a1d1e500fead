/** Jobs of one queue, first those whose time came first. */
interface QueueJobs {
  queueId: number;
  ids: string[];
}

/** When this number of ids was taken from a queue, they are cut off its array. To cut off each alone would be slow. */
const MOST_TAKEN = 5000;

/** The jobs that a sweep has found and not moved yet, by queue. Queues alternate, and each keeps its order. */
export function createDueJobs() {
  /** The first `taken` ids of a queue have been taken. The queue from which jobs were taken last stands last. */
  const queues = new Map<number, { ids: string[]; taken: number }>();
  let size = 0;

  return {
    size: () => size,

    clear(): void {
      queues.clear();
      size = 0;
    },

    add(queueId: number, ids: string[]): void {
      const queue = queues.get(queueId);
      if (queue) for (const id of ids) queue.ids.push(id);
      else queues.set(queueId, { ids, taken: 0 });
      size += ids.length;
    },

    /** Takes up to `limit` jobs: the same number from each queue, as far as it has them. */
    take(limit: number): QueueJobs[] {
      const parts: QueueJobs[] = [];
      let left = limit;
      // Queues with few jobs come first. What they do not use of their part goes to the others.
      const waiting = [...queues].slice(0, limit);
      waiting.sort(([, a], [, b]) => a.ids.length - a.taken - (b.ids.length - b.taken));
      for (const [i, [queueId, queue]] of waiting.entries()) {
        const part = Math.ceil(left / (waiting.length - i));
        const ids = queue.ids.slice(queue.taken, queue.taken + part);
        queue.taken += ids.length;
        if (queue.taken > MOST_TAKEN) {
          queue.ids.splice(0, queue.taken);
          queue.taken = 0;
        }
        left -= ids.length;
        size -= ids.length;
        queues.delete(queueId);
        if (queue.taken < queue.ids.length) queues.set(queueId, queue);
        parts.push({ queueId, ids });
      }
      return parts;
    },

    /** Takes jobs back that could not be moved. They are the first of their queue again. */
    putBack(queueId: number, ids: string[]): void {
      const queue = queues.get(queueId);
      queues.set(queueId, { ids: [...ids, ...(queue ? queue.ids.slice(queue.taken) : [])], taken: 0 });
      size += ids.length;
    },
  };
}
