/** A scan floor is believed after this time. A job that commits later after taking its position is left to a full scan. */
const LAG_MS = 250;
/** A full scan takes at most this share of the time, and comes at most once in FULL_SCAN_MS. */
const FULL_SCAN_SHARE = 1 / 50;
const FULL_SCAN_MS = 1000;

/** Ranges of the order of a queue that a claim scans: each from behind (rank, position) to the end of last_rank. */
export interface ScanRanges {
  ranks: number[];
  positions: number[];
  last_ranks: number[];
}

/** Ranks are negated priorities, so that they ascend with the order. */
const FIRST_RANK = -100;
const LAST_RANK = 100;

const EVERYTHING: ScanRanges = { ranks: [FIRST_RANK], positions: [-1], last_ranks: [LAST_RANK] };

interface Level {
  /** The last position leased, what it was a while ago, and the floor that is believed. */
  latest: number;
  aging: number;
  floor: number;
}

/**
 * The scan floor of one queue: for each priority, the position below which nothing can be claimed any more. A claim that starts
 * there walks over no index entries of jobs that are gone. PostgreSQL keeps such entries while any transaction holds an
 * old snapshot, and a scan from the front then grows with all that was ever claimed.
 * The floor is a hint. A job that becomes ready gets a new position, above it. A job that commits late, or that a claim
 * passed over because another claim had it locked and rolled back, is found by the next full scan.
 */
export function createScanFloor(now: () => number = () => performance.now()) {
  const levels = new Map<number, Level>();
  let agedAt = now();
  let fullAt = Number.NEGATIVE_INFINITY;
  let pauseMs = 0;
  let rescanAsked = false;

  function age(at: number): void {
    if (at - agedAt < LAG_MS) return;
    agedAt = at;
    for (const level of levels.values()) {
      level.floor = level.aging;
      level.aging = level.latest;
    }
  }

  /** From the floor of each level to the next level. What lies above the first level is scanned whole. */
  function aboveFloor(): ScanRanges {
    const ranks = [...levels.keys()].sort((a, b) => a - b);
    const ranges: ScanRanges = { ranks: [], positions: [], last_ranks: [] };
    const add = (rank: number, position: number, last: number) => {
      ranges.ranks.push(rank);
      ranges.positions.push(position);
      ranges.last_ranks.push(last);
    };
    if (ranks[0] !== FIRST_RANK) add(FIRST_RANK, -1, (ranks[0] ?? LAST_RANK + 1) - 1);
    for (const [i, rank] of ranks.entries())
      add(rank, (levels.get(rank) as Level).floor, (ranks[i + 1] ?? LAST_RANK + 1) - 1);
    return ranges;
  }

  return {
    /** Something may be ready below the floor: the next claim scans everything, as soon as a full scan may be made. */
    rescan(): void {
      rescanAsked = true;
    },

    /** What the next claim scans, and whether that is everything. */
    ranges(): { ranges: ScanRanges; full: boolean } {
      const at = now();
      age(at);
      if (at - fullAt <= (rescanAsked ? pauseMs : Math.max(pauseMs, FULL_SCAN_MS)))
        return { ranges: aboveFloor(), full: false };
      rescanAsked = false;
      fullAt = at;
      return { ranges: EVERYTHING, full: true };
    },

    /** A claim leased this job. */
    leased(priority: number, position: number): void {
      const level = levels.get(-priority);
      if (!level) levels.set(-priority, { latest: position, aging: -1, floor: -1 });
      else if (position > level.latest) level.latest = position;
    },

    /** A full scan took this long. */
    scanned(ms: number): void {
      pauseMs = ms / FULL_SCAN_SHARE;
    },
  };
}
