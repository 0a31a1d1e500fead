import { unavailable } from '../errors.ts';
import { isRetryable, isStalePlan, isTimeLimit, outageAsRefusal, wasIdle } from './errorClasses.ts';
import type { OutageLog } from './outageLog.ts';

/** A transaction that others undo is tried so often. */
const MOST_TRIES = 5;

/** Runs an attempt, and again where that may help. `mayTimeOut`: a time limit that is reached is no outage. */
export type WithRetries = <T>(attempt: () => Promise<T>, mayTimeOut: boolean) => Promise<T>;

/** Retries on a pool of so many connections. Outages are logged, and thrown as the refusal `unavailable`. */
export const createRetries =
  (connections: number, log: OutageLog): WithRetries =>
  async (attempt, mayTimeOut) => {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        // Every connection of the pool may have the stale plan.
        if (wasIdle(error) && tries < MOST_TRIES) continue;
        if (isRetryable(error) && tries < (isStalePlan(error) ? connections + 1 : MOST_TRIES)) continue;
        if (isRetryable(error)) {
          log.undone(error);
          throw unavailable(
            'Other transactions changed the same rows at the same time. Try again later.',
            'not_done',
            error,
          );
        }
        const refusal = outageAsRefusal(error);
        if (refusal !== error && !(mayTimeOut && isTimeLimit(error))) log.failed(error);
        throw refusal;
      }
    }
  };
