import { randomUUID } from 'node:crypto';
import type { RoundTrip } from '../batching/roundTrips.ts';
import type { Call } from '../postgres/pipeline.ts';
import type { Database } from '../postgres/pool.ts';
import { prepared } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { createFairnessCursor, type FairnessCursor } from './fairness.ts';
import type { LeasedJob } from './leasedJob.ts';
import { limited, limitsClaims } from './limits.ts';
import { createScanFloor, type ScanFloor } from './scanFloor.ts';

const statements = {
  plain: prepared('claim/plain'),
  fair: prepared('claim/fair'),
  limited: prepared('claim/limited'),
};

/** One answer carries at most about this much payload, whatever its `limit`. */
export const CLAIM_BYTES = 16 * 2 ** 20;

/** What a claim is found by when it is repeated, and which of the requests that sent it answers for its leases. */
export interface ClaimName {
  id: string;
  holder: string;
}

/** One consumer's share of a claiming statement. */
export interface Consumer {
  limit: number;
  lease_seconds: number | undefined;
  worker: string | undefined;
  name: ClaimName | undefined;
}

/** Without what is the same for every lease. */
export type LeasedRow = Omit<LeasedJob, 'queue' | keyof typeof LEASED> & {
  slot: number;
  position: number;
  cut?: boolean;
};

const LEASED = { state: 'leased', finished_at: null, result: null } as const;

/** Makes a lease of its row, in place. */
export const toLease = (row: LeasedRow, queue: string): LeasedJob => Object.assign(row, LEASED, { queue });

/** What a claiming statement leased to each consumer. */
export interface Shares {
  jobs: LeasedJob[][];
  /** There may be more, though it gave less than was asked for. */
  cut: boolean;
}

export function claiming(context: {
  db: Database;
  /** Told of a claim of which nobody knows whether it leased anything. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
  /** Asked to look into a queue after so many milliseconds, when its rate lets another job go. */
  lookAgain(name: string, afterMs: number): void;
}) {
  const { db, lost, lookAgain } = context;
  const memories = new Map<string, { floor: ScanFloor; turns: FairnessCursor }>();

  function memoryOf(name: string) {
    let memory = memories.get(name);
    if (!memory) {
      memory = { floor: createScanFloor(), turns: createFairnessCursor() };
      memories.set(name, memory);
    }
    return memory;
  }

  /** The claiming statement of a queue, and its parameters. */
  function callOf(queue: Queue, parameters: unknown[]): Call {
    if (queue.fair) {
      const cursors = memoryOf(queue.name).turns.cursors();
      return { statement: statements.fair, parameters: [...parameters, ...cursors, limitsClaims(queue)] };
    }
    return { statement: limitsClaims(queue) ? statements.limited : statements.plain, parameters };
  }

  async function fromLimited(queue: Queue, call: Call): Promise<LeasedRow[]> {
    const { rows, nextMs } = await limited<LeasedRow>(db, queue.id, call);
    if (nextMs !== undefined) lookAgain(queue.name, nextMs);
    const { floor, turns } = memoryOf(queue.name);
    if (queue.fair) turns.leased(rows);
    // It may not have looked at all.
    if (rows.length === 0) floor.rescan();
    return rows;
  }

  /** Leases ready jobs of one queue to consumers, in their order, with one statement. */
  async function claimFor(queue: Queue, consumers: Consumer[], trip: RoundTrip): Promise<Shares> {
    const jobs: LeasedJob[][] = consumers.map(() => []);
    const first: number[] = [];
    const last: number[] = [];
    let slots = 0;
    for (const consumer of consumers) {
      first.push(slots + 1);
      slots += consumer.limit;
      last.push(slots);
    }
    const nonces = consumers.map(() => randomUUID());
    const isNamed = consumers.some((c) => c.name);
    const { floor, turns } = memoryOf(queue.name);
    const { ranges, full } = floor.ranges();
    const common = [
      queue.id,
      slots,
      CLAIM_BYTES,
      first,
      nonces,
      consumers.map((c) => c.lease_seconds ?? queue.lease_seconds),
      consumers.map((c) => c.worker ?? null),
      ranges.ranks,
      ranges.positions,
      ranges.last_ranks,
      isNamed ? consumers.map((c) => c.name?.id ?? null) : null,
      isNamed ? consumers.map((c) => c.name?.holder ?? null) : null,
    ];
    const { statement, parameters } = callOf(queue, common);
    // Others wait while a limited claim holds the gate: not until the rest of a round has committed.
    const isLimited = limitsClaims(queue);
    const on = full || isLimited ? trip.leave().db : trip.db;
    const started = performance.now();
    let rows: LeasedRow[];
    try {
      rows = isLimited
        ? await fromLimited(queue, { statement, parameters })
        : await on.query<LeasedRow>(statement, parameters, queue.fair ? turns.leased : undefined);
    } catch (error) {
      lost(
        queue.id,
        nonces.filter((_, i) => !consumers[i]?.name),
        consumers.flatMap((c) => c.name ?? []),
      );
      throw error;
    }
    if (full) floor.scanned(performance.now() - started);
    rows.sort((a, b) => a.slot - b.slot);
    let at = 0;
    for (const row of rows) {
      while (row.slot > (last[at] as number)) at++;
      // Where keys take turns, those without one go in their own order, and only they have a floor.
      if (row.fairness_key === null) floor.leased(row.priority, row.position);
      (jobs[at] as LeasedJob[]).push(toLease(row, queue.name));
    }
    return { jobs, cut: rows[0]?.cut ?? false };
  }

  return {
    claimFor,

    /** Something may be ready that a claim from the floor up would not find. */
    rescan(name: string): void {
      memories.get(name)?.floor.rescan();
    },
  };
}
