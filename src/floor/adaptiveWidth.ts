const FIRST = 2 ** 15;
const LEAST = 2 ** 10;

/**
 * How many positions a statement goes over, so that it takes about `targetMs`: from 32,768 on, by the time that the last one
 * took, but at most four times as many. An eighth after one that failed by its time limit.
 */
export function createAdaptiveWidth(targetMs: number) {
  let width = FIRST;

  return {
    get: (): number => width,

    /** A series of statements begins. */
    begin(): void {
      width = Math.min(width, FIRST);
    },

    took(ms: number): void {
      width = Math.max(LEAST, Math.floor(width * Math.min(4, targetMs / Math.max(ms, 0.1))));
    },

    failed(): void {
      width = Math.max(LEAST, Math.floor(width / 8));
    },
  };
}
