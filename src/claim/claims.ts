import type { RoundTrip } from '../batching/roundTrip.ts';
import { refuseHalfPairs } from '../enqueue/checks.ts';
import type { Ledger } from '../ledger.ts';
import type { Queue } from '../queues/cache.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import type { ClaimRequest } from './claim.ts';
import type { ClaimPlaces } from './claimPlaces.ts';
import type { DatabaseClaims } from './databaseClaims.ts';
import { createDispatcher } from './dispatcher.ts';
import { RepeatableClaims } from './repeatable.ts';

/**
 * Checks names that the database must store. `at`: where the claim stands in the body. @throws Refusal
 * `invalid_request`
 */
export const checkClaim = ({ claim_id, worker }: ClaimRequest, at: string): void =>
  refuseHalfPairs({ claim_id, worker }, at);

/** The sessions that claims name. */
export interface ClaimSessions {
  /**
   * Makes sure that a session is there, and of this owner. `isSure`: it has not ended. Without, one that was there before may
   * have.
   * @throws Refusal `session_not_found`
   */
  check(session: string, owner: string | undefined, isSure?: boolean): Promise<void> | undefined;
  /**
   * Where there are several databases: has the session be known in those of the claim. Returns the claim without the queues
   * where that cannot be now. Undefined: nothing is to be done. @throws Refusal `unavailable` where it can be nowhere
   */
  enter?(request: ClaimRequest, session: string): Promise<ClaimRequest> | undefined;
}

/** The claims of this replica, in all of its databases: how they are served, woken and repeated. */
export function createClaims(context: {
  places: ClaimPlaces<DatabaseClaims>;
  ledger: Ledger;
  sessions: ClaimSessions;
  log: (error: unknown, message: string) => void;
}) {
  const dispatcher = createDispatcher(context);
  const repeatable = new RepeatableClaims({ ...context, claim: dispatcher.claim });

  const { sessions } = context;

  /** @throws Refusal `session_not_found` */
  const checkSession = ({ session, owner }: ClaimRequest, isSure = false): Promise<void> | undefined =>
    session === undefined ? undefined : sessions.check(session, owner, isSure);

  const enterSession = (request: ClaimRequest): Promise<ClaimRequest> | undefined =>
    request.session === undefined ? undefined : sessions.enter?.(request, request.session);

  return {
    /**
     * Leases jobs, and waits for the first if it is asked to. When the consumer hangs up, its jobs go back uncharged.
     */
    async claim(asked: ClaimRequest): Promise<LeasedJob[]> {
      checkClaim(asked, '');
      const { claim_id } = asked;
      // One that is known here may have ended. Then the claiming statement finds it out (claimSessions.ts).
      const checked = checkSession(asked);
      if (checked) await checked;
      const entered = enterSession(asked);
      const request = entered ? await entered : asked;
      const claim = claim_id === undefined ? dispatcher.claim(request) : repeatable.claim(request, claim_id);
      request.onHangup?.(claim.abandon);
      const jobs = await claim.jobs;
      if (jobs.length === 0 && !checked) await checkSession(request, true);
      return jobs;
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

    /** Answers all waiting claims. Later claims do not wait. */
    close: dispatcher.close,

    /**
     * Settles when no claiming statement runs. Then what they leased to claims whose consumers hung up is being given
     * back.
     */
    async idle(): Promise<void> {
      await dispatcher.idle();
      await repeatable.idle();
    },
  };
}

export type Claims = ReturnType<typeof createClaims>;

/** The claims of this replica, as the rooms of one of its databases use them. */
export const claimsIn = (database: DatabaseClaims, claims: Claims) => ({
  ...claims,
  goAlong: (queue: Queue, jobs: number, trip: RoundTrip) => claims.goAlong(database, queue, jobs, trip),
  memories: database.memories,
  fairnessCursor: database.fairnessCursor,
  giveBackLost: database.giveBackLost,

  /** Settles when no claiming statement runs, and what claims got whose consumers hung up is given back. */
  async idle(): Promise<void> {
    await claims.idle();
    await database.idle();
  },
});

export type ClaimsInDatabase = ReturnType<typeof claimsIn>;
