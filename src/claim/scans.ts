import { type Raised, TOGETHER_MS } from '../floor/raiseFloor.ts';
import { newScanOrder, type ScanOrder, scanOrdersOf } from '../floor/scanOrder.ts';
import type { Piece, ScanRanges } from '../floor/scanRanges.ts';
import type { KeySearchWay } from './keySearch.ts';
import type { LeasedRow } from './leasedJob.ts';
import type { QueueMemory } from './queueMemories.ts';

/** What a claim scans of one order, and the piece with which the scan ends. */
interface Scan {
  order: ScanOrder;
  ranges: ScanRanges;
  cut: Piece | undefined;
}

/** What claims scan, and what they do at the ends of their scans. `raise` is that of raiseFloor.ts. */
export function createScans(raise: (order: ScanOrder, cut: Piece, gotNothing: boolean) => Promise<Raised>) {
  /**
   * Whether the scan of the front comes to the end of the order. Where it does not yet, surveys begin, and claims walk meanwhile:
   * they would see the jobs without a key before those with one, or the other way round.
   */
  function seesAll(known: QueueMemory, committedUpTo: number): boolean {
    known.fair ??= newScanOrder(known.queueId, { hasKeys: true });
    let seesAll = true;
    for (const order of scanOrdersOf(known)) {
      const { cut } = order.floor.ranges(committedUpTo);
      if (!cut) continue;
      seesAll = false;
      // An outage shows in the claim.
      if (!order.run) raise(order, cut, false).catch(() => undefined);
    }
    return seesAll;
  }

  /** What a claim of the queue scans, and the pieces with which its scans end. */
  function chooseScan(known: QueueMemory, wish: KeySearchWay | undefined, committedUpTo: number) {
    const isPatient = wish === 'front' && !known.keySearch.takesAnyFront();
    const way = isPatient && !seesAll(known, committedUpTo) ? 'walk' : wish;
    if (way === 'front') known.fair ??= newScanOrder(known.queueId, { hasKeys: true });
    const orders = way === 'front' ? scanOrdersOf(known) : [known.plain];
    const [plain, fair] = orders.map((order) => ({ order, ...order.floor.ranges(committedUpTo) })) as [
      Scan,
      Scan?,
    ];
    return {
      scanned: { way, plain: plain.ranges, fair: fair?.ranges },
      scans: fair ? [plain, fair] : [plain],
    };
  }

  /** Raises the floors of scans that came to an end before the end of the order, where claims may find more. */
  async function raiseAll(scans: Scan[], rows: LeasedRow[], slots: number): Promise<Raised | undefined> {
    const raising = scans.flatMap(({ order, cut }) => {
      if (!cut) return [];
      // Jobs with fairness keys may take all slots, while those without lie behind the piece. Or the other way round.
      const isHidden =
        !rows.some(({ fairness_key }) => (fairness_key !== null) === order.hasKeys) &&
        performance.now() > order.surveys.until + TOGETHER_MS;
      return rows.length < slots || isHidden ? [raise(order, cut, rows.length === 0)] : [];
    });
    if (raising.length === 0) return undefined;
    const raised = await Promise.all(raising);
    const times = raised.flatMap(({ inMs }) => inMs ?? []);
    return {
      again: raised.some(({ again }) => again),
      ...(times.length > 0 && { inMs: Math.min(...times) }),
    };
  }

  return { chooseScan, raiseAll };
}
