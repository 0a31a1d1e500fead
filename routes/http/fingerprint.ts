import { createHash } from 'node:crypto';
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
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

/** No valid JSON has this byte. A hash stands behind it. */
const HASH_MARK = 0;

/** Where an open object, its members and the ends of their names stand in the canonical text. */
interface OpenObject {
  start: number;
  members: number[];
  nameEnds: number[];
}

const ARRAY: OpenObject = { start: -1, members: [], nameEnds: [] };

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

/** Puts the members of an object that ends at `end` into the order of their names. */
function sortMembers(text: Buffer, { start, members, nameEnds }: OpenObject, end: number): void {
  const compare = (a: number, b: number) =>
    text.compare(text, members[b], nameEnds[b], members[a], nameEnds[a]) || a - b;
  const order = members.map((_, i) => i);
  if (order.every((i) => i === 0 || compare(i - 1, i) < 0)) return;
  const old = Buffer.from(text.subarray(start, end));
  let at = start + 1;
  for (const i of order.sort(compare)) {
    const from = (members[i] as number) - start;
    const to = (members[i + 1] ?? end + 1) - 1 - start;
    if (at > start + 1) text[at++] = COMMA;
    at += old.copy(text, at, from, to);
  }
}

/** The SHA-256, in hex, of what a body says. `json` is valid JSON, or empty. */
export function fingerprintOf(json: Buffer): string {
  const text = Buffer.allocUnsafe(json.length);
  const open: OpenObject[] = [];
  let top = ARRAY;
  let at = 0;

  function closeObject(): void {
    if (top.nameEnds.length > 1) sortMembers(text, top, at);
    text[at++] = CLOSE_OBJECT;
    if (at - top.start <= MOST_INLINE) return;
    const hash = sha256(text.subarray(top.start, at));
    text[top.start] = HASH_MARK;
    at = top.start + 1 + hash.copy(text, top.start + 1);
  }

  for (let i = 0; i < json.length; ) {
    const c = json[i] as number;
    if (c === QUOTE) {
      const end = endOfString(json, i);
      at += json.copy(text, at, i, end);
      i = end;
      continue;
    }
    i++;
    if (c <= SPACE) continue;
    if (c === CLOSE_OBJECT) {
      closeObject();
      top = open.pop() ?? ARRAY;
      continue;
    }
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
  return sha256(text.subarray(0, at)).toString('hex');
}
