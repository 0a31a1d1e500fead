import type { Arrivals } from '../floor/arrivals.ts';
import { type RaiseFloor, TOGETHER_MS } from '../floor/raiseFloor.ts';
import { newScanOrder, type ScanOrder, scanOrdersOf } from '../floor/scanOrder.ts';
import type { Piece, ScanRanges } from '../floor/scanRanges.ts';
import { isWalk, type KeySearchWay } from './keySearch.ts';
import type { ClaimedRow, LeasedRow, Leases } from './leasedJob.ts';
import type { QueueMemory } from './queueMemories.ts';

/** What a claim scans of one order. `cut` is the piece at which the scan ends before the end of the order. */
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
  /** The jobs with fairness keys, if the claim leases from the front of the queue. */
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

/** Whether no job was passed over before this one. No floor may rise above a job that was. */
const isBeforePassed = ({
  priority,
  position,
  passed_rank = null,
  passed_position = null,
}: ClaimedRow): boolean =>
  passed_rank === null ||
  passed_position === null ||
  -priority < passed_rank ||
  (-priority === passed_rank && position < passed_position);

/** Notes what a claim shows about the jobs with fairness keys. It took `ms`, including all that it waited for. */
function noteKeys(scan: Scan, rows: ClaimedRow[], slots: number, ms: number): void {
  const { known, way } = scan;
  const [row] = rows;
  // While walks are cheap, no scan floor of jobs with keys is needed.
  if (isWalk(way) && known.keySearch.took(row?.ms ?? ms, slots, row !== undefined)) known.fair = undefined;
  if (!row || !known.fair) return;
  const { first_rank: rank, first_position: position, holds_all } = row;
  const endsEarly = scansOf(scan).some(({ cut }) => cut);
  if (holds_all !== undefined && !endsEarly) known.keySearch.tookFront(row.ms ?? ms, holds_all);
  // With -1 no floor rises: it is not known up to where all jobs have committed.
  if (typeof rank === 'number' && typeof position === 'number')
    known.fair.floor.sawFirst(rank, position, scan.committedUpTo ?? -1, rows.length);
}

/** Chooses what claims scan, notes what they find, and raises scan floors where scans end. */
export function createScans(arrivals: Arrivals, { raise, checkSlow }: RaiseFloor) {
  /**
   * Whether scans of the front reach the end of both orders: the jobs with a key, and those without. If not, surveys
   * begin, and claims walk meanwhile. A scan that reaches the end of one order only would prefer the jobs of that
   * order.
   */
  function seesAll(known: QueueMemory, upTo: number): boolean {
    known.fair ??= newScanOrder(known.queueId, { hasKeys: true });
    let seesAll = true;
    for (const order of scanOrdersOf(known)) {
      const { cut } = order.floor.ranges(upTo);
      if (!cut) continue;
      seesAll = false;
      // In an outage, the claim itself fails and tells it.
      if (!order.run) raise(order, cut, false).catch(() => undefined);
    }
    return seesAll;
  }

  return {
    /** Chooses what a claim scans. `wish`: how it is to look for fairness keys, if that is possible. */
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
      const plain = rows.filter((row) => row.fairness_key === null && isBeforePassed(row));
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

    /** Raises the scan floor of each order whose scan ended early. Returns `leases`, with what claims may find now. */
    async raiseAll(scan: Scan, rows: LeasedRow[], slots: number, leases: Leases): Promise<Leases> {
      const raising = scansOf(scan).flatMap(({ order, cut }) => {
        if (!cut) return [];
        // Jobs of the other order may take all slots, again and again, while the jobs of this order lie above the
        // piece.
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
