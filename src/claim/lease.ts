import { randomUUID } from 'node:crypto';
import type { RoundTrip } from '../batching/roundTrips.ts';
import { sizeOf } from '../job.ts';
import { COPIES, type Hold, LARGEST_BYTES, type Memory, SMALL_BYTES } from '../memory.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { type Claim, type ClaimName, slotsOf } from './claim.ts';
import { createFairnessCursor } from './fairness.ts';
import { type LeasedJob, type LeasedRow, toLease } from './leasedJob.ts';
import { hasClaimLimit, withinClaimLimits } from './limits.ts';
import { createScanFloor, type ScanRanges } from './scanFloor.ts';

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
    claim_ids: isNamed ? claims.map((claim) => claim.name?.id ?? null) : null,
    claim_holders: isNamed ? claims.map((claim) => claim.name?.holder ?? null) : null,
    holds_lock: hasClaimLimit(queue),
  };
}

export function createLease(context: {
  db: Database;
  memory: Memory;
  /** Told of claims when nobody knows whether they leased anything. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
}) {
  const { db, memory, lost } = context;
  /** What this replica remembers of each queue, by name. */
  const memories = new Map<string, ReturnType<typeof newMemory>>();
  const newMemory = () => ({ floor: createScanFloor(), cursor: createFairnessCursor() });

  function memoryOf(name: string) {
    let memory = memories.get(name);
    if (!memory) {
      memory = newMemory();
      memories.set(name, memory);
    }
    return memory;
  }

  /** Runs the claiming statement that the queue needs. */
  async function run(
    queue: Queue,
    parameters: ReturnType<typeof parametersOf>,
    on: RoundTrip['db'],
  ): Promise<{ rows: (LeasedRow & { cut?: boolean })[]; opensInMs?: number | undefined }> {
    const { floor, cursor } = memoryOf(queue.name);
    const fair = () => ({ ...parameters, ...cursor.parameters() });
    if (hasClaimLimit(queue)) {
      const found = queue.fair
        ? await withinClaimLimits(db, queue.id, statements.fair, fair())
        : await withinClaimLimits(db, queue.id, statements.limited, parameters);
      if (queue.fair) cursor.leased(found.rows);
      // It may not have looked at all.
      if (found.rows.length === 0) floor.rescan();
      return found;
    }
    const rows = await (queue.fair
      ? on.query(statements.fair, fair(), cursor.leased)
      : on.query(statements.plain, parameters));
    return { rows };
  }

  /** Leases ready jobs of one queue to claims, in their order, with one statement. */
  async function leaseJobs(queue: Queue, claims: Claim[], trip: RoundTrip): Promise<Leases> {
    const hold = memory.hold();
    try {
      return await leaseWithin(roomFor(claims, hold), queue, claims, trip);
    } finally {
      hold.release();
    }
  }

  async function leaseWithin(room: Room, queue: Queue, claims: Claim[], trip: RoundTrip): Promise<Leases> {
    const { floor } = memoryOf(queue.name);
    const { ranges, full } = floor.ranges();
    const nonces = claims.map(() => randomUUID());
    const parameters = parametersOf(queue, claims, nonces, ranges, room);
    // A limited claim holds the lock of its queue, and a full scan takes long: neither may wait for the rest of a round trip.
    const on = full || hasClaimLimit(queue) ? trip.leave().db : trip.db;
    const started = performance.now();
    let found: Awaited<ReturnType<typeof run>>;
    try {
      found = await run(queue, parameters, on);
    } catch (error) {
      lost(
        queue.id,
        nonces.filter((_, i) => !claims[i]?.name),
        claims.flatMap((claim) => claim.name ?? []),
      );
      throw error;
    }
    if (full) floor.scanned(performance.now() - started);
    const { rows, opensInMs } = found;
    rows.sort((a, b) => a.slot - b.slot);
    const cut = rows[0]?.cut ?? false;
    const jobs: LeasedJob[][] = claims.map(() => []);
    let at = 0;
    const bytes = claims.map(() => 0);
    for (const row of rows) {
      while (row.slot >= (parameters.first_slots[at + 1] ?? Number.POSITIVE_INFINITY)) at++;
      // Jobs with a fairness key are found key by key. Only the others have a scan floor.
      if (row.fairness_key === null) floor.leased(row.priority, row.position);
      const job = toLease(row, queue.name);
      (jobs[at] as LeasedJob[]).push(job);
      (bytes[at] as number) += sizeOf(job);
    }
    for (const [i, claim] of claims.entries()) {
      const leased = bytes[i] as number;
      claim.bytes += leased;
      if (leased > SMALL_BYTES) claim.hold?.().add(leased * (COPIES - 1));
    }
    // A character of a JSON text is at most 3 bytes of UTF-8 here: 4 bytes make two UTF-16 units.
    const isFull = bytes.reduce((sum, leased) => sum + leased, 0) * 3 >= room.max_bytes;
    return { jobs, cut: cut || isFull, scarce: room === SCARCE, opensInMs };
  }

  return {
    leaseJobs,

    /** Where the fairness keys of a queue go on, as sql/claim/fair.sql takes it. */
    fairnessCursor: (name: string) => (memories.get(name) ?? newMemory()).cursor.parameters(),

    /** Something may be ready that a claim from the scan floor up would not find. */
    rescan(name: string): void {
      memories.get(name)?.floor.rescan();
    },
  };
}
