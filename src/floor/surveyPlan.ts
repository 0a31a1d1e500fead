import type { RankFloors } from './rankFloors.ts';
import type { Piece } from './scanRanges.ts';
import { type ClaimWidth, createAdaptiveWidth } from './widths.ts';

/** A survey takes about this long. */
const SURVEY_MS = 20;

/** Which pieces surveys go over, and how far their findings raise the floors. */
export function createSurveyPlan(floors: RankFloors, claimWidth: ClaimWidth) {
  const width = createAdaptiveWidth(SURVEY_MS);
  /** The last survey was one of bare ranks. */
  let wasBare = false;

  return {
    /** Pieces to survey for the next jobs, but for ranks that are `done`. Bare ranks come first. */
    piecesToSurvey(committedUpTo: number, done: { has(rank: number): boolean }): Piece[] {
      const pending = floors
        .ranksWithFloor()
        .filter((rank) => !done.has(rank) && floors.floorOf(rank) + claimWidth.get() < committedUpTo);
      const bare = pending.filter(floors.isBare);
      // What was quick in bare ranks may be slow in the others: ranks with many dead entries have levels.
      if (wasBare && bare.length === 0) width.begin();
      wasBare = bare.length > 0;
      return (wasBare ? bare : pending).map((rank) => {
        const from = floors.floorOf(rank);
        return { rank, from, to: Math.min(from + width.get(), committedUpTo) };
      });
    },

    /** A survey found the first jobs that are ready in these pieces, if there are any. It took this long for each. */
    surveyed(pieces: Piece[], firsts: (number | undefined)[], times: number[]): void {
      width.took(times.reduce((sum, ms) => sum + ms, 0));
      floors.surveyed(pieces, firsts, times);
    },

    surveyFailed: width.failed,

    /** A run of surveys begins. Until it ends, claims scan little of what the surveys go over. */
    beginSurveys(): void {
      claimWidth.setSurveying(true);
      width.begin();
    },

    endSurveys(): void {
      claimWidth.setSurveying(false);
    },
  };
}
