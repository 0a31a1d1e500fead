import { randomUUID } from 'node:crypto';
import type { Database } from './db.ts';
import { createFloor, type Floor } from './floor.ts';
import { claimLimited, limitsClaims } from './limits.ts';
import type { Queue } from './queues.ts';
import type { Part } from './rounds.ts';
import { prepared } from './sql.ts';
import type { LeasedJob } from './types.ts';

const claim = prepared('claim');

/** One answer carries at most about this much payload, whatever its `limit`. */
export const CLAIM_BYTES = 16 * 2 ** 20;

/** One consumer's share of a claiming statement. */
export interface Consumer {
  limit: number;
  lease_seconds: number | undefined;
  worker: string | undefined;
}

/** Without what is the same for every lease. */
type LeasedRow = Omit<LeasedJob, 'queue' | keyof typeof LEASED> & { slot: number; position: number };

const LEASED = { state: 'leased', finished_at: null, result: null } as const;

export function claiming(context: {
  db: Database;
  /** Told of a claim of which nobody knows whether it leased anything. */
  lost(queueId: number, nonces: string[]): void;
  /** Asked to look into a queue after so many milliseconds, when its rate lets another job go. */
  lookAgain(name: string, afterMs: number): void;
}) {
  const { db, lost, lookAgain } = context;
  const floors = new Map<string, Floor>();

  function floorOf(name: string): Floor {
    let floor = floors.get(name);
    if (!floor) {
      floor = createFloor();
      floors.set(name, floor);
    }
    return floor;
  }

  async function fromLimited(queue: Queue, parameters: unknown[], part: Part): Promise<LeasedRow[]> {
    // Others wait while this one holds the gate: not until the rest of a round has committed.
    part.leave();
    const { rows, nextMs } = await claimLimited<LeasedRow>(db, queue.id, parameters);
    if (nextMs !== undefined) lookAgain(queue.name, nextMs);
    // It may not have looked at all.
    if (rows.length === 0) floorOf(queue.name).doubt();
    return rows;
  }

  /** Leases ready jobs of one queue to consumers, in their order, with one statement. */
  async function claimFor(queue: Queue, consumers: Consumer[], part: Part): Promise<LeasedJob[][]> {
    const shares: LeasedJob[][] = consumers.map(() => []);
    const first: number[] = [];
    const last: number[] = [];
    let slots = 0;
    for (const consumer of consumers) {
      first.push(slots + 1);
      slots += consumer.limit;
      last.push(slots);
    }
    const nonces = consumers.map(() => randomUUID());
    const floor = floorOf(queue.name);
    const { stretches, full } = floor.stretches();
    const started = performance.now();
    const parameters = [
      queue.id,
      slots,
      CLAIM_BYTES,
      first,
      nonces,
      consumers.map((c) => c.lease_seconds ?? queue.lease_seconds),
      consumers.map((c) => c.worker ?? null),
      stretches.ranks,
      stretches.positions,
      stretches.last_ranks,
    ];
    let rows: LeasedRow[];
    try {
      rows = limitsClaims(queue)
        ? await fromLimited(queue, parameters, part)
        : await (full ? part.leave() : part).db.query<LeasedRow>(claim, parameters);
    } catch (error) {
      lost(queue.id, nonces);
      throw error;
    }
    if (full) floor.scanned(performance.now() - started);
    rows.sort((a, b) => a.slot - b.slot);
    let at = 0;
    for (const row of rows) {
      while (row.slot > (last[at] as number)) at++;
      floor.leased(row.priority, row.position);
      (shares[at] as LeasedJob[]).push(Object.assign(row, LEASED, { queue: queue.name }));
    }
    return shares;
  }

  return {
    claimFor,

    /** Something may be ready that a claim from the floor up would not find. */
    doubt(name: string): void {
      floors.get(name)?.doubt();
    },
  };
}
