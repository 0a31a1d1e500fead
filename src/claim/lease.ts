import { randomUUID } from 'node:crypto';
import type { RoundTrip } from '../batching/roundTrip.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { createRaiseFloor } from '../floor/raiseFloor.ts';
import type { Narrowing } from '../groups/narrow.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import { type Hold, type Memory, SMALL_BYTES } from '../memory.ts';
import type { Tally } from '../metrics/tally.ts';
import { isClaimTaken, isLockTimeout, isSessionEnded, isTimeLimit } from '../postgres/errorClasses.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queue } from '../queues/cache.ts';
import type { Guests } from '../sessions/guests.ts';
import { CLAIM_BYTES, type Claim, type ClaimName, slotsOf } from './claim.ts';
import { type Claimed, parametersOf, type Room, runClaim } from './claimingStatement.ts';
import { enter, mayLeaseIn, namesOf, noteTaken } from './claimRows.ts';
import { enterGuests, noteEnded, withoutGuests } from './claimSessions.ts';
import { isWalk } from './keySearch.ts';
import { dealRows, type Leases } from './leasedJob.ts';
import { hasClaimLimit } from './limits.ts';
import type { QueueMemories } from './queueMemories.ts';
import { createScans, type Scan } from './scans.ts';

/** The room that is taken for each slot, before it is known how large the jobs are. */
const JOB_BYTES = 2 ** 20;

/** The room when memory is short: claims still get small jobs. */
const SCARCE: Room = { max_bytes: SMALL_BYTES, most_bytes: SMALL_BYTES };
const ANY_SIZE = 2 ** 31 - 1;

/** Takes memory for the jobs that these claims may lease. @throws Refusal `overloaded`, before anything is leased */
function roomFor(claims: Claim[], hold: Hold): Room {
  const slots = claims.reduce((sum, claim) => sum + slotsOf(claim), 0);
  const max_bytes = hold.takeUpTo(Math.min(CLAIM_BYTES, slots * JOB_BYTES));
  if (max_bytes !== undefined) return { max_bytes, most_bytes: ANY_SIZE };
  hold.take(SMALL_BYTES, 'small');
  return SCARCE;
}

/** Claims of one queue, in their order, to which one statement leases jobs. */
interface Asked {
  queue: Queue;
  claims: Claim[];
  trip: RoundTrip;
  room: Room;
  /** Is called as soon as it is known that each claim gets all that it asked for. */
  filled: () => void;
}

/**
 * After a statement failed: whether it certainly leased nothing, and the next one will do better. That one goes without
 * the claims that other requests have or whose sessions have ended, or leases from the front of the queue.
 */
async function mayDoBetter(
  error: unknown,
  { db, guests }: { db: Database; guests?: Guests | undefined },
  claims: Claim[],
  scan: Scan,
): Promise<boolean> {
  if (isClaimTaken(error)) {
    await noteTaken(db, claims);
    return true;
  }
  if (isSessionEnded(error)) {
    await noteEnded(db, claims, guests);
    return true;
  }
  if (!isTimeLimit(error) || !isWalk(scan.way)) return false;
  scan.known.keySearch.failed();
  // After a walk without a limit of its own, there is no time left for another statement.
  return scan.way === 'limited walk';
}

/**
 * How claims enter this database that are new here, by their names or by their sessions. Undefined: none is new.
 */
function newcomersIn({ db, guests }: { db: Database; guests?: Guests | undefined }) {
  const isAllowed = mayLeaseIn(db);
  return (claims: Claim[]): (() => Promise<void>) | undefined => {
    const strangers = claims.filter((claim) => !isAllowed(claim));
    const guestless = guests ? withoutGuests(guests, claims) : [];
    if (strangers.length === 0 && guestless.length === 0) return undefined;
    return async () => {
      await enter(db, strangers);
      if (guests) await enterGuests(guests, guestless);
    };
  };
}

/** Leases jobs to claims. Read `lease` first: it has all steps from claims to their jobs, in order. */
export function createLease(context: {
  db: Database;
  arrivals: Arrivals;
  memory: Memory;
  memories: QueueMemories;
  tally?: Pick<Tally, 'claimed'> | undefined;
  leaseEnds: LeaseTimes;
  narrowing: Pick<Narrowing, 'met'>;
  /** Set where there are several databases, in those beside home. */
  guests?: Guests | undefined;
  /** Is told of claims whose statement failed, when it is not known whether they leased jobs. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
}) {
  const { db, arrivals, memory, memories, lost, tally, leaseEnds, narrowing } = context;
  const newcomers = newcomersIn(context);
  const floors = createRaiseFloor({ db, arrivals });
  const scans = createScans(arrivals, floors);

  const wayOf = (queue: Queue) => (queue.fair ? memories.of(queue).keySearch.way() : undefined);

  /**
   * Decides where the statement runs: in its round trip, or outside. `isHeldUp`: it met a lock in the round trip
   * before.
   */
  async function takePlace({ queue, claims, trip }: Asked, isHeldUp: boolean) {
    const way = wayOf(queue);
    // Others in the round trip must not wait for the lock of a claim limit, for a slow walk, or for `refresh`.
    const isShared = !isHeldUp && !hasClaimLimit(queue) && way !== 'limited walk' && arrivals.isFresh();
    if (isShared) return { on: trip.db, isShared, way };
    const on = trip.leave().db;
    // Outside of the round trip, a claim could be faster than the settlement of its own request.
    await Promise.allSettled(claims.map(({ settling }) => settling));
    if (!arrivals.isFresh()) await arrivals.refresh();
    // `refresh` forgets what was known of the queue, if the database was restored.
    return { on, isShared, way: wayOf(queue) };
  }

  async function lease(asked: Asked, isHeldUp = false): Promise<Leases> {
    const { queue, claims, room, filled } = asked;
    const enterAll = newcomers(claims);
    if (enterAll) {
      asked.trip.leave();
      await enterAll();
      return { jobs: claims.map(() => []), cut: true };
    }
    const { on, isShared, way } = await takePlace(asked, isHeldUp);
    const scan = scans.choose(memories.of(queue), way);
    const nonces = claims.map(() => randomUUID());
    const parameters = parametersOf(queue, claims, nonces, room);
    const startedAt = performance.now();
    let claimed: Claimed;
    try {
      claimed = await runClaim({ db, on, isShared, queue, claims, parameters, scan, filled });
    } catch (error) {
      // Another request has locked the row of one of the claims. Outside of the round trip, this statement may wait for
      // it.
      if (isShared && isLockTimeout(error)) return lease(asked, true);
      if (await mayDoBetter(error, context, claims, scan)) return { jobs: claims.map(() => []), cut: true };
      scans.failed(scan);
      const unnamed = nonces.filter((_, i) => !claims[i]?.name);
      // A claim that has jobs already is answered with them. What it leased besides is found by a repeat, or runs out.
      lost(queue.id, unnamed, namesOf(claims.filter((claim) => claim.jobs.length === 0)));
      throw error;
    }
    const { rows, opensInMs, crowded } = claimed;
    if (crowded) narrowing.met(queue.id, crowded);
    scans.leased(scan, rows, { startedAt, slots: parameters.slots });
    tally?.claimed(queue.id, rows);
    const { jobs, size } = dealRows(rows, queue, claims, parameters.first_slots);
    for (const { owned } of claims) owned?.add(db);
    for (const leased of jobs)
      for (const { id, lease_seconds } of leased) leaseEnds.note(id, startedAt + lease_seconds * 1000);
    // `size` is in UTF-16 units. Each is at most 3 bytes of UTF-8: a character of 4 bytes has two units.
    const isFull = size * 3 >= room.max_bytes;
    const isPassing = typeof rows[0]?.passed_position === 'number';
    const leases = {
      jobs,
      cut: isFull || isPassing || (rows[0]?.cut ?? false),
      scarce: room === SCARCE,
      opensInMs,
    };
    // The first job may be too large for the room. No scan floor may rise above it.
    return leases.scarce && rows.length === 0 ? leases : scans.raiseAll(scan, rows, parameters.slots, leases);
  }

  return {
    /** Leases ready jobs of one queue to claims, with one statement. */
    async leaseJobs(
      queue: Queue,
      claims: Claim[],
      trip: RoundTrip,
      filled: () => void = () => undefined,
    ): Promise<Leases> {
      const hold = memory.hold();
      try {
        return await lease({ queue, claims, trip, filled, room: roomFor(claims, hold) });
      } finally {
        hold.release();
      }
    },

    /** Ends the surveys. No claim is under way any more. */
    stop: floors.stop,
  };
}
