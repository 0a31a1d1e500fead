import type { Arrivals } from '../floor/arrivals.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { SoleWaiters } from '../waiting/soleWaiters.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { createAck } from './ack.ts';
import { createAfterSettle } from './afterSettle.ts';
import { createExtend } from './extend.ts';
import { createGiveBackVerbs } from './giveBackVerbs.ts';
import type { SettleContext } from './settleBatch.ts';

interface Context extends SettleContext {
  arrivals: Arrivals;
  notifier: Notifier;
  waiters: Waiters;
  soleWaiters: SoleWaiters;
  tally: Tally;
  leaseEnds: LeaseTimes;
}

/**
 * The verbs that end or extend a lease, without follow-ups (followUps.ts), and what is to be done after them. Each verb
 * throws `lease_lost` for a stale token and `job_not_found` for a job that is gone.
 */
export function createSettlement(context: Context) {
  const afterSettle = createAfterSettle(context);
  return {
    ...afterSettle,
    ack: createAck({ ...context, afterSettle }),
    ...createGiveBackVerbs({ ...context, afterSettle }),
    extend: createExtend(context),
  };
}

export type Settlement = ReturnType<typeof createSettlement>;
