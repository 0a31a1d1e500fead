import type { Queue } from './queue.ts';

/** Where a queue lives. */
export interface Place {
  database: string;
  queueId: number;
}

/** A queue lives in another database than was known, or in none any more. The caller looks again. */
export class Misplaced extends Error {
  constructor() {
    super('The queue lives in another database than was known, or in none any more');
  }
}

/** Where queues live, as one of several databases sees it. */
export interface Places {
  /** The name of this database. */
  self: string;
  /** Gives those of these queues a place that have none. Afterwards, all places are known, and those elsewhere as they are now. */
  place(queues: string[]): Promise<void> | undefined;
  /** The place of a queue that lives in another database. Undefined for one that lives here, and for one that is not known. */
  elsewhere(queue: string): Place | undefined;
  /** The same, as it is now. Looks where the queue lives, if that is not known. */
  findElsewhere(queue: string): Promise<Place | undefined>;
  /**
   * In which database the queue with this number lives now. Undefined: it was deleted. `looksAgain`: what is known was wrong.
   * @throws Refusal `unavailable` while that is not known, or home has forgotten the queue
   */
  databaseOf(queueId: number, looksAgain?: boolean): Promise<string | undefined>;
}

/** A new job with this `max_attempts` has as many as its queue says where it arrives. */
export const AS_QUEUE_SAYS = 0;

/** A queue in another database. How it is configured is not known here: what arrives there goes by it. */
export const queueElsewhere = (name: string, { database, queueId }: Place): Queue => ({
  id: queueId,
  name,
  database,
  paused: false,
  fair: true,
  created_at: '',
  lease_seconds: 30,
  max_attempts: AS_QUEUE_SAYS,
  backoff: { kind: 'exponential', base_seconds: 1, max_seconds: 3600, jitter: 0.2 },
  retention_seconds: 0,
  dead_retention_seconds: 0,
  alert_after_seconds: 300,
  dead_letter_queue: null,
  group_concurrency: 1,
  group_batches: 1,
  is_narrowing: false,
  max_leased: null,
  rate_limit: null,
  max_ready: null,
});
