import type { JoinRoundTrip } from '../batching/roundTrips.ts';
import type { Memory } from '../memory.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { ClaimRequest } from './claim.ts';
import { createDispatcher } from './dispatcher.ts';
import { createLease } from './lease.ts';
import type { LeasedJob } from './leasedJob.ts';
import { createLostLeases } from './lostLeases.ts';
import { repeatableClaims } from './repeatable.ts';

/** A claim, and a way to learn that its consumer hung up. */
export interface HeldClaimRequest extends ClaimRequest {
  /** Is given the function to call when the consumer is gone. */
  onHangup?(gone: () => void): void;
}

/** The claims of this replica: how they are served, woken, repeated and given back. */
export function createClaims(context: {
  db: Database;
  memory: Memory;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  notifier: Notifier;
  settlement: Settlement;
  log: (error: unknown, message: string) => void;
}) {
  const { db, memory, joinRoundTrip, queues, notifier, settlement, log } = context;
  const lostLeases = createLostLeases({ db, settlement, log });
  const { leaseJobs, rescan, fairnessCursor } = createLease({ db, memory, lost: lostLeases.claimLost });
  const dispatcher = createDispatcher({
    leaseJobs,
    queues,
    joinRoundTrip,
    giveBack: lostLeases.giveBack,
    notifier,
  });
  const repeatable = repeatableClaims({ db, queues, claim: dispatcher.claim, notifier });

  return {
    /** Leases jobs, and waits for the first if it is asked to. Once the consumer is gone, its jobs go back uncharged. */
    claim(request: HeldClaimRequest): Promise<LeasedJob[]> {
      const claim = repeatable.claim(request);
      request.onHangup?.(claim.abandon);
      return claim.jobs;
    },

    wake: dispatcher.wake,
    expect: dispatcher.expect,
    wakeAll: dispatcher.wakeAll,
    heard: repeatable.heard,

    /** Something is ready in a queue, perhaps below the scan floor of this replica. */
    wakeAndRescan(queue: string): void {
      rescan(queue);
      dispatcher.wake(queue);
    },

    rescan,
    fairnessCursor,

    /** The duty that gives lost leases back. */
    giveBackLost: lostLeases.search,

    /** Answers all waiting claims. Later claims do not wait. */
    close: dispatcher.close,

    /** Settles when no claiming statement is under way, and all that abandoned claims got is given back. */
    async idle(): Promise<void> {
      await dispatcher.idle();
      await lostLeases.returned();
    },
  };
}

export type Claims = ReturnType<typeof createClaims>;
