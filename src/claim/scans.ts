import type { Arrivals } from '../floor/arrivals.ts';
import { type RaiseFloor, TOGETHER_MS } from '../floor/raiseFloor.ts';
import { newScanOrder, type ScanOrder, scanOrdersOf } from '../floor/scanOrder.ts';
import type { Piece, ScanRanges } from '../floor/scanRanges.ts';
import { isWalk, type KeySearchWay } from './keySearch.ts';
import type { ClaimedRow, LeasedRow, Leases } from './leasedJob.ts';
import type { QueueMemory } from './queueMemories.ts';

/** What a claim scans of one order, and the piece with which the scan ends. */
interface OrderScan {
  order: ScanOrder;
  ranges: ScanRanges;
  cut: Piece | undefined;
}

/** What a claiming statement scans. */
export interface Scan {
  known: QueueMemory;
  /** Undefined for a queue without fairness keys. */
  way: KeySearchWay | undefined;
  /** The jobs without fairness keys. */
  plain: OrderScan;
  /** Those with fairness keys, if it takes the front of the queue. */
  fair: OrderScan | undefined;
  /** All jobs up to here have committed, or are marked. Undefined when that is not known. */
  committedUpTo: number | undefined;
}

/** When a statement began, and for how many slots. */
interface Run {
  startedAt: number;
  slots: number;
}

const scansOf = ({ plain, fair }: Scan): OrderScan[] => (fair ? [plain, fair] : [plain]);

/** What the rows of a claim tell of the jobs with fairness keys. It took `ms`, with all that it waited for. */
function noteKeys(scan: Scan, rows: ClaimedRow[], slots: number, ms: number): void {
  const { known, way } = scan;
  const [row] = rows;
  // Behind a cheap walk, nobody needs the floor of these jobs.
  if (isWalk(way) && known.keySearch.took(row?.ms ?? ms, slots, row !== undefined)) known.fair = undefined;
  if (!row || !known.fair) return;
  const { first_rank: rank, first_position: position, holds_all } = row;
  const endsEarly = scansOf(scan).some(({ cut }) => cut);
  if (holds_all !== undefined && !endsEarly) known.keySearch.tookFront(row.ms ?? ms, holds_all);
  // Until it is known up to where all has committed, no floor rises.
  if (typeof rank === 'number' && typeof position === 'number')
    known.fair.floor.sawFirst(rank, position, scan.committedUpTo ?? -1, rows.length);
}

/** What claims scan, what they find out about it, and what they do at the ends of their scans. */
export function createScans(arrivals: Arrivals, { raise, checkSlow }: RaiseFloor) {
  /**
   * Whether the scan of the front comes to the end of the order. Where it does not yet, surveys begin, and claims walk meanwhile:
   * they would see the jobs without a key before those with one, or the other way round.
   */
  function seesAll(known: QueueMemory, upTo: number): boolean {
    known.fair ??= newScanOrder(known.queueId, { hasKeys: true });
    let seesAll = true;
    for (const order of scanOrdersOf(known)) {
      const { cut } = order.floor.ranges(upTo);
      if (!cut) continue;
      seesAll = false;
      // An outage shows in the claim.
      if (!order.run) raise(order, cut, false).catch(() => undefined);
    }
    return seesAll;
  }

  return {
    /** Chooses what a claim scans. `wish` is how it would look for fairness keys. */
    choose(known: QueueMemory, wish: KeySearchWay | undefined): Scan {
      known.claimed = true;
      const committedUpTo = arrivals.committedUpTo();
      const upTo = committedUpTo ?? arrivals.newest();
      const isPatient = wish === 'front' && !known.keySearch.takesAnyFront();
      const way = isPatient && !seesAll(known, upTo) ? 'walk' : wish;
      const scan = (order: ScanOrder): OrderScan => ({ order, ...order.floor.ranges(upTo) });
      const plain = scan(known.plain);
      if (way !== 'front') return { known, way, plain, fair: undefined, committedUpTo };
      known.fair ??= newScanOrder(known.queueId, { hasKeys: true });
      return { known, way, plain, fair: scan(known.fair), committedUpTo };
    },

    /** A claim leased these rows. */
    leased(scan: Scan, rows: ClaimedRow[], { startedAt, slots }: Run): void {
      const ms = performance.now() - startedAt;
      const plain = rows.filter((row) => row.fairness_key === null);
      scan.known.plain.floor.leased(plain, startedAt);
      for (const { position } of plain) arrivals.leased(position);
      if (scan.way) noteKeys(scan, rows, slots, ms);
      for (const { order } of scansOf(scan)) void checkSlow(order, ms);
    },

    /** A claim failed, and may have leased jobs. */
    failed({ known }: Scan): void {
      for (const { floor } of scanOrdersOf(known)) floor.failed();
      arrivals.distrust();
    },

    /** Raises the floors of scans that came to an end before the end of the order. Returns what claims may find now. */
    async raiseAll(scan: Scan, rows: LeasedRow[], slots: number, leases: Leases): Promise<Leases> {
      const raising = scansOf(scan).flatMap(({ order, cut }) => {
        if (!cut) return [];
        // Jobs with fairness keys may take all slots, while those without lie behind the piece. Or the other way round.
        const isHidden =
          !rows.some(({ fairness_key }) => (fairness_key !== null) === order.hasKeys) &&
          performance.now() > order.surveys.until + TOGETHER_MS;
        return rows.length < slots || isHidden ? [raise(order, cut, rows.length === 0)] : [];
      });
      if (raising.length === 0) return leases;
      try {
        const raised = await Promise.all(raising);
        const [inMs] = raised.flatMap(({ inMs }) => inMs ?? []).toSorted((a, b) => a - b);
        return {
          ...leases,
          cut: leases.cut || raised.some(({ again }) => again),
          opensInMs: leases.opensInMs ?? inMs,
        };
      } catch (error) {
        if (rows.length === 0) throw error;
        return leases;
      }
    },
  };
}
