import { randomUUID } from 'node:crypto';
import type { RoundTrip } from '../batching/roundTrips.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Arrivals } from '../queues/arrivals.ts';
import type { Queue } from '../queues/cache.ts';
import { type Claim, type ClaimName, slotsOf } from './claim.ts';
import { type LeasedJob, type LeasedRow, toLease } from './leasedJob.ts';
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
    claim_ids: isNamed ? claims.map((claim) => claim.name?.id ?? null) : null,
    claim_holders: isNamed ? claims.map((claim) => claim.name?.holder ?? null) : null,
    holds_lock: hasClaimLimit(queue),
  };
}

export function createLease(context: {
  db: Database;
  arrivals: Arrivals;
  memories: QueueMemories;
  /** Told of claims when nobody knows whether they leased anything. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
}) {
  const { db, arrivals, memories, lost } = context;
  const { raise, checkSlow } = createRaiseFloor({ db, arrivals });

  /** Runs the claiming statement that the queue needs. */
  async function run(
    queue: Queue,
    parameters: ReturnType<typeof parametersOf>,
    on: RoundTrip['db'],
  ): Promise<{ rows: (LeasedRow & { cut?: boolean })[]; opensInMs?: number | undefined }> {
    const { cursor } = memories.of(queue);
    const fair = () => ({ ...parameters, ...cursor.parameters() });
    if (hasClaimLimit(queue)) {
      const found = queue.fair
        ? await withinClaimLimits(db, queue.id, statements.fair, fair())
        : await withinClaimLimits(db, queue.id, statements.limited, parameters);
      if (queue.fair) cursor.leased(found.rows);
      return found;
    }
    const rows = await (queue.fair
      ? on.query(statements.fair, fair(), cursor.leased)
      : on.query(statements.plain, parameters));
    return { rows };
  }

  /** A claim leased these jobs without a fairness key. Only those have a scan floor. */
  function noteFloors({ floor }: QueueMemory, plain: LeasedRow[], startedAt: number): void {
    floor.leased(plain, startedAt);
    for (const { position } of plain) arrivals.leased(position);
  }

  /** Leases ready jobs of one queue to claims, in their order, with one statement. */
  async function leaseJobs(queue: Queue, claims: Claim[], trip: RoundTrip): Promise<Leases> {
    const memory = memories.of(queue);
    memory.claimed = true;
    // A limited claim holds the lock of its queue: it may not wait for the rest of a round trip.
    const on = hasClaimLimit(queue) || !arrivals.isFresh() ? trip.leave().db : trip.db;
    if (!arrivals.isFresh()) await arrivals.refresh();
    const { ranges, cut } = memory.floor.ranges(arrivals.settled() ?? arrivals.newest());
    const nonces = claims.map(() => randomUUID());
    const parameters = parametersOf(queue, claims, nonces, ranges);
    const startedAt = performance.now();
    let found: Awaited<ReturnType<typeof run>>;
    try {
      found = await run(queue, parameters, on);
    } catch (error) {
      memory.floor.failed();
      arrivals.distrust();
      lost(
        queue.id,
        nonces.filter((_, i) => !claims[i]?.name),
        claims.flatMap((claim) => claim.name ?? []),
      );
      throw error;
    }
    const { rows, opensInMs } = found;
    const plain = rows.filter((row) => row.fairness_key === null);
    noteFloors(memory, plain, startedAt);
    void checkSlow(memory, performance.now() - startedAt);
    rows.sort((a, b) => a.slot - b.slot);
    const jobs: LeasedJob[][] = claims.map(() => []);
    let at = 0;
    for (const row of rows) {
      while (row.slot >= (parameters.first_slots[at + 1] ?? Number.POSITIVE_INFINITY)) at++;
      (jobs[at] as LeasedJob[]).push(toLease(row, queue.name));
    }
    const leases: Leases = { jobs, cut: rows[0]?.cut ?? false, opensInMs };
    // Jobs with fairness keys may take all slots, while those without lie behind the piece.
    const isHidden =
      queue.fair && plain.length === 0 && performance.now() > memory.surveys.until + TOGETHER_MS;
    if (!cut || (rows.length === parameters.slots && !isHidden)) return leases;
    try {
      const { again, inMs } = await raise(memory, cut, rows.length === 0);
      return { jobs, cut: leases.cut || again, opensInMs: opensInMs ?? inMs };
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
