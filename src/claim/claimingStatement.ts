import type { RoundTrip } from '../batching/roundTrips.ts';
import type { ScanRanges } from '../floor/scanRanges.ts';
import { type Call, timeLimit } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { type Prepared, prepared, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { type Claim, slotsOf } from './claim.ts';
import { ownCalls } from './claimRows.ts';
import type { KeySearchWay } from './keySearch.ts';
import type { LeasedRow } from './leasedJob.ts';
import { hasClaimLimit, withinClaimLimits } from './limits.ts';
import type { QueueMemory } from './queueMemories.ts';

const statements = {
  plain: prepared('claim/plain', row<LeasedRow>()),
  limited: prepared('claim/limited', row<LeasedRow>()),
  fair: prepared('claim/fair', row<LeasedRow & { cut: boolean; ms: number }>()),
  front: prepared(
    'claim/front',
    row<
      LeasedRow & {
        first_rank: number | null;
        first_position: number | null;
        holds_all: boolean;
        ms: number;
      }
    >(),
  ),
};

/** How much a statement may lease. */
export interface Room {
  max_bytes: number;
  /** The first job is leased, unless it is larger than this. */
  most_bytes: number;
}

/** What a claiming statement scans: the jobs without fairness keys, and for `front` those with keys. */
export interface Scanned {
  /** Undefined for a queue without fairness keys. */
  way: KeySearchWay | undefined;
  plain: ScanRanges;
  fair: ScanRanges | undefined;
}

/** A row of any of the statements. */
export type ClaimedRow = LeasedRow & {
  cut?: boolean;
  ms?: number;
  first_rank?: number | null;
  first_position?: number | null;
  holds_all?: boolean;
};

export interface Claimed {
  rows: ClaimedRow[];
  opensInMs?: number | undefined;
}

/** What every claiming statement takes. Slots are numbered from 1 over all claims. */
export function parametersOf(queue: Queue, claims: Claim[], nonces: string[], room: Room) {
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
    claim_holders: isNamed ? claims.map((claim) => claim.name?.holder ?? null) : null,
    holds_lock: hasClaimLimit(queue),
  };
}

type Parameters = ReturnType<typeof parametersOf>;

const fairRanges = ({ ranks, positions, last_ranks, last_positions }: ScanRanges) => ({
  fair_ranks: ranks,
  fair_positions: positions,
  fair_last_ranks: last_ranks,
  fair_last_positions: last_positions,
});

/** The statement that the queue needs, with its parameters. */
function choose(queue: Queue, { cursor }: QueueMemory, parameters: Parameters, scanned: Scanned) {
  const scanning = { ...parameters, ...scanned.plain };
  if (scanned.fair)
    return {
      statement: statements.front,
      parameters: { ...scanning, ...cursor.parameters(), ...fairRanges(scanned.fair) },
    };
  if (scanned.way) return { statement: statements.fair, parameters: { ...scanning, ...cursor.parameters() } };
  return { statement: hasClaimLimit(queue) ? statements.limited : statements.plain, parameters: scanning };
}

/**
 * Runs the claiming statement that the queue needs. Calls `filled` as soon as it is known that it filled all slots.
 * `isShared`: other verbs are in its transaction, so it hears of a lock in its way.
 */
export async function runClaim(context: {
  db: Database;
  trip: RoundTrip['db'];
  isShared: boolean;
  queue: Queue;
  claims: Claim[];
  known: QueueMemory;
  parameters: Parameters;
  scanned: Scanned;
  filled: () => void;
}): Promise<Claimed> {
  const { db, trip, isShared, queue, claims, known, parameters, scanned, filled } = context;
  const before: Call[] = [];
  const behind: Call[] = [];
  if (parameters.claim_holders) {
    const own = ownCalls(claims);
    before.push(...own.before);
    behind.push(...own.behind);
  }
  if (scanned.way === 'limited walk') {
    before.push(timeLimit(known.keySearch.limitMs(parameters.slots)));
    behind.unshift(timeLimit());
  }
  const { statement, parameters: all } = choose(queue, known, parameters, scanned);
  const serveKeys = (rows: ClaimedRow[]) => {
    if (scanned.way) known.cursor.leased(rows);
  };
  if (hasClaimLimit(queue)) {
    const found = await withinClaimLimits(db, queue.id, statement as Prepared<object, ClaimedRow>, all, {
      before,
      behind,
    });
    serveKeys(found.rows);
    return found;
  }
  const seen = (rows: ClaimedRow[]) => {
    serveKeys(rows);
    if (rows.length === parameters.slots) filled();
  };
  const along = {
    seen,
    before,
    behind,
    hearsOfLocks: isShared,
  };
  return { rows: await trip.query(statement as Prepared<object, ClaimedRow>, all, along) };
}
