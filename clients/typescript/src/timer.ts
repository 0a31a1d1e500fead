/** `setTimeout` would fire at once for a longer time. */
const LONGEST_MS = 2 ** 31 - 1;

/** What `after` has set. */
export interface Timer {
  clear(): void;
}

/** `setTimeout` for a time of any length. `Infinity` never comes. */
export function after(ms: number, act: () => void): Timer {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (leftMs: number): void => {
    if (leftMs === Number.POSITIVE_INFINITY) return;
    const part = Math.min(leftMs, LONGEST_MS);
    timer = setTimeout(() => (leftMs > part ? wait(leftMs - part) : act()), part);
  };
  wait(ms);
  return { clear: () => clearTimeout(timer) };
}
