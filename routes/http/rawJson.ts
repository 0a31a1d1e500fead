import { isAscii, isUtf8 } from 'node:buffer';
import { invalidRequest, payloadTooLarge, Refusal } from '../../src/errors.ts';
import { RawJson } from '../../src/job.ts';
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  endOfColon,
  endOfScalar,
  endOfSpace,
  endOfText,
  LITERALS,
  MAX_DEPTH,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  TOO_DEEP,
  TOO_LARGE,
  unexpected,
  ValueScan,
} from './jsonTokens.ts';
import { pointerTo } from './pointer.ts';
import { wholeBody } from './refusalOf.ts';
import { isSliceOver } from './slices.ts';

/**
 * Reads JSON bodies. Nothing in a body of 16 MiB may keep a replica busy for long, so everything is bounded while it is
 * read: how deep values nest, how long lists and objects are, and how many values are built. Raw values are only
 * checked and kept as texts. JSON.parse took seconds for a hostile body.
 */

/**
 * Which values of a body are kept as texts. `{ maxBytes }` is such a value, `members` names members of an object, and a
 * one-element array stands for all elements. `{ members: { jobs: [{ maxBytes: 9 }] } }`: each element of `jobs`.
 */
export type RawShape = { maxBytes: number } | [RawShape] | { members: Record<string, RawShape> };

/** Outside raw values. No list of the API takes more elements, and no object as many members. */
const MAX_ITEMS = 1000;
/** Outside raw values: a batch of 1000 jobs with all their fields and 32 headers each has half as many. */
const MAX_VALUES = 100_000;

/** Up to this size, a body becomes one text, and is read at once. A slice of a larger text would keep all of it in memory. */
const SMALL_BYTES = 64 * 1024;

/** The characters of a longer string are put together from parts of about this size. */
const LONG_STRING = 256 * 1024;

const NO_MEMBERS: Record<string, RawShape> = {};

/** @throws the refusal that a value is instead of being read */
function ifRead(value: unknown): unknown {
  if (value instanceof Refusal) throw value;
  return value;
}

class Reader {
  readonly #bytes: Buffer;
  /** The whole text of a small body, if each byte is a character: then slices of it cost least. */
  readonly #text: string | undefined;
  /** Where the value that is read stands in the body. */
  readonly #path: (string | number)[] = [];
  /** Where reading goes on. */
  #at = 0;
  #values = 0;
  #depth = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#text = bytes.length <= SMALL_BYTES && isAscii(bytes) ? bytes.toString('latin1') : undefined;
  }

  /** The value of the whole body. */
  *body(shape: RawShape | undefined): Generator<void, unknown> {
    const value = ifRead(yield* this.#value(shape));
    const end = endOfSpace(this.#bytes, this.#at);
    if (end < this.#bytes.length) throw unexpected(this.#bytes, end);
    return value;
  }

  #refused(message: string): Refusal {
    const path = pointerTo(...this.#path);
    return invalidRequest([{ in: 'body', path, message }]);
  }

  #slice(start: number, end: number): string {
    return this.#text?.slice(start, end) ?? this.#bytes.toString('utf8', start, end);
  }

  // Each of the following reads from `#at` on, and returns a value. Generators may pause.

  *#value(shape: RawShape | undefined): Generator<void, unknown> {
    const start = endOfSpace(this.#bytes, this.#at);
    this.#at = start;
    if (isSliceOver()) yield;
    if (shape !== undefined && 'maxBytes' in shape) return yield* this.#raw(shape.maxBytes);
    if (++this.#values > MAX_VALUES) {
      this.#path.length = 0;
      throw this.#refused(
        `must have at most ${MAX_VALUES} values, apart from payloads, results and progress`,
      );
    }
    const c = this.#bytes[start] as number;
    if (c === OPEN_OBJECT || c === OPEN_LIST) {
      if (++this.#depth > MAX_DEPTH) {
        this.#path.length = 0;
        throw this.#tooDeep();
      }
      const value = yield* c === OPEN_LIST ? this.#list(shape) : this.#object(shape);
      this.#depth--;
      return value;
    }
    if (c === QUOTE) return this.#string(start) ?? (yield* this.#longString(start));
    this.#at = endOfScalar(this.#bytes, start);
    return LITERALS.has(c) ? LITERALS.get(c)?.[1] : Number(this.#slice(start, this.#at));
  }

  /** Undefined for a string that must be read in slices. */
  #string(start: number): string | undefined {
    if (this.#bytes[start] !== QUOTE) throw unexpected(this.#bytes, start);
    const end = endOfText(this.#bytes, start + 1, LONG_STRING);
    if (this.#bytes[end] !== QUOTE) return undefined;
    this.#at = end + 1;
    return this.#unescaped(start + 1, end);
  }

  #unescaped(start: number, end: number): string {
    const text = this.#slice(start, end);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }

  *#longString(start: number): Generator<void, string> {
    let text = '';
    for (let from = start + 1; ; ) {
      const to = endOfText(this.#bytes, from, LONG_STRING);
      text += this.#unescaped(from, to);
      this.#at = to + 1;
      if (this.#bytes[to] === QUOTE) return text;
      from = to;
      if (isSliceOver()) yield;
    }
  }

  *#raw(maxBytes: number): Generator<void, RawJson | Refusal> {
    const start = this.#at;
    const scan = new ValueScan(start, maxBytes);
    while (!scan.next(this.#bytes)) if (isSliceOver()) yield;
    this.#at = scan.at;
    if (this.#at === TOO_DEEP) throw this.#tooDeep();
    if (this.#at === TOO_LARGE) throw this.#tooLarge(maxBytes);
    if (this.#at - start > maxBytes) return this.#tooLarge(maxBytes);
    return new RawJson(this.#slice(start, this.#at));
  }

  *#object(shape: RawShape | undefined): Generator<void, object> {
    const members = shape !== undefined && 'members' in shape ? shape.members : NO_MEMBERS;
    const object: Record<string, unknown> = {};
    let refused: Map<string, Refusal> | undefined;
    for (let count = 0; !this.#ends(CLOSE_OBJECT, count, 'members'); count++) {
      const name = this.#string(this.#at) ?? (yield* this.#longString(this.#at));
      this.#at = endOfColon(this.#bytes, this.#at);
      this.#path.push(name);
      const value = yield* this.#value(Object.hasOwn(members, name) ? members[name] : undefined);
      this.#path.pop();
      // Of a repeated name the last value counts, as in JSON.parse: so a refusal waits for the end.
      if (value instanceof Refusal) refused = (refused ?? new Map<string, Refusal>()).set(name, value);
      else refused?.delete(name);
      if (name === '__proto__')
        Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
      else object[name] = value;
    }
    for (const refusal of refused?.values() ?? []) throw refusal;
    return object;
  }

  *#list(shape: RawShape | undefined): Generator<void, unknown[]> {
    const element = Array.isArray(shape) ? shape[0] : undefined;
    const list: unknown[] = [];
    for (let count = 0; !this.#ends(CLOSE_LIST, count, 'items'); count++) {
      this.#path.push(count);
      list.push(ifRead(yield* this.#value(element)));
      this.#path.pop();
    }
    return list;
  }

  /** Whether a list or object ends after `count` items. If not, `#at` is where the next one begins. */
  #ends(close: number, count: number, items: string): boolean {
    // The first time, `#at` is at the bracket that opens.
    const i = endOfSpace(this.#bytes, count === 0 ? this.#at + 1 : this.#at);
    if (this.#bytes[i] === close) {
      this.#at = i + 1;
      return true;
    }
    if (count === MAX_ITEMS) throw this.#refused(`must have at most ${MAX_ITEMS} ${items}`);
    if (count > 0 && this.#bytes[i] !== COMMA) throw unexpected(this.#bytes, i);
    this.#at = count === 0 ? i : endOfSpace(this.#bytes, i + 1);
    return false;
  }

  #tooDeep(): Refusal {
    return this.#refused(`must nest at most ${MAX_DEPTH} levels deep`);
  }

  #tooLarge(maxBytes: number): Refusal {
    const path = pointerTo(...this.#path);
    return payloadTooLarge(`${path} is larger than ${maxBytes} bytes.`, [
      { in: 'body', path, message: `must be at most ${maxBytes} bytes of JSON text` },
    ]);
  }
}

/**
 * Parses JSON, except for the values that `shape` names: they stay exactly the texts that were sent (RawJson).
 * @throws SyntaxError when the body is not JSON
 * @throws Refusal when it is not UTF-8, for a raw value that is too large, and for what is too deep or has too many items
 */
export function* parseKeepingRaw(body: Buffer, shape: RawShape | undefined): Generator<void, unknown> {
  if (!isUtf8(body)) throw wholeBody('must be UTF-8');
  return yield* new Reader(body).body(shape);
}
