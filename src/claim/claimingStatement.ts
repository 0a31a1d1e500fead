import type { RoundTrip } from '../batching/roundTrip.ts';
import type { ScanRanges } from '../floor/scanRanges.ts';
import { timeLimit } from '../postgres/pipeline.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { type Prepared, prepared, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { type Claim, slotsOf } from './claim.ts';
import { ownCalls } from './claimRows.ts';
import { holdCalls } from './claimSessions.ts';
import type { ClaimedRow, FairRow, FrontRow, HeadsRow, LeasedRow } from './leasedJob.ts';
import { hasClaimLimit, withinClaimLimits } from './limits.ts';
import type { Scan } from './scans.ts';

const statements = {
  plain: prepared('claim/plain', row<LeasedRow>()),
  one: prepared('claim/one', row<LeasedRow>()),
  heads: prepared('claim/heads', row<HeadsRow>()),
  limited: prepared('claim/limited', row<HeadsRow>()),
  fair: prepared('claim/fair', row<FairRow>()),
  front: prepared('claim/front', row<FrontRow>()),
};

/** How much a statement may lease. */
export interface Room {
  max_bytes: number;
  /** The first job is leased, unless it is larger than this. */
  most_bytes: number;
}

export interface Claimed {
  rows: ClaimedRow[];
  opensInMs?: number | undefined;
  /** Groups that may have more heads than the queue allows. */
  crowded?: string[] | undefined;
}

/**
 * A claim that got nothing looks again after this time, if it has found ready jobs: another claim has locked the jobs of their groups
 * that go first, and commits soon.
 */
const LOCKED_MS = 10;

/** What every claiming statement takes. Slots are numbered from 1 over all claims. */
export function parametersOf(queue: Queue, claims: Claim[], nonces: string[], room: Room) {
  const first_slots: number[] = [];
  let slots = 0;
  for (const claim of claims) {
    first_slots.push(slots + 1);
    slots += slotsOf(claim);
  }
  const isNamed = claims.some((claim) => claim.name);
  const isTied = claims.some((claim) => claim.session);
  return {
    queue_id: queue.id,
    slots,
    ...room,
    first_slots,
    nonces,
    lease_seconds: claims.map((claim) => claim.lease_seconds ?? queue.lease_seconds),
    workers: claims.map((claim) => claim.worker ?? null),
    claim_holders: isNamed ? claims.map((claim) => claim.name?.holder ?? null) : null,
    sessions: isTied ? claims.map((claim) => claim.session ?? null) : null,
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

/** The statement for a queue without fairness keys. */
function withoutKeys(queue: Queue, { slots }: Parameters) {
  if (hasClaimLimit(queue)) return statements.limited;
  if (queue.group_concurrency > 1 || queue.is_narrowing) return statements.heads;
  return slots === 1 ? statements.one : statements.plain;
}

/** The statement that the queue needs, with its parameters. */
function choose(queue: Queue, parameters: Parameters, { known, way, plain, fair }: Scan) {
  const scanning = { ...parameters, ...plain.ranges };
  if (fair)
    return {
      statement: statements.front,
      parameters: { ...scanning, ...known.cursor.parameters(), ...fairRanges(fair.ranges) },
    };
  if (way) return { statement: statements.fair, parameters: { ...scanning, ...known.cursor.parameters() } };
  return { statement: withoutKeys(queue, parameters), parameters: scanning };
}

/** Whether the claims got nothing, and left ready jobs. */
const leftAll = ([row]: ClaimedRow[]): boolean => row?.id === null;

/** What the claims got. */
function gotOf({ rows, opensInMs }: Claimed): Claimed {
  const crowded = rows[0]?.crowded ?? undefined;
  return leftAll(rows)
    ? { rows: [], opensInMs: opensInMs ?? LOCKED_MS, crowded }
    : { rows, opensInMs, crowded };
}

/** What runs before the statement and after it, in its transaction. */
function callsAround(
  db: Db,
  claims: Claim[],
  { claim_holders, sessions, slots }: Parameters,
  { known, way }: Scan,
) {
  const { before: own, behind } = claim_holders ? ownCalls(db, claims) : { before: [], behind: [] };
  const before = sessions ? [...holdCalls(claims), ...own] : own;
  if (way !== 'limited walk') return { before, behind };
  return {
    before: [...before, timeLimit(known.keySearch.limitMs(slots))],
    behind: [timeLimit(), ...behind],
  };
}

/**
 * Runs the claiming statement that the queue needs. Calls `filled` as soon as it is known that all slots have a job.
 * `isShared`: other verbs are in the same transaction. So the statement fails at a lock, and does not wait for it.
 */
export async function runClaim(context: {
  db: Database;
  on: RoundTrip['db'];
  isShared: boolean;
  queue: Queue;
  claims: Claim[];
  parameters: Parameters;
  scan: Scan;
  filled: () => void;
}): Promise<Claimed> {
  const { db, on, isShared, queue, claims, parameters, scan, filled } = context;
  const around = callsAround(db, claims, parameters, scan);
  const chosen = choose(queue, parameters, scan);
  const statement = chosen.statement as Prepared<object, ClaimedRow>;
  const serveKeys = (rows: ClaimedRow[]) => {
    if (scan.way && !leftAll(rows)) scan.known.cursor.leased(rows);
  };
  if (hasClaimLimit(queue)) {
    const found = await withinClaimLimits(db, queue.id, statement, chosen.parameters, around);
    serveKeys(found.rows);
    return gotOf(found);
  }
  const seen = (rows: ClaimedRow[]) => {
    serveKeys(rows);
    if (rows.length === parameters.slots && !leftAll(rows)) filled();
  };
  const along = { ...around, seen, hearsOfLocks: isShared };
  return gotOf({ rows: await on.query(statement, chosen.parameters, along) });
}
