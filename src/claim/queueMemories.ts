import { newScanOrder, type ScannedQueue } from '../floor/scanOrder.ts';
import type { Queue } from '../queues/cache.ts';
import { createFairnessCursor } from './fairness.ts';
import { createKeySearch } from './keySearch.ts';

/**
 * What a replica remembers of a queue, to serve its claims. `fair` is set while claims lease from the front of the
 * queue.
 */
export interface QueueMemory extends ScannedQueue {
  cursor: ReturnType<typeof createFairnessCursor>;
  keySearch: ReturnType<typeof createKeySearch>;
}

/** What a replica remembers of the queues, by name. */
export function createQueueMemories() {
  const memories = new Map<string, QueueMemory>();

  return {
    of({ name, id }: Pick<Queue, 'name' | 'id'>): QueueMemory {
      let memory = memories.get(name);
      if (memory?.queueId !== id) {
        memory = {
          name,
          queueId: id,
          plain: newScanOrder(id, { hasKeys: false }),
          fair: undefined,
          cursor: createFairnessCursor(),
          keySearch: createKeySearch(),
          claimed: true,
          patrolledAt: Number.NEGATIVE_INFINITY,
        };
        memories.set(name, memory);
      }
      return memory;
    },

    find: (name: string): QueueMemory | undefined => memories.get(name),

    /** Where the fairness keys of a queue go on, as sql/claim/fair.sql takes it. */
    cursorOf: (name: string) =>
      memories.get(name)?.cursor.parameters() ?? { cursor_ranks: [], cursor_keys: [] },

    all: (): Iterable<QueueMemory> => memories.values(),

    /**
     * After a restore, positions are used again, so nothing that is remembered holds. Claims that run keep their old
     * memories.
     */
    forget: (): void => memories.clear(),
  };
}

export type QueueMemories = ReturnType<typeof createQueueMemories>;
