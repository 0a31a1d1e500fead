import { randomUUID } from 'node:crypto';
import type { RoundTrip } from '../batching/roundTrips.ts';
import { type Hold, LARGEST_BYTES, type Memory, SMALL_BYTES } from '../memory.ts';
import type { Tally } from '../metrics/tally.ts';
import { isClaimTaken } from '../postgres/errorClasses.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Arrivals } from '../queues/arrivals.ts';
import type { Queue } from '../queues/cache.ts';
import { type Claim, type ClaimName, slotsOf } from './claim.ts';
import { noteTaken, ownCalls } from './claimRows.ts';
import { dealRows } from './dealRows.ts';
import type { LeasedJob, LeasedRow } from './leasedJob.ts';
import { hasClaimLimit, withinClaimLimits } from './limits.ts';
import type { QueueMemories, QueueMemory } from './queueMemories.ts';
import { createRaiseFloor, TOGETHER_MS } from './raiseFloor.ts';
import type { ScanRanges } from './scanRanges.ts';

const statements = {
  plain: prepared('claim/plain', row<LeasedRow>()),
  limited: prepared('claim/limited', row<LeasedRow>()),
  fair: prepared('claim/fair', row<LeasedRow & { cut: boolean }>()),
};

/** One statement leases at most about this much payload, whatever its claims ask for. */
export const CLAIM_BYTES = LARGEST_BYTES;

/** Room for a job of a claim, at first. */
const JOB_BYTES = 2 ** 20;

/** How much a statement may lease. */
interface Room {
  max_bytes: number;
  /** The first job is leased, unless it is larger than this. */
  most_bytes: number;
}

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

/** What every claiming statement takes. Slots are numbered from 1 over all claims. */
function parametersOf(queue: Queue, claims: Claim[], nonces: string[], ranges: ScanRanges, room: Room) {
  const first_slots: number[] = [];
  let slots = 0;
  for (const claim of claims) {
    first_slots.push(slots + 1);
    slots += slotsOf(claim);
  }
  const isNamed = claims.some((claim) => claim.name);
  return {
    queue_id: queue.id,
    slots,
    ...room,
    first_slots,
    nonces,
    lease_seconds: claims.map((claim) => claim.lease_seconds ?? queue.lease_seconds),
    workers: claims.map((claim) => claim.worker ?? null),
    ...ranges,
    claim_holders: isNamed ? claims.map((claim) => claim.name?.holder ?? null) : null,
    holds_lock: hasClaimLimit(queue),
  };
}

export function createLease(context: {
  db: Database;
  arrivals: Arrivals;
  memory: Memory;
  memories: QueueMemories;
  tally?: Pick<Tally, 'claimed'> | undefined;
  /** Told of claims when nobody knows whether they leased anything. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
}) {
  const { db, arrivals, memory, memories, lost, tally } = context;
  const { raise, checkSlow } = createRaiseFloor({ db, arrivals });

  /** Runs the claiming statement that the queue needs. */
  async function run(
    queue: Queue,
    parameters: ReturnType<typeof parametersOf>,
    claims: Claim[],
    on: RoundTrip['db'],
    filled: () => void,
  ): Promise<{ rows: (LeasedRow & { cut?: boolean })[]; opensInMs?: number | undefined }> {
    const { cursor } = memories.of(queue);
    const fair = () => ({ ...parameters, ...cursor.parameters() });
    const isNamed = parameters.claim_holders !== null;
    const own = isNamed ? ownCalls(claims) : { before: [], behind: [] };
    if (hasClaimLimit(queue)) {
      const found = queue.fair
        ? await withinClaimLimits(db, queue.id, statements.fair, fair(), own)
        : await withinClaimLimits(db, queue.id, statements.limited, parameters, own);
      if (queue.fair) cursor.leased(found.rows);
      return found;
    }
    if (isNamed) {
      const claiming = queue.fair ? callOf(statements.fair, fair()) : callOf(statements.plain, parameters);
      const results = await db.pipeline([...own.before, claiming, ...own.behind]);
      const rows = results[own.before.length] as never[];
      if (queue.fair) cursor.leased(rows);
      return { rows };
    }
    const rows = await on.query(
      queue.fair ? statements.fair : statements.plain,
      queue.fair ? fair() : parameters,
      (rows) => {
        if (queue.fair) cursor.leased(rows);
        if (rows.length === parameters.slots) filled();
      },
    );
    return { rows };
  }

  /** A claim leased these jobs without a fairness key. Only those have a scan floor. */
  function noteFloors({ floor }: QueueMemory, plain: LeasedRow[], startedAt: number): void {
    floor.leased(plain, startedAt);
    for (const { position } of plain) arrivals.leased(position);
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
  ): Promise<Leases> {
    const names = claims.flatMap((claim) => claim.name ?? []);
    // A limited claim holds the lock of its queue, and a claim with a name may fail because another request of it was
    // first: neither may hold up the rest of a round trip.
    const isAlone = hasClaimLimit(queue) || names.length > 0 || !arrivals.isFresh();
    const on = isAlone ? trip.leave().db : trip.db;
    if (!arrivals.isFresh()) await arrivals.refresh();
    // Not before: the look may show that the database was set back.
    const known = memories.of(queue);
    known.claimed = true;
    const { ranges, cut } = known.floor.ranges(arrivals.settled() ?? arrivals.newest());
    const nonces = claims.map(() => randomUUID());
    const parameters = parametersOf(queue, claims, nonces, ranges, room);
    const startedAt = performance.now();
    let found: Awaited<ReturnType<typeof run>>;
    try {
      found = await run(queue, parameters, claims, on, filled);
    } catch (error) {
      if (isClaimTaken(error)) {
        await noteTaken(db, claims);
        // The statement had no effect. It runs again for the others.
        return { jobs: claims.map(() => []), cut: true };
      }
      known.floor.failed();
      arrivals.distrust();
      lost(
        queue.id,
        nonces.filter((_, i) => !claims[i]?.name),
        names,
      );
      throw error;
    }
    const { rows, opensInMs } = found;
    tally?.claimed(queue.id, rows);
    const plain = rows.filter((row) => row.fairness_key === null);
    noteFloors(known, plain, startedAt);
    void checkSlow(known, performance.now() - startedAt);
    const { jobs, size } = dealRows(rows, queue, claims, parameters.first_slots);
    // A character of a JSON text is at most 3 bytes of UTF-8 here: 4 bytes make two UTF-16 units.
    const isFull = size * 3 >= room.max_bytes;
    const isCut = isFull || (rows[0]?.cut ?? false);
    const leases: Leases = { jobs, cut: isCut, scarce: room === SCARCE, opensInMs };
    // A job that is too large for the room stays the first: no floor may pass it.
    if (room === SCARCE && rows.length === 0) return leases;
    // Jobs with fairness keys may take all slots, while those without lie behind the piece.
    const isHidden =
      queue.fair && plain.length === 0 && performance.now() > known.surveys.until + TOGETHER_MS;
    if (!cut || (rows.length === parameters.slots && !isHidden)) return leases;
    try {
      const { again, inMs } = await raise(known, cut, rows.length === 0);
      return { ...leases, cut: isCut || again, opensInMs: opensInMs ?? inMs };
    } catch (error) {
      if (rows.length === 0) throw error;
      return leases;
    }
  }

  return {
    leaseJobs,

    /** Where the fairness keys of a queue go on, as sql/claim/fair.sql takes it. */
    fairnessCursor: (name: string) =>
      memories.find(name)?.cursor.parameters() ?? { cursor_ranks: [], cursor_keys: [] },
  };
}
