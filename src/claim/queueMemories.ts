import type { Queue } from '../queues/cache.ts';
import { createFairnessCursor } from './fairness.ts';
import { createScanFloor } from './scanFloor.ts';

/** Surveys that follow each other until the floors of a queue stand before jobs, or at the end of the order. */
export interface SurveyRun {
  /** The first jobs that are ready, by rank, and whether the queue gave jobs freely. */
  firsts: Map<number, { position: number; givesFreely: boolean | null }>;
  done: Promise<void>;
}

/** What a replica remembers of a queue that it serves claims of. */
export interface QueueMemory {
  name: string;
  queueId: number;
  floor: ReturnType<typeof createScanFloor>;
  cursor: ReturnType<typeof createFairnessCursor>;
  /** When the stored floors were read. */
  storedReadAt: number;
  /** The surveys that are under way (raiseFloor.ts). They go on without claims. */
  run: SurveyRun | undefined;
  /** When claims that follow each other began to wait for surveys, and when the last one did. */
  surveys: { since: number; until: number };
  /** When the cost of ranks that are scanned whole was checked. */
  checkedAt: number;
  /** Claims looked at the queue since it was last walked (maintenance/recall.ts). */
  claimed: boolean;
  walkedAt: number;
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
          floor: createScanFloor(),
          cursor: createFairnessCursor(),
          storedReadAt: Number.NEGATIVE_INFINITY,
          run: undefined,
          surveys: { since: 0, until: Number.NEGATIVE_INFINITY },
          checkedAt: Number.NEGATIVE_INFINITY,
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
