import type { JoinRoundTrip } from '../batching/roundTrip.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Narrowing } from '../groups/narrow.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import type { Ledger } from '../ledger.ts';
import type { Memory } from '../memory.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Guests } from '../sessions/guests.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Claim } from './claim.ts';
import { mayLeaseIn, ownWithoutLeasing } from './claimRows.ts';
import { createLease } from './lease.ts';
import { createLostLeases } from './lostLeases.ts';
import { createPaces } from './paces.ts';
import { createQueueMemories } from './queueMemories.ts';

/** How the claims of this replica lease jobs in one database, and give them back there. */
export function createDatabaseClaims(context: {
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
  narrowing: Pick<Narrowing, 'met'>;
  rest: { isAwake(): boolean };
  /** Set where there are several databases, in those beside home. */
  guests?: Guests | undefined;
  log: (error: unknown, message: string) => void;
}) {
  const { db, joinRoundTrip, queues, notifier } = context;
  const lostLeases = createLostLeases(context);
  const memories = createQueueMemories();
  const { leaseJobs, stop } = createLease({ ...context, memories, lost: lostLeases.claimLost });

  return {
    db,
    queues,
    notifier,
    guests: context.guests,
    joinRoundTrip,
    isAwake: context.rest.isAwake,
    isAway: () => !db.serves(),
    paces: createPaces(db.connections().most),
    leaseJobs,
    ownWithoutLeasing: (claims: Claim[]) => ownWithoutLeasing(db, claims.filter(mayLeaseIn(db))),
    giveBack: lostLeases.giveBack,
    leave: lostLeases.leave,

    memories,
    fairnessCursor: memories.cursorOf,

    /** The duty that gives lost leases back. */
    giveBackLost: lostLeases.search,

    /** Settles when what claims got whose consumers hung up is given back. No claiming statement may run any more. */
    async idle(): Promise<void> {
      await lostLeases.returned();
      await stop();
    },
  };
}

export type DatabaseClaims = ReturnType<typeof createDatabaseClaims>;
