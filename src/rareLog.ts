/** Of equal things, one is logged in this time. */
const AGAIN_MS = 10_000;
const MOST_REMEMBERED = 50;

/**
 * Logs what is new, and then the same thing at most every 10 s, with how often it came since. Two things are the same
 * when `keyOf` says so. So whoever causes them writes no long log.
 */
export function createRareLog<T>(keyOf: (thing: T) => string, log: (thing: T, times: number) => void) {
  const noted = new Map<string, { at: number; times: number }>();

  return (thing: T): void => {
    const now = performance.now();
    const key = keyOf(thing);
    const { at, times } = noted.get(key) ?? { at: Number.NEGATIVE_INFINITY, times: 0 };
    const isQuiet = now < at + AGAIN_MS;
    if (!noted.has(key) && noted.size >= MOST_REMEMBERED) noted.clear();
    noted.set(key, isQuiet ? { at, times: times + 1 } : { at: now, times: 0 });
    if (!isQuiet) log(thing, times + 1);
  };
}
