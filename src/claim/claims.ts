import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import { refuseHalfPairs } from '../enqueue/checks.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import type { Ledger } from '../ledger.ts';
import type { Memory } from '../memory.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { ClaimRequest } from './claim.ts';
import { ownWithoutLeasing } from './claimRows.ts';
import { createDispatcher } from './dispatcher.ts';
import { createLease } from './lease.ts';
import { createLostLeases } from './lostLeases.ts';
import { createQueueMemories } from './queueMemories.ts';
import { RepeatableClaims } from './repeatable.ts';

/**
 * Checks names that the database must store. `at`: where the claim stands in the body. @throws Refusal
 * `invalid_request`
 */
export const checkClaim = ({ claim_id, worker }: ClaimRequest, at: string): void =>
  refuseHalfPairs({ claim_id, worker }, at);

/** The claims of this replica: how they are served, woken, repeated and given back. */
export function createClaims(context: {
  db: Database;
  arrivals: Arrivals;
  memory: Memory;
  joinRoundTrip: JoinRoundTrip;
  queues: Queues;
  notifier: Notifier;
  settlement: Settlement;
  tally: Tally;
  leaseEnds: LeaseTimes;
  ledger: Ledger;
  rest: { isAwake(): boolean };
  log: (error: unknown, message: string) => void;
}) {
  const { db, arrivals, memory, joinRoundTrip, queues, notifier, settlement, tally, leaseEnds, ledger, log } =
    context;
  const lostLeases = createLostLeases({ db, settlement, ledger, log });
  const memories = createQueueMemories();
  const lost = lostLeases.claimLost;
  const { leaseJobs, stop } = createLease({
    db,
    arrivals,
    memory,
    memories,
    tally,
    leaseEnds,
    lost,
  });
  const dispatcher = createDispatcher({
    leaseJobs,
    ownWithoutLeasing: (claims) => ownWithoutLeasing(db, claims),
    queues,
    joinRoundTrip,
    connections: db.connections().most,
    giveBack: lostLeases.giveBack,
    notifier,
    ledger,
    isAwake: context.rest.isAwake,
  });
  const repeatable = new RepeatableClaims({
    db,
    queues,
    claim: dispatcher.claim,
    notifier,
    leave: lostLeases.leave,
    ledger,
    log,
  });

  return {
    /**
     * Leases jobs, and waits for the first if it is asked to. When the consumer hangs up, its jobs go back uncharged.
     */
    async claim(request: ClaimRequest): Promise<LeasedJob[]> {
      checkClaim(request, '');
      const { claim_id } = request;
      const claim = claim_id === undefined ? dispatcher.claim(request) : repeatable.claim(request, claim_id);
      request.onHangup?.(claim.abandon);
      return claim.jobs;
    },

    wake: dispatcher.wake,
    expect: dispatcher.expect,
    goAlong: dispatcher.goAlong,
    lookAt: dispatcher.lookAt,
    replaced: (mark: string, holder: string): void => repeatable.replaced(mark, holder),

    /** Notifications may have been lost. */
    wakeAll(): void {
      dispatcher.wakeAll();
      repeatable.check();
    },

    /** How many claims are not answered yet. */
    open: dispatcher.open,

    memories,
    fairnessCursor: memories.cursorOf,

    /** The duty that gives lost leases back. */
    giveBackLost: lostLeases.search,

    /** Answers all waiting claims. Later claims do not wait. */
    close: dispatcher.close,

    /** Settles when no claiming statement runs, and what claims got whose consumers hung up is given back. */
    async idle(): Promise<void> {
      await dispatcher.idle();
      await repeatable.idle();
      await lostLeases.returned();
      await stop();
    },
  };
}

export type Claims = ReturnType<typeof createClaims>;
