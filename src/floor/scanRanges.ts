/** Ranks are negated priorities, so that they ascend with the order. */
export const FIRST_RANK = -100;
export const LAST_RANK = 100;
export const ALL_RANKS = Array.from({ length: LAST_RANK - FIRST_RANK + 1 }, (_, i) => FIRST_RANK + i);

/** After all positions. */
export const END = Number.MAX_SAFE_INTEGER;

/** Ranges of the order of a queue: each begins after (rank, position) and ends with (last_rank, last_position). */
export interface ScanRanges {
  ranks: number[];
  positions: number[];
  last_ranks: number[];
  last_positions: number[];
}

/** A part of one rank: the positions after `from`, up to `to`. */
export interface Piece {
  rank: number;
  from: number;
  to: number;
}

export const newRanges = (): ScanRanges => ({ ranks: [], positions: [], last_ranks: [], last_positions: [] });

/** Adds the range that begins after a position of `rank` and ends with a position of `lastRank`. */
export function addRange(
  ranges: ScanRanges,
  rank: number,
  position: number,
  lastRank: number,
  lastPosition: number,
): void {
  ranges.ranks.push(rank);
  ranges.positions.push(position);
  ranges.last_ranks.push(lastRank);
  ranges.last_positions.push(lastPosition);
}

export function rangesOf(pieces: Piece[]): ScanRanges {
  const ranges = newRanges();
  for (const { rank, from, to } of pieces) addRange(ranges, rank, from, rank, to);
  return ranges;
}
