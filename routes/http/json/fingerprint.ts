import { hash } from 'node:crypto';
import { isSliceOver } from '../../../src/slices.ts';
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfText,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
} from './jsonTokens.ts';

/*
 * Tells whether two bodies are the same JSON: members of objects may stand in any order, and white space anywhere.
 * Numbers, strings and names count by their text: 1.0 is not 1, and "\u0061" is not "a". Members of one name keep their
 * order among themselves, because the last of them counts.
 */

/** An object with a longer text stands in its parent by its hash. So each byte is moved a few times only, at any depth. */
const MOST_INLINE = 256;

/** Between two looks whether the slice is over. */
const STEP_BYTES = 64 * 1024;

/** No valid JSON has this byte. A hash stands behind it. */
const HASH_MARK = 0;

/** Where an open object, its members and the ends of their names stand in the canonical text. */
interface OpenObject {
  start: number;
  members: number[];
  nameEnds: number[];
}

const ARRAY: OpenObject = { start: -1, members: [], nameEnds: [] };

const sha256 = (bytes: Buffer) => hash('sha256', bytes, 'buffer');

/** Up to this number, members are sorted without a pause. */
const FEW = 1000;

type Compare = (a: number, b: number) => number;

/** So few bytes are copied in less time than a call of the runtime takes. */
const FEW_BYTES = 32;

/** Copies bytes, and returns where they end. */
function copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  if (end - start > FEW_BYTES) return at + from.copy(to, at, start, end);
  for (let i = start; i < end; i++) to[at + i - start] = from[i] as number;
  return at + end - start;
}

/** Compares members of an object by their names, and those of one name by their places. */
const byName =
  (text: Buffer, { members, nameEnds }: OpenObject): Compare =>
  (a, b) => {
    const [first, second] = [members[a] as number, members[b] as number];
    // Most names differ in their first byte, behind the quotation mark.
    const difference = (text[first + 1] as number) - (text[second + 1] as number);
    return difference || text.compare(text, second, nameEnds[b], first, nameEnds[a]) || a - b;
  };

/** Sorts by merging, because the sort of JavaScript cannot pause: 200,000 members took half a second. */
function* sortMany(items: Uint32Array, compare: Compare): Generator<void> {
  const merged = new Uint32Array(items.length);
  for (let width = 1; width < items.length; width *= 2) {
    let left = 0;
    let right = 0;
    for (let at = 0; at < items.length; at++) {
      const start = at - (at % (2 * width));
      if (at === start) [left, right] = [start, start + width];
      const leftEnds = Math.min(start + width, items.length);
      const rightEnds = Math.min(leftEnds + width, items.length);
      const isLeft =
        left < leftEnds &&
        (right >= rightEnds || compare(items[left] as number, items[right] as number) <= 0);
      merged[at] = items[isLeft ? left++ : right++] as number;
      if (at % 1024 === 0 && isSliceOver()) yield;
    }
    items.set(merged);
  }
}

/** Puts the members of an object that ends at `end` into this order. */
function rearrange(
  text: Buffer,
  { start, members }: OpenObject,
  end: number,
  order: ArrayLike<number>,
): void {
  const old = Buffer.from(text.subarray(start, end));
  let at = start + 1;
  for (let k = 0; k < order.length; k++) {
    const i = order[k] as number;
    const from = (members[i] as number) - start;
    const to = (members[i + 1] ?? end + 1) - 1 - start;
    if (k > 0) text[at++] = COMMA;
    at = copy(old, from, to, text, at);
  }
}

/** Puts the members of an object that ends at `end` into the order of their names. */
function sortFewMembers(text: Buffer, object: OpenObject, end: number): void {
  const compare = byName(text, object);
  const { members } = object;
  if (members.every((_, i) => i === 0 || compare(i - 1, i) < 0)) return;
  rearrange(text, object, end, members.map((_, i) => i).sort(compare));
}

function* sortManyMembers(text: Buffer, object: OpenObject, end: number): Generator<void> {
  const order = Uint32Array.from(object.members, (_, i) => i);
  yield* sortMany(order, byName(text, object));
  rearrange(text, object, end, order);
}

/** The canonical text of a body, as it grows. */
class Canonical {
  readonly #json: Buffer;
  readonly #text: Buffer;
  readonly #open: OpenObject[] = [];
  #top = ARRAY;
  /** Where reading and writing go on. */
  #from = 0;
  #at = 0;
  /** Reading stands in a long string. */
  #inString = false;
  /** The object whose members are in order already. */
  #sorted: OpenObject | undefined;

  constructor(json: Buffer) {
    this.#json = json;
    this.#text = Buffer.allocUnsafe(json.length);
  }

  /** Writes on, by about STEP_BYTES or to the end of an object with many members. Returns whether all is written. */
  #step(): boolean {
    const [json, text, open] = [this.#json, this.#text, this.#open];
    const stop = Math.min(json.length, this.#from + STEP_BYTES);
    let top = this.#top;
    let at = this.#at;
    let i = this.#from;
    let inString = this.#inString;
    while (i < stop) {
      const c = json[i] as number;
      if (c === QUOTE || inString) {
        const end = endOfText(json, inString ? i : i + 1, STEP_BYTES);
        inString = json[end] !== QUOTE;
        const next = inString ? end : end + 1;
        at = copy(json, i, next, text, at);
        i = next;
        continue;
      }
      if (c === CLOSE_OBJECT) {
        if (top.members.length > FEW && top !== this.#sorted) break;
        if (top.nameEnds.length > 1 && top.members.length <= FEW) sortFewMembers(text, top, at);
        i++;
        at = closed(text, top, at);
        top = open.pop() ?? ARRAY;
        continue;
      }
      i++;
      if (c <= SPACE) continue;
      text[at++] = c;
      if (c === OPEN_OBJECT) {
        open.push(top);
        top = { start: at - 1, members: [at], nameEnds: [] };
      } else if (c === OPEN_LIST) {
        open.push(top);
        top = ARRAY;
      } else if (c === CLOSE_LIST) {
        top = open.pop() ?? ARRAY;
      } else if (c === COMMA && top !== ARRAY) {
        top.members.push(at);
      } else if (c === COLON) {
        top.nameEnds.push(at - 1);
      }
    }
    this.#top = top;
    this.#at = at;
    this.#from = i;
    this.#inString = inString;
    return i >= json.length;
  }

  *hash(): Generator<void, string> {
    while (!this.#step()) {
      const isAtEnd = !this.#inString && this.#json[this.#from] === CLOSE_OBJECT;
      if (isAtEnd && this.#top.members.length > FEW) {
        yield* sortManyMembers(this.#text, this.#top, this.#at);
        this.#sorted = this.#top;
      }
      if (isSliceOver()) yield;
    }
    return hash('sha256', this.#text.subarray(0, this.#at), 'hex');
  }
}

/** Closes an object at `end`. A long one is replaced by its hash. Returns where the text goes on. */
function closed(text: Buffer, { start }: OpenObject, end: number): number {
  text[end] = CLOSE_OBJECT;
  if (end + 1 - start <= MOST_INLINE) return end + 1;
  const short = sha256(text.subarray(start, end + 1));
  text[start] = HASH_MARK;
  return start + 1 + short.copy(text, start + 1);
}

/** The SHA-256, in hex, of what a body says. `json` is valid JSON, or empty. */
export const fingerprintOf = (json: Buffer): Generator<void, string> => new Canonical(json).hash();
