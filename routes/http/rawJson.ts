import { type FieldError, invalidRequest, payloadTooLarge } from '../../src/errors.ts';
import { RawJson } from '../../src/job.ts';

/**
 * Which values of a body are kept as texts. `{ maxBytes }` is such a value, `members` names members of an object, and a
 * one-element array stands for all elements. `{ members: { jobs: [{ maxBytes: 9 }] } }`: each element of `jobs`.
 */
export type RawShape = { maxBytes: number } | [RawShape] | { members: Record<string, RawShape> };

const MAX_DEPTH = 1000;
const SCALAR = /[^ \t\n\r,\]}]*/y;

function endOfScalar(text: string, at: number): number {
  SCALAR.lastIndex = at;
  SCALAR.test(text);
  return SCALAR.lastIndex;
}

/** In valid JSON, every character up to U+0020 between two tokens is white space. */
function skipSpace(text: string, at: number): number {
  let i = at;
  while (text.charCodeAt(i) <= 0x20) i++;
  return i;
}

function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); ; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** Where the value that starts at `at` ends, and how deep it nests. */
function endOfValue(text: string, at: number): { end: number; depth: number } {
  let depth = 0;
  let deepest = 0;
  for (let i = at; ; ) {
    const c = text[i];
    if (c === '"') {
      i = endOfString(text, i);
    } else if (c === '{' || c === '[') {
      deepest = Math.max(deepest, ++depth);
      i++;
    } else if (c === '}' || c === ']') {
      depth--;
      i++;
    } else if (depth === 0) {
      return { end: endOfScalar(text, i), depth: 0 };
    } else {
      i++;
    }
    if (depth === 0) return { end: i, depth: deepest };
  }
}

/** Where the values of the wanted members start. Of a repeated name the last one counts, as in JSON.parse. */
function members(text: string, at: number, wanted: Record<string, RawShape>): Map<string, number> {
  const found = new Map<string, number>();
  let i = skipSpace(text, at + 1);
  while (text[i] !== '}') {
    const nameEnd = endOfString(text, i);
    const quoted = text.slice(i, nameEnd);
    const name = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
    const value = skipSpace(text, skipSpace(text, nameEnd) + 1);
    if (Object.hasOwn(wanted, name)) found.set(name, value);
    i = skipSpace(text, endOfValue(text, value).end);
    if (text[i] === ',') i = skipSpace(text, i + 1);
  }
  return found;
}

function elements(text: string, at: number): number[] {
  const found: number[] = [];
  let i = skipSpace(text, at + 1);
  while (text[i] !== ']') {
    found.push(i);
    i = skipSpace(text, endOfValue(text, i).end);
    if (text[i] === ',') i = skipSpace(text, i + 1);
  }
  return found;
}

function rawText(text: string, at: number, maxBytes: number, path: string): RawJson {
  const { end, depth } = endOfValue(text, at);
  const raw = text.slice(at, end);
  const refusal = (message: string): FieldError => ({ in: 'body', path, message });
  if (depth > MAX_DEPTH) throw invalidRequest([refusal(`must nest at most ${MAX_DEPTH} levels deep`)]);
  if (raw.length > maxBytes || Buffer.byteLength(raw) > maxBytes)
    throw payloadTooLarge(`${path} is larger than ${maxBytes} bytes.`, [
      refusal(`must be at most ${maxBytes} bytes of JSON text`),
    ]);
  return new RawJson(raw);
}

/** Puts the raw values back into a parsed value, as texts. `text` is valid JSON, and `parsed` is its value. */
function restore(text: string, at: number, shape: RawShape, parsed: unknown, path: string): unknown {
  if ('maxBytes' in shape) return rawText(text, at, shape.maxBytes, path);
  if (Array.isArray(shape)) {
    if (!Array.isArray(parsed)) return parsed;
    for (const [i, start] of elements(text, at).entries())
      parsed[i] = restore(text, start, shape[0], parsed[i], `${path}/${i}`);
  } else if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    const object = parsed as Record<string, unknown>;
    for (const [name, start] of members(text, at, shape.members))
      object[name] = restore(text, start, shape.members[name] as RawShape, object[name], `${path}/${name}`);
  }
  return parsed;
}

/**
 * Parses JSON, except for the values that `shape` names: they stay exactly the texts that were sent (RawJson).
 * @throws SyntaxError when the text is not JSON
 * @throws Refusal for a raw value that is too large or too deep
 */
export function parseKeepingRaw(text: string, shape: RawShape | undefined): unknown {
  const parsed: unknown = JSON.parse(text);
  return shape ? restore(text, skipSpace(text, 0), shape, parsed, '') : parsed;
}
