import { randomUUID } from 'node:crypto';
import { createFloor, type Floor } from './floor.ts';
import type { Queue } from './queues.ts';
import type { Part } from './rounds.ts';
import { prepared } from './sql.ts';
import type { LeasedJob } from './types.ts';

const claim = prepared('claim');

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
export type LeasedRow = Omit<LeasedJob, 'queue' | keyof typeof LEASED> & { slot: number; position: number };

const LEASED = { state: 'leased', finished_at: null, result: null } as const;

/** Makes a lease of its row, in place. */
export const toLease = (row: LeasedRow, queue: string): LeasedJob => Object.assign(row, LEASED, { queue });

export function claiming(context: {
  /** Told of a claim of which nobody knows whether it leased anything. */
  lost(queueId: number, nonces: string[], names: ClaimName[]): void;
}) {
  const { lost } = context;
  const floors = new Map<string, Floor>();

  function floorOf(name: string): Floor {
    let floor = floors.get(name);
    if (!floor) {
      floor = createFloor();
      floors.set(name, floor);
    }
    return floor;
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
    const isNamed = consumers.some((c) => c.name);
    const floor = floorOf(queue.name);
    const { stretches, full } = floor.stretches();
    const started = performance.now();
    let rows: LeasedRow[];
    try {
      rows = await (full ? part.leave() : part).db.query<LeasedRow>(claim, [
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
        isNamed ? consumers.map((c) => c.name?.id ?? null) : null,
        isNamed ? consumers.map((c) => c.name?.holder ?? null) : null,
      ]);
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
      floor.leased(row.priority, row.position);
      (shares[at] as LeasedJob[]).push(toLease(row, queue.name));
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
