import { newScanOrder, type ScannedQueue } from '../floor/scanOrder.ts';
import { createNewest } from '../newest.ts';
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

/** A replica remembers so many queues, some 6 kB each: those that were claimed from last. */
const MOST = 10_000;

/** What a replica remembers of the queues, by name. Of one that is forgotten, it reads the stored floors again. */
export function createQueueMemories(most = MOST) {
  const memories = createNewest<QueueMemory>(most);

  return {
    of({ name, id }: Pick<Queue, 'name' | 'id'>): QueueMemory {
      let memory = memories.find(name);
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
      }
      memories.note(name, memory);
      return memory;
    },

    find: memories.find,

    /** Where the fairness keys of a queue go on, as sql/claim/fair.sql takes it. */
    cursorOf: (name: string) =>
      memories.find(name)?.cursor.parameters() ?? { cursor_ranks: [], cursor_keys: [] },

    all: memories.all,

    /**
     * After a restore, positions are used again, so nothing that is remembered holds. Claims that run keep their old
     * memories.
     */
    forget: memories.forgetAll,
  };
}

export type QueueMemories = ReturnType<typeof createQueueMemories>;
