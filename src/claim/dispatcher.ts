import type { RoundTrip } from '../batching/roundTrip.ts';
import type { Ledger } from '../ledger.ts';
import { WAITING_BYTES } from '../memory.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Db } from '../postgres/pool.ts';
import type { Queue } from '../queues/cache.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import { Actor } from './actor.ts';
import { type Claim, type ClaimName, type ClaimRequest, hasLooked, newClaim } from './claim.ts';
import type { ClaimDatabase, ClaimPlaces } from './claimPlaces.ts';
import { OpenClaims } from './openClaims.ts';
import { createPolls } from './polls.ts';

/** What a claim takes in the wait line of each of its queues, if it is alone there. */
const LINE_BYTES = 4 * 1024;

/** After a lock has held up a round trip that claims had joined, claims join none of others for this time. */
const AWAY_MS = 10_000;

const never = () => false;

/** A claim that a request has made. */
export interface OpenClaim {
  jobs: Promise<LeasedJob[]>;
  /** Its consumer hung up. It gets no more jobs, and those that it got go back uncharged. */
  abandon(): void;
  /** A repeat takes its place. So it waits no longer, but still looks at all of its queues once. */
  replace(): void;
  /** Whether it has looked at all of its queues. Then it waits. */
  hasLooked(): boolean;
  /** Whether another request with the same claim_id has leased, or may lease. */
  isTaken(): boolean;
  /** Whether it had its row at some time, there or anywhere. If so, a request that has the row now came later. */
  hasOwned(db?: Db): boolean;
}

function handleOf(claim: Claim, act: Actor['act']): OpenClaim {
  return {
    jobs: claim.answered,
    abandon: () => void act({ type: 'hung up', claim }),
    replace: () => void act({ type: 'wait over', claim }),
    hasLooked: () => hasLooked(claim),
    isTaken: () => claim.wish === 'taken',
    hasOwned: (db) => (db ? claim.owned?.has(db) : claim.owned && claim.owned.size > 0) ?? false,
  };
}

/**
 * The claims that are not answered yet: how they begin, what wakes them, how they end. step.ts decides what they do.
 */
export function createDispatcher({ places, ledger }: { places: ClaimPlaces; ledger: Ledger }) {
  const open = new OpenClaims();
  const actor = new Actor(places, open);
  const act: Actor['act'] = (event) => actor.act(event);
  const { lines } = actor.state;
  ledger.count('claims', () => open.all);
  ledger.count('wait_line_places', () => lines.claims().length);
  ledger.count('claim_places', () => actor.places());
  const polls = createPolls({
    lines,
    look: (line) => actor.look(line),
    fail: (line, error) => void act({ type: 'failed', line, error }),
    places,
  });
  /** When claims may go along in round trips of others again, after a lock in that database. */
  const alongFrom = new Map<ClaimDatabase, number>();

  return {
    /** Leases up to `limit` jobs, and waits up to `wait_seconds` for the first. @throws Refusal `overloaded` */
    claim(request: ClaimRequest, name?: ClaimName): OpenClaim {
      const claim = newClaim(request, name);
      if (claim.wish === 'wait')
        claim.hold?.().take(WAITING_BYTES + claim.queues.length * LINE_BYTES, 'waiting');
      open.take(claim.by);
      act({ type: 'arrived', claim });
      if (claim.wish === 'wait')
        claim.timer = setTimeout(
          () => act({ type: 'wait over', claim }),
          (request.wait_seconds as number) * 1000,
        );
      return handleOf(claim, act);
    },

    /**
     * Wakes the claims that wait for a queue: jobs are ready. If a round trip made them ready, `trip` is its number.
     * Claims in that trip, or a later one, have seen them, and are not woken.
     */
    wake: (queue: string, trip?: number): void => void act({ type: 'woken', queue, trip }),

    /**
     * The next round trip of the queue may make jobs ready. Claims that wait join it, unless their statements run
     * outside.
     */
    expect: (queue: string): void => void act({ type: 'coming', queue }),

    /**
     * Lets waiting claims join this round trip of others, which puts this number of jobs into a queue. The returned
     * function tells whether they saw every job: there were enough of them, and they did not leave the round trip.
     */
    goAlong(database: ClaimDatabase, queue: Queue, jobs: number, trip: RoundTrip): () => boolean {
      const began = performance.now();
      if (trip.number === undefined || began < (alongFrom.get(database) ?? 0)) return never;
      const along = actor.goAlong(database, queue, jobs, trip, () => {
        const ended = performance.now();
        if (ended > began + SHORT_LOCK_WAIT_MS) alongFrom.set(database, ended + AWAY_MS);
      });
      return along ? () => along.slots >= jobs && along.trip.number !== undefined : never;
    },

    /** Has the claims of a queue look again, as soon as there is a place. */
    lookAt(queue: string): void {
      const line = lines.find(queue);
      if (line) polls.ask(line);
    },

    /** Has all claims look again, as soon as there are places. */
    wakeAll: polls.askAll,

    /** How many claims are not answered yet. */
    open: (): number => open.all,

    /** Answers all waiting claims with what they have. Later claims do not wait. */
    close(): void {
      polls.stop();
      act({ type: 'closed' });
    },

    /**
     * Settles when no statement is under way any more. Then all that it leased to abandoned claims is being given back.
     */
    idle: (): Promise<void> => actor.idle(),
  };
}
