import type { RawJson } from '../job.ts';
import type { Backoff } from '../queues/queue.ts';

export interface NewJob {
  queue?: string;
  payload?: RawJson;
  headers?: Record<string, string>;
  priority?: number;
  delay_seconds?: number;
  run_at?: string;
  max_attempts?: number;
  backoff?: Backoff;
  unique_key?: string;
  unique_for_seconds?: number;
  group?: string;
  fairness_key?: string;
  expires_in_seconds?: number;
  /** Somebody waits for its end, for so long. */
  awaited_seconds?: number;
}
