import { setImmediate as nextLoop } from 'node:timers/promises';

/*
 * Work on a large body goes in slices, so that it never holds up other requests for long. It is written as a generator,
 * which yields wherever it may pause and `isSliceOver()`.
 */

const SLICE_MS = 8;

let sliceEnds = Number.POSITIVE_INFINITY;

/** Whether the work that runs now has run long enough. */
export const isSliceOver = (): boolean =>
  sliceEnds !== Number.POSITIVE_INFINITY && performance.now() > sliceEnds;

/** Runs work to its end, without a pause. */
export function atOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Each call waits for its turn: one in each pass of the event loop, or after each `rest`. */
export function createTurns(rest: () => Promise<void> = nextLoop): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    last = last.then(rest);
    return last;
  };
}

const turn = createTurns();

/** Runs work slice by slice. What comes after it begins in a turn of its own. */
export async function inSlices<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    await turn();
    const { done, value } = slice(work);
    if (!done) continue;
    await turn();
    return value;
  }
}

function slice<T>(work: Generator<void, T>): IteratorResult<void, T> {
  sliceEnds = performance.now() + SLICE_MS;
  try {
    return work.next();
  } finally {
    sliceEnds = Number.POSITIVE_INFINITY;
  }
}
