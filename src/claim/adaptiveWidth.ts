const FIRST = 2 ** 15;
const LEAST = 2 ** 10;

/**
 * How many positions a statement goes over, so that it takes about `targetMs`: from 32,768 on, four times as many after a quick
 * one, half as many after a slow one, an eighth after one that failed by its time limit.
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
      if (ms < targetMs / 4) width *= 4;
      else if (ms > targetMs) width = Math.max(LEAST, Math.floor(width / 2));
    },

    failed(): void {
      width = Math.max(LEAST, Math.floor(width / 8));
    },
  };
}
