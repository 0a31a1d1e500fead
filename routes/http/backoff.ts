import type { Backoff } from '../../src/queues/queue.ts';
import { DEFAULT_BACKOFF } from '../schemas/job.ts';

/** A microsecond is what times resolve; what is far below it would underflow in the database's arithmetic. */
const toMicros = (seconds: number) => Math.round(seconds * 1e6) / 1e6;

/** A backoff with the defaults of what was left out. */
export function completeBackoff(asked: Partial<Backoff>): Backoff {
  const { kind, base_seconds, max_seconds, jitter } = { ...DEFAULT_BACKOFF, ...asked };
  return {
    kind,
    base_seconds: toMicros(base_seconds),
    max_seconds: toMicros(max_seconds),
    jitter: toMicros(jitter),
  };
}
