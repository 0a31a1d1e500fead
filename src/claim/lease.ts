import { randomUUID } from 'node:crypto';
import type { RoundTrip } from '../batching/roundTrips.ts';
import { isClaimTaken } from '../postgres/errorClasses.ts';
import { callOf } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { type Claim, type ClaimName, slotsOf } from './claim.ts';
import { noteTaken, ownCalls } from './claimRows.ts';
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
export const CLAIM_BYTES = 16 * 2 ** 20;

/** What a statement leased to each claim. */
export interface Leases {
  jobs: LeasedJob[][];
  /** True when the queue may hold more jobs, although the statement leased fewer than it was asked for. */
  cut: boolean;
  /** The time until the rate limit of the queue allows another job. None when it allows one now. */
  opensInMs?: number | undefined;
}

/** What every claiming statement takes. Slots are numbered from 1 over all claims. */
function parametersOf(queue: Queue, claims: Claim[], nonces: string[], ranges: ScanRanges) {
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
    max_bytes: CLAIM_BYTES,
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
  /** Told of claims when nobody knows whether they leased anything. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
}) {
  const { db, lost } = context;
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
    claims: Claim[],
    on: RoundTrip['db'],
  ): Promise<{ rows: (LeasedRow & { cut?: boolean })[]; opensInMs?: number | undefined }> {
    const { floor, cursor } = memoryOf(queue.name);
    const fair = () => ({ ...parameters, ...cursor.parameters() });
    const isNamed = parameters.claim_holders !== null;
    const own = isNamed ? ownCalls(claims) : { before: [], behind: [] };
    if (hasClaimLimit(queue)) {
      const found = queue.fair
        ? await withinClaimLimits(db, queue.id, statements.fair, fair(), own)
        : await withinClaimLimits(db, queue.id, statements.limited, parameters, own);
      if (queue.fair) cursor.leased(found.rows);
      // It may not have looked at all.
      if (found.rows.length === 0) floor.rescan();
      return found;
    }
    if (isNamed) {
      const claiming = queue.fair ? callOf(statements.fair, fair()) : callOf(statements.plain, parameters);
      const results = await db.pipeline([...own.before, claiming, ...own.behind]);
      const rows = results[own.before.length] as never[];
      if (queue.fair) cursor.leased(rows);
      return { rows };
    }
    const rows = await (queue.fair
      ? on.query(statements.fair, fair(), cursor.leased)
      : on.query(statements.plain, parameters));
    return { rows };
  }

  /** Leases ready jobs of one queue to claims, in their order, with one statement. */
  async function leaseJobs(queue: Queue, claims: Claim[], trip: RoundTrip): Promise<Leases> {
    const { floor } = memoryOf(queue.name);
    const { ranges, full } = floor.ranges();
    const nonces = claims.map(() => randomUUID());
    const parameters = parametersOf(queue, claims, nonces, ranges);
    const names = claims.flatMap((claim) => claim.name ?? []);
    // A limited claim holds the lock of its queue, a full scan takes long, and a claim with a name may fail because another
    // request of it was first: none of them may hold up the rest of a round trip.
    const on = full || hasClaimLimit(queue) || names.length > 0 ? trip.leave().db : trip.db;
    const started = performance.now();
    let found: Awaited<ReturnType<typeof run>>;
    try {
      found = await run(queue, parameters, claims, on);
    } catch (error) {
      if (isClaimTaken(error)) {
        await noteTaken(db, claims);
        // The statement had no effect. It runs again for the others.
        return { jobs: claims.map(() => []), cut: true };
      }
      lost(
        queue.id,
        nonces.filter((_, i) => !claims[i]?.name),
        names,
      );
      throw error;
    }
    for (const claim of claims) claim.owned = true;
    if (full) floor.scanned(performance.now() - started);
    const { rows, opensInMs } = found;
    rows.sort((a, b) => a.slot - b.slot);
    const cut = rows[0]?.cut ?? false;
    const jobs: LeasedJob[][] = claims.map(() => []);
    let at = 0;
    for (const row of rows) {
      while (row.slot >= (parameters.first_slots[at + 1] ?? Number.POSITIVE_INFINITY)) at++;
      // Jobs with a fairness key are found key by key. Only the others have a scan floor.
      if (row.fairness_key === null) floor.leased(row.priority, row.position);
      (jobs[at] as LeasedJob[]).push(toLease(row, queue.name));
    }
    return { jobs, cut, opensInMs };
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
