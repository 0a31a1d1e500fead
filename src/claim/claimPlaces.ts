import type { JoinRoundTrip, RoundTrip } from '../batching/roundTrip.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { Claim } from './claim.ts';
import type { Leases } from './leasedJob.ts';
import type { Paces } from './paces.ts';

/** A database, as claims that wait for its queues need it. */
export interface ClaimDatabase {
  queues: Pick<Queues, 'byName' | 'refresh'>;
  leaseJobs(queue: Queue, claims: Claim[], trip: RoundTrip, filled: () => void): Promise<Leases>;
  /** Notes which claims with a name may not lease, of those that look at an empty queue. */
  ownWithoutLeasing(claims: Claim[]): Promise<void>;
  joinRoundTrip: JoinRoundTrip;
  paces: Paces;
  giveBack(jobs: LeasedJob[]): void;
  notifier: Pick<Notifier, 'waiting'>;
  /** Whether its duties do not rest. */
  isAwake(): boolean;
  /** Whether it is known not to answer. */
  isAway(): boolean;
}

/**
 * Which queue is in which database. When a queue has come into being, or is in another database now, `wake(queue)` of
 * the claims has those that wait look there. If that is not called, they look within a second.
 */
export interface ClaimPlaces<Database extends ClaimDatabase = ClaimDatabase> {
  /** The databases of this replica. A queue of which nothing is known is looked for in the first one, `home`. */
  all(): [Database, ...Database[]];
  /** Where a queue is, as far as this replica knows without a look. */
  known(queue: string): Database | undefined;
  /**
   * Looks at `home` where a queue is now, whatever is known, and remembers it. Those who ask at the same time share a
   * statement. Missing where there is one database only. @throws Refusal `unavailable`
   */
  find?(queue: string): Promise<Database | undefined>;
}

/** Where a queue is, or would be looked for. */
export const placeOf = <Database extends ClaimDatabase>(
  { all, known }: ClaimPlaces<Database>,
  queue: string,
): Database => known(queue) ?? all()[0];

/** All queues are in the only database. */
export const inOne = <Database extends ClaimDatabase>(database: Database): ClaimPlaces<Database> => ({
  all: () => [database],
  known: () => database,
});
