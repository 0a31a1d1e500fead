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

/** Does something with each of many items. */
export function* eachOf<T>(items: T[], work: (item: T, i: number) => unknown): Generator<void> {
  for (const [i, item] of items.entries()) {
    work(item, i);
    if (isSliceOver()) yield;
  }
}

/** Runs small work at once, and large work in slices. */
export const inSlicesIf = <T>(isLarge: boolean, work: Generator<void, T>): T | Promise<T> =>
  isLarge ? inSlices(work) : atOnce(work);

function slice<T>(work: Generator<void, T>): IteratorResult<void, T> {
  sliceEnds = performance.now() + SLICE_MS;
  try {
    return work.next();
  } finally {
    sliceEnds = Number.POSITIVE_INFINITY;
  }
}

const PIECE = 256 * 1024;

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit < 0xdc00;

/** The pieces of a text. No character is cut in two. */
function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PIECE, text.length);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--;
    yield text.slice(at, end);
    at = end;
  }
}

/** A long text in UTF-8. */
export function* utf8Of(text: string): Generator<void, Buffer> {
  let bytes = 0;
  for (const piece of piecesOf(text)) {
    bytes += Buffer.byteLength(piece);
    if (isSliceOver()) yield;
  }
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const piece of piecesOf(text)) {
    at += buffer.write(piece, at);
    if (isSliceOver()) yield;
  }
  return buffer;
}
