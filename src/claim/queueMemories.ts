import type { Queue } from '../queues/cache.ts';
import { createFairnessCursor } from './fairness.ts';
import { createKeySearch } from './keySearch.ts';
import { createScanFloor } from './scanFloor.ts';

/** Surveys that follow each other until the floors of an order stand before jobs, or at the end of the order. */
export interface SurveyRun {
  /** The first jobs that are ready, by rank, and whether the queue gave jobs freely. */
  firsts: Map<number, { position: number; givesFreely: boolean | null }>;
  done: Promise<void>;
}

/** What a replica remembers of the order of some jobs of a queue: of those with fairness keys (`hasKeys`), or of the others. */
export interface ScanOrder {
  queueId: number;
  hasKeys: boolean;
  floor: ReturnType<typeof createScanFloor>;
  /** When the stored floors were read. */
  storedReadAt: number;
  /** The surveys that are under way (raiseFloor.ts). They go on without claims. */
  run: SurveyRun | undefined;
  /** When claims that follow each other began to wait for surveys, and when the last one did. */
  surveys: { since: number; until: number };
  /** When the cost of ranks that are scanned whole was checked. */
  checkedAt: number;
}

/** What a replica remembers of a queue that it serves claims of. */
export interface QueueMemory {
  name: string;
  queueId: number;
  /** The jobs without a fairness key. */
  plain: ScanOrder;
  /** The jobs with one, while claims take them from the front of the queue. */
  fair: ScanOrder | undefined;
  cursor: ReturnType<typeof createFairnessCursor>;
  keySearch: ReturnType<typeof createKeySearch>;
  /** Claims looked at the queue since it was last walked (maintenance/recall.ts). */
  claimed: boolean;
  walkedAt: number;
}

export const newScanOrder = (queueId: number, { hasKeys }: { hasKeys: boolean }): ScanOrder => ({
  queueId,
  hasKeys,
  floor: createScanFloor(),
  storedReadAt: Number.NEGATIVE_INFINITY,
  run: undefined,
  surveys: { since: 0, until: Number.NEGATIVE_INFINITY },
  checkedAt: Number.NEGATIVE_INFINITY,
});

export const scanOrdersOf = ({ plain, fair }: QueueMemory): ScanOrder[] => (fair ? [plain, fair] : [plain]);

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
          walkedAt: Number.NEGATIVE_INFINITY,
        };
        memories.set(name, memory);
      }
      return memory;
    },

    find: (name: string): QueueMemory | undefined => memories.get(name),

    all: (): Iterable<QueueMemory> => memories.values(),

    /** Positions may come again. What is under way still writes into the old memories. */
    forget: (): void => memories.clear(),
  };
}

export type QueueMemories = ReturnType<typeof createQueueMemories>;
