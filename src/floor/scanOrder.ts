import { createScanFloor } from './scanFloor.ts';

/** Surveys that follow each other until the floors of an order stand before jobs, or at the end of the order. */
export interface SurveyRun {
  /** The first jobs that are ready, by rank, and whether the queue gave jobs freely. */
  firsts: Map<number, { position: number; givesFreely: boolean | null }>;
  done: Promise<void>;
}

/**
 * What a replica remembers of the order of some jobs of a queue: of those with fairness keys (`hasKeys`), or of the
 * others.
 */
export interface ScanOrder {
  queueId: number;
  hasKeys: boolean;
  floor: ReturnType<typeof createScanFloor>;
  /** When the stored floors were read. */
  storedReadAt: number;
  /** The surveys that are under way (surveys.ts). They go on without claims. */
  run: SurveyRun | undefined;
  /** When claims that follow each other began to wait for surveys, and when the last one did. */
  surveys: { since: number; until: number };
  /** When the cost of ranks that are scanned whole was checked. */
  checkedAt: number;
}

/** A queue that claims of this replica scan. */
export interface ScannedQueue {
  name: string;
  queueId: number;
  /** The jobs without a fairness key. */
  plain: ScanOrder;
  /** The jobs with one, where claims scan them by position. */
  fair: ScanOrder | undefined;
  /** Claims looked at the queue since the last patrol (patrol.ts). */
  claimed: boolean;
  /** When the last patrol of it ended. */
  patrolledAt: number;
}

export interface ScannedQueues {
  all(): Iterable<ScannedQueue>;
  /** Forgets all floors. */
  forget(): void;
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

export const scanOrdersOf = ({ plain, fair }: ScannedQueue): ScanOrder[] => (fair ? [plain, fair] : [plain]);
