import { createRankFloors, type RankFloors } from './rankFloors.ts';
import {
  addRange,
  END,
  FIRST_RANK,
  LAST_RANK,
  newRanges,
  type Piece,
  type ScanRanges,
} from './scanRanges.ts';
import { createSurveyPlan } from './surveyPlan.ts';
import { type ClaimWidth, createClaimWidth } from './widths.ts';

/** After a hint at jobs below the floor, patrols are fast for 60 s. A claim can hold a job locked for 2.3 s at most. */
const SUSPECT_MS = 60_000;

interface Leased {
  priority: number;
  position: number;
}

/**
 * What a claim scans. It does not see what comes after `cut`, the piece with which it ends before the end of the order.
 */
function rangesAbove(floors: RankFloors, width: ClaimWidth, committedUpTo: number) {
  const ranks = floors.ranksWithFloor();
  const ranges: ScanRanges = newRanges();
  const lastBefore = (rank: number | undefined): number => (rank ?? LAST_RANK + 1) - 1;
  if (floors.isWhole() && ranks[0] !== FIRST_RANK)
    addRange(ranges, FIRST_RANK, -1, lastBefore(ranks[0]), END);
  for (const [i, rank] of ranks.entries()) {
    const floor = floors.floorOf(rank);
    if (floor + width.get() < committedUpTo) {
      const cut: Piece = { rank, from: floor, to: floor + width.ofCut() };
      addRange(ranges, rank, floor, rank, cut.to);
      return { ranges, cut };
    }
    addRange(ranges, rank, floor, lastBefore(ranks[i + 1]), END);
  }
  return { ranges, cut: undefined };
}

/** How many of these jobs each rank has, and the last position of them. */
function reachedIn(jobs: Leased[]): Map<number, { position: number; count: number }> {
  const reached = new Map<number, { position: number; count: number }>();
  for (const { priority, position } of jobs) {
    const before = reached.get(-priority);
    if (!before) reached.set(-priority, { position, count: 1 });
    else {
      before.count++;
      if (position > before.position) before.position = position;
    }
  }
  return reached;
}

/**
 * The scan floors of one order: for each rank, the position below which nothing can be claimed any more. A claim scans
 * from there, over a bounded number of positions. See README.md.
 * All jobs up to `committedUpTo` have committed, or are marked (arrivals.ts). Floors stay below it.
 */
export function createScanFloor(now: () => number = () => performance.now()) {
  const floors = createRankFloors(now);
  const width = createClaimWidth();
  let suspectUntil = now() + SUSPECT_MS;

  /** Something hints at jobs below the floor. */
  function suspect(): void {
    suspectUntil = now() + SUSPECT_MS;
  }

  return {
    ...createSurveyPlan(floors, width),
    wholeRanks: floors.wholeRanks,
    closeRanks: floors.closeBare,
    below: floors.below,
    highest: floors.highest,
    takeUnstored: floors.takeUnstored,

    /** What the next claim scans. */
    ranges(committedUpTo: number): { ranges: ScanRanges; cut: Piece | undefined } {
      floors.openBare(committedUpTo);
      return rangesAbove(floors, width, committedUpTo);
    },

    /** A claim that began at this time leased these jobs: all that it found from the floors up. */
    leased(jobs: Leased[], startedAt: number): void {
      width.succeeded();
      for (const [rank, { position, count }] of reachedIn(jobs))
        floors.levelOf(rank).leased(position, count, startedAt);
    },

    /** A claim leased `count` jobs, and found the first job of this rank here, whether it leased that one or not. */
    sawFirst(rank: number, position: number, committedUpTo: number, count: number): void {
      width.succeeded();
      floors.levelOf(rank).sawNothing(Math.min(position - 1, committedUpTo), count);
    },

    /** A claim failed. It may have scanned too much, and a floor may have passed jobs that it had locked. */
    failed(): void {
      suspect();
      width.failed();
      floors.closeBare();
    },

    /**
     * A claim of this piece leased nothing, though a job is ready there: others have it locked. When they still have it
     * after a while, the floor passes the piece, so that what comes after it is found. Returns whether it did.
     */
    passLocked({ rank, to }: Piece, position: number): boolean {
      const isPassed = floors.levelOf(rank).passLocked(position, to);
      if (isPassed) suspect();
      return isPassed;
    },

    suspect,

    /**
     * Whether something hints at jobs below the floor: a claim failed, the floor passed a locked job, a patrol found
     * jobs, or the floor is new.
     */
    isSuspect: (): boolean => now() < suspectUntil,

    /** Another replica stored this floor. */
    stored(rank: number, position: number): void {
      floors.levelOf(rank).raise(position);
    },
  };
}

export type ScanFloor = ReturnType<typeof createScanFloor>;
