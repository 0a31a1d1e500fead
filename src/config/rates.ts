import type { Variables } from './variables.ts';

/** How often somebody may ask. 0: as often as they like. */
export interface Rates {
  /** Requests that a caller may send to a replica. */
  requestsPerSecond: number;
  /** Queues that a caller may create through a replica. */
  newQueuesPerSecond: number;
  /** Wrong keys and tokens that an address may send. */
  failuresPerMinute: number;
}

export const readRates = ({ integer }: Variables): Rates => ({
  requestsPerSecond: integer('RATE_LIMIT_REQUESTS_PER_SECOND'),
  newQueuesPerSecond: integer('RATE_LIMIT_NEW_QUEUES_PER_SECOND'),
  failuresPerMinute: integer('RATE_LIMIT_FAILURES_PER_MINUTE'),
});
