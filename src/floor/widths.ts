/** A claim scans this number of positions at most, and the first survey or search of a series goes over as many. */
export const WIDTH = 2 ** 15;
const LEAST = 2 ** 10;

/**
 * How many positions a survey or a search goes over, so that it takes about `targetMs`: from 32,768 on, by the time
 * that the last one took, but at most four times as many. An eighth after one that failed by its time limit.
 */
export function createAdaptiveWidth(targetMs: number) {
  let width = WIDTH;

  return {
    get: (): number => width,

    /** A series of statements begins. */
    begin(): void {
      width = Math.min(width, WIDTH);
    },

    took(ms: number): void {
      width = Math.max(LEAST, Math.floor(width * Math.min(4, targetMs / Math.max(ms, 0.1))));
    },

    failed(): void {
      width = Math.max(LEAST, Math.floor(width / 8));
    },
  };
}

/**
 * How many positions a claim scans at most: 32,768. An eighth after one that failed, and twice as many after each that
 * did not.
 */
export function createClaimWidth() {
  let width = WIDTH;
  let isSurveying = false;

  return {
    /** A rank that has more positions above its floor needs surveys. */
    get: (): number => width,

    /**
     * What a claim scans of a rank that needs surveys: little while they run, because they go over the same positions.
     */
    ofCut: (): number => (isSurveying ? LEAST : width),

    setSurveying(is: boolean): void {
      isSurveying = is;
    },

    succeeded(): void {
      width = Math.min(WIDTH, width * 2);
    },

    failed(): void {
      width = Math.max(LEAST, Math.floor(width / 8));
    },
  };
}

export type ClaimWidth = ReturnType<typeof createClaimWidth>;
