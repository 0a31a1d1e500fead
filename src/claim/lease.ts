import { randomUUID } from 'node:crypto';
import type { RoundTrip } from '../batching/roundTrips.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import { createRaiseFloor } from '../floor/raiseFloor.ts';
import { scanOrdersOf } from '../floor/scanOrder.ts';
import type { LeaseTimes } from '../leaseTimes.ts';
import { type Hold, type Memory, SMALL_BYTES } from '../memory.ts';
import type { Tally } from '../metrics/tally.ts';
import { isClaimTaken, isLockTimeout, isTimeLimit } from '../postgres/errorClasses.ts';
import type { Database } from '../postgres/pool.ts';
import type { Queue } from '../queues/cache.ts';
import type { LeasedJob } from '../verbs/claims.ts';
import { CLAIM_BYTES, type Claim, type ClaimName, slotsOf } from './claim.ts';
import { type Claimed, type ClaimedRow, parametersOf, type Room, runClaim } from './claimingStatement.ts';
import { noteTaken } from './claimRows.ts';
import { dealRows } from './dealRows.ts';
import { isWalk, type KeySearchWay } from './keySearch.ts';
import { hasClaimLimit } from './limits.ts';
import type { QueueMemories, QueueMemory } from './queueMemories.ts';
import { createScans } from './scans.ts';

/** Room for a job of a claim, at first. */
const JOB_BYTES = 2 ** 20;

/** When memory is short, claims go on with small jobs. */
const SCARCE: Room = { max_bytes: SMALL_BYTES, most_bytes: SMALL_BYTES };
const ANY_SIZE = 2 ** 31 - 1;

/** Takes room for what claims may lease. @throws Refusal `overloaded`, before anything is leased */
function roomFor(claims: Claim[], hold: Hold): Room {
  const slots = claims.reduce((sum, claim) => sum + slotsOf(claim), 0);
  const max_bytes = hold.takeUpTo(Math.min(CLAIM_BYTES, slots * JOB_BYTES));
  if (max_bytes !== undefined) return { max_bytes, most_bytes: ANY_SIZE };
  hold.take(SMALL_BYTES, 'small');
  return SCARCE;
}

/** What a statement leased to each claim. */
export interface Leases {
  jobs: LeasedJob[][];
  /** True when there was only room for small jobs. */
  scarce?: boolean;
  /** True when the queue may hold more jobs, although the statement leased fewer than it was asked for. */
  cut: boolean;
  /** The time until the rate limit of the queue allows another job. None when it allows one now. */
  opensInMs?: number | undefined;
}

export function createLease(context: {
  db: Database;
  arrivals: Arrivals;
  memory: Memory;
  memories: QueueMemories;
  tally?: Pick<Tally, 'claimed'> | undefined;
  leaseEnds: LeaseTimes;
  /** Told of claims when nobody knows whether they leased anything. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
}) {
  const { db, arrivals, memory, memories, lost, tally, leaseEnds } = context;
  const { raise, checkSlow, stop } = createRaiseFloor({ db, arrivals });
  const { chooseScan, raiseAll } = createScans(raise);

  /** A claim leased these jobs: what that tells of the jobs with fairness keys. */
  function noteKeys(
    known: QueueMemory,
    way: KeySearchWay | undefined,
    rows: ClaimedRow[],
    {
      ms,
      slots,
      committedUpTo,
      endsEarly,
    }: { ms: number; slots: number; committedUpTo: number; endsEarly: boolean },
  ): void {
    const [row] = rows;
    // Behind a cheap walk, nobody needs the floor of these jobs.
    if (isWalk(way) && known.keySearch.took(row?.ms ?? ms, slots, row !== undefined)) known.fair = undefined;
    if (!row || !known.fair) return;
    const { first_rank: rank, first_position: position, holds_all } = row;
    if (holds_all !== undefined && !endsEarly) known.keySearch.tookFront(row.ms ?? ms, holds_all);
    if (typeof rank === 'number' && typeof position === 'number')
      known.fair.floor.sawFirst(rank, position, committedUpTo, rows.length);
  }

  /**
   * Leases ready jobs of one queue to claims, in their order, with one statement. Calls `filled` as soon as each claim is
   * known to get all that it asked for.
   */
  async function leaseJobs(
    queue: Queue,
    claims: Claim[],
    trip: RoundTrip,
    filled: () => void = () => undefined,
  ): Promise<Leases> {
    const hold = memory.hold();
    try {
      return await leaseWithin(roomFor(claims, hold), queue, claims, trip, filled);
    } finally {
      hold.release();
    }
  }

  async function leaseWithin(
    room: Room,
    queue: Queue,
    claims: Claim[],
    trip: RoundTrip,
    filled: () => void,
    isLocked = false,
  ): Promise<Leases> {
    const names = claims.flatMap((claim) => claim.name ?? []);
    const wayOf = () => (queue.fair ? memories.of(queue).keySearch.way() : undefined);
    let way = wayOf();
    // A limited claim holds the lock of its queue. It may not hold up the rest of a round trip, and nor may a claim that may be slow.
    const isAlone = isLocked || hasClaimLimit(queue) || way === 'limited walk' || !arrivals.isFresh();
    const on = isAlone ? trip.leave().db : trip.db;
    // Outside of its round trip, a claim could overtake the settlement that it came with.
    if (isAlone) await Promise.allSettled(claims.map(({ settling }) => settling));
    if (!arrivals.isFresh()) {
      await arrivals.refresh();
      // The look may have shown that the database was set back.
      way = wayOf();
    }
    const known = memories.of(queue);
    known.claimed = true;
    const committedUpTo = arrivals.committedUpTo();
    const { scanned, scans } = chooseScan(known, way, committedUpTo ?? arrivals.newest());
    way = scanned.way;
    const nonces = claims.map(() => randomUUID());
    const parameters = parametersOf(queue, claims, nonces, room);
    const startedAt = performance.now();
    let found: Claimed;
    try {
      found = await runClaim({
        db,
        trip: on,
        isShared: !isAlone,
        queue,
        claims,
        known,
        parameters,
        scanned,
        filled,
      });
    } catch (error) {
      // Another request has the row of one of the claims. Outside of the round trip, this one waits for it.
      if (!isAlone && isLockTimeout(error)) return leaseWithin(room, queue, claims, trip, filled, true);
      if (isClaimTaken(error)) {
        await noteTaken(db, claims);
        // The statement had no effect. It runs again for the others.
        return { jobs: claims.map(() => []), cut: true };
      }
      if (isTimeLimit(error) && isWalk(way)) {
        known.keySearch.failed();
        // The next statement takes the front of the queue. It has time enough after a walk with a limit of its own.
        if (way === 'limited walk') return { jobs: claims.map(() => []), cut: true };
      }
      for (const { floor } of scanOrdersOf(known)) floor.failed();
      arrivals.distrust();
      lost(
        queue.id,
        nonces.filter((_, i) => !claims[i]?.name),
        names,
      );
      throw error;
    }
    const { rows, opensInMs } = found;
    const ms = performance.now() - startedAt;
    tally?.claimed(queue.id, rows);
    const plain = rows.filter((row) => row.fairness_key === null);
    known.plain.floor.leased(plain, startedAt);
    for (const { position } of plain) arrivals.leased(position);
    // Until it is known up to where all has committed, no floor rises.
    const endsEarly = scans.some(({ cut }) => cut);
    noteKeys(known, way, rows, {
      ms,
      slots: parameters.slots,
      committedUpTo: committedUpTo ?? -1,
      endsEarly,
    });
    for (const { order } of scans) void checkSlow(order, ms);
    const { jobs, size } = dealRows(rows, queue, claims, parameters.first_slots);
    for (const leased of jobs)
      for (const { id, lease_seconds } of leased) leaseEnds.note(id, startedAt + lease_seconds * 1000);
    // A character of a JSON text is at most 3 bytes of UTF-8 here: 4 bytes make two UTF-16 units.
    const isFull = size * 3 >= room.max_bytes;
    const isCut = isFull || (rows[0]?.cut ?? false);
    const leases: Leases = { jobs, cut: isCut, scarce: room === SCARCE, opensInMs };
    // A job that is too large for the room stays the first: no floor may pass it.
    if (room === SCARCE && rows.length === 0) return leases;
    try {
      const raised = await raiseAll(scans, rows, parameters.slots);
      if (!raised) return leases;
      return { ...leases, cut: isCut || raised.again, opensInMs: opensInMs ?? raised.inMs };
    } catch (error) {
      if (rows.length === 0) throw error;
      return leases;
    }
  }

  return {
    leaseJobs,

    /** Ends what goes on by itself. No claim is under way any more. */
    stop,

    /** Where the fairness keys of a queue go on, as sql/claim/fair.sql takes it. */
    fairnessCursor: (name: string) =>
      memories.find(name)?.cursor.parameters() ?? { cursor_ranks: [], cursor_keys: [] },
  };
}
