import { createBareRanks, QUICK_MS } from './bareRanks.ts';
import { createLevel, type Level } from './level.ts';
import { ALL_RANKS, END, type Piece } from './scanRanges.ts';
import { WIDTH } from './widths.ts';

/**
 * The floor of each rank of an order. A rank in which jobs were leased has a level: a floor of its own. So has one with
 * many dead entries. All other ranks are bare (bareRanks.ts).
 */
export function createRankFloors(now: () => number) {
  const levels = new Map<number, Level>();
  const bare = createBareRanks(now);

  function levelOf(rank: number): Level {
    let level = levels.get(rank);
    if (!level) {
      level = createLevel(bare.floor(), bare.leave(rank), now);
      levels.set(rank, level);
    }
    return level;
  }

  const isBare = (rank: number): boolean => !levels.has(rank);
  const floorOf = (rank: number): number => levels.get(rank)?.floor() ?? bare.floor();
  const ranksWithFloor = (): number[] =>
    bare.isWhole() ? [...levels.keys()].sort((a, b) => a - b) : ALL_RANKS;

  /** A survey of this piece found its first ready job at `first`, or none. */
  function surveyedPiece({ rank, to }: Piece, first: number | undefined, ms: number): void {
    const isSlow = isBare(rank) && bare.tookLong(rank, ms);
    if (isBare(rank) && !isSlow && first === undefined) return;
    const counted = isBare(rank) || ms < QUICK_MS ? 0 : ms;
    levelOf(rank).surveyed(first === undefined ? to : first - 1, counted);
  }

  return {
    levelOf,
    isBare,
    floorOf,

    /** In the order of the queue. Claims scan the other ranks whole. */
    ranksWithFloor,

    /** Whether claims scan bare ranks whole. */
    isWhole: bare.isWhole,

    /** Surveys begin anew, at the beginning of each bare rank. */
    closeBare: bare.close,

    /** The bare ranks, if claims scan them whole. */
    wholeRanks: (): Piece[] =>
      bare.isWhole() ? ALL_RANKS.filter(isBare).map((rank) => ({ rank, from: -1, to: END })) : [],

    /**
     * Before a claim: scans bare ranks whole, if their floor is near the end of the order and surveys of them were
     * quick.
     */
    openBare(committedUpTo: number): void {
      if (bare.floor() + WIDTH >= committedUpTo) bare.arrived();
    },

    /** Surveys of these pieces found the first ready jobs (or none), and took this long for each. */
    surveyed(pieces: Piece[], firsts: (number | undefined)[], times: number[]): void {
      const first = pieces.find(({ rank }) => isBare(rank));
      for (const [i, piece] of pieces.entries()) surveyedPiece(piece, firsts[i], times[i] as number);
      if (first) bare.raise(first.to);
    },

    /** What lies below the floors, of the positions from `first` to `last`. */
    below: (first: number, last: number): Piece[] =>
      ranksWithFloor()
        .filter((rank) => floorOf(rank) >= first)
        .map((rank) => ({ rank, from: first - 1, to: Math.min(last, floorOf(rank)) })),

    /** The highest of the floors. */
    highest: (): number =>
      Math.max(bare.isWhole() ? -1 : bare.floor(), ...[...levels.values()].map((level) => level.floor())),

    /** The floors that are to be stored: much was done below them. */
    takeUnstored: (): { rank: number; position: number }[] =>
      [...levels].flatMap(([rank, level]) => {
        const position = level.takeUnstored();
        return position === undefined ? [] : [{ rank, position }];
      }),
  };
}

export type RankFloors = ReturnType<typeof createRankFloors>;
