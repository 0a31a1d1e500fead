import { createHash } from 'node:crypto';
import { isSliceOver } from './slices.ts';

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
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

/** Where an open object, its members and the ends of their names stand in the canonical text. */
interface OpenObject {
  start: number;
  members: number[];
  nameEnds: number[];
}

const ARRAY: OpenObject = { start: -1, members: [], nameEnds: [] };

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

function endOfString(bytes: Buffer, at: number): number {
  let i = at + 1;
  while (i < bytes.length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1;
  return i + 1;
}

/** Up to this number, members are sorted without a pause. */
const FEW = 1000;

type Compare = (a: number, b: number) => number;

/** Compares members of an object by their names, and those of one name by their places. */
const byName =
  (text: Buffer, { members, nameEnds }: OpenObject): Compare =>
  (a, b) =>
    text.compare(text, members[b], nameEnds[b], members[a], nameEnds[a]) || a - b;

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

/** The members in the order of their names. */
function* inOrder(object: OpenObject, compare: Compare): Generator<void, ArrayLike<number>> {
  const order = Uint32Array.from(object.members, (_, i) => i);
  yield* sortMany(order, compare);
  return order;
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
    at += old.copy(text, at, from, to);
  }
}

/** The SHA-256, in hex, of what a body says. `json` is valid JSON, or empty. */
export function* fingerprintOf(json: Buffer): Generator<void, string> {
  const text = Buffer.allocUnsafe(json.length);
  const open: OpenObject[] = [];
  let top = ARRAY;
  let at = 0;

  function* sortMembers(): Generator<void> {
    const compare = byName(text, top);
    const { members } = top;
    if (members.every((_, i) => i === 0 || compare(i - 1, i) < 0)) return;
    const order =
      members.length > FEW ? yield* inOrder(top, compare) : members.map((_, i) => i).sort(compare);
    rearrange(text, top, at, order);
  }

  function closeObject(): void {
    text[at++] = BRACE_END;
    if (at - top.start <= MOST_INLINE) return;
    const hash = sha256(text.subarray(top.start, at));
    text[top.start] = HASH_MARK;
    at = top.start + 1 + hash.copy(text, top.start + 1);
  }

  let look = STEP_BYTES;
  for (let i = 0; i < json.length; ) {
    if (i > look) {
      look = i + STEP_BYTES;
      if (isSliceOver()) yield;
    }
    const c = json[i] as number;
    if (c === QUOTE) {
      const end = endOfString(json, i);
      at += json.copy(text, at, i, end);
      i = end;
      continue;
    }
    i++;
    if (c <= SPACE) continue;
    if (c === BRACE_END) {
      if (top.nameEnds.length > 1) yield* sortMembers();
      closeObject();
      top = open.pop() ?? ARRAY;
      continue;
    }
    text[at++] = c;
    if (c === BRACE) {
      open.push(top);
      top = { start: at - 1, members: [at], nameEnds: [] };
    } else if (c === BRACKET) {
      open.push(top);
      top = ARRAY;
    } else if (c === BRACKET_END) {
      top = open.pop() ?? ARRAY;
    } else if (c === COMMA && top !== ARRAY) {
      top.members.push(at);
    } else if (c === COLON) {
      top.nameEnds.push(at - 1);
    }
  }
  return sha256(text.subarray(0, at)).toString('hex');
}
