import { isAscii, isUtf8 } from 'node:buffer';
import { RawJson } from '../../../src/job.ts';
import { isSliceOver } from '../../../src/slices.ts';
import { invalidPart, payloadTooLarge } from '../answers/invalidPart.ts';
import { wholeBody } from '../answers/refusalOf.ts';
import {
  LONG_STRING,
  LongString,
  MAX_DEPTH,
  TOO_DEEP,
  TOO_LARGE,
  unescaped,
  ValueScan,
} from './jsonScans.ts';
import {
  COLON,
  COMMA,
  endOfScalar,
  endOfSpace,
  endOfText,
  LITERALS,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  unexpected,
} from './jsonTokens.ts';
import { LONG_TEXT, OpenList, OpenObject, type RawShape } from './openJson.ts';
import { pointerTo } from './pointer.ts';

/**
 * Reads JSON bodies. Nothing in a body of 16 MiB may keep a replica busy for long, so everything is bounded while it is
 * read: how deep values nest, how long lists and objects are, and how many values are built. Raw values are only
 * checked and kept as texts. JSON.parse took seconds for a hostile body.
 */

/** Outside raw values. No list of the API takes more elements, and no object as many members. */
const MAX_ITEMS = 1000;
/** Outside raw values: a batch of 1000 jobs with all their fields and 32 headers each has half as many. */
const MAX_VALUES = 100_000;

/** So much space is passed in one step. */
const MOST_SPACE = 64 * 1024;

/** Outside raw values: a number that some field takes is much shorter. */
const MOST_DIGITS = 1000;

const TOO_DEEP_IN_WORDS = `must nest at most ${MAX_DEPTH} levels deep`;

/** Up to this size, a body becomes one text. A slice of a larger text would keep all of it in memory. */
const SMALL_BYTES = 64 * 1024;

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

type Open = OpenList | OpenObject;

/** What comes next, apart from space. `item`: the first item of a list or object, or its end. `end`: a comma, or an end. */
type Next = 'value' | 'item' | 'name' | 'colon' | 'end';

/**
 * Reads JSON, except for the values that `shape` names: they stay exactly the texts that were sent (RawJson).
 * @throws SyntaxError when the body is not JSON
 * @throws Refusal when it is not UTF-8, for a value that is too large, and for what is too deep or has too many items
 */
export class JsonReader {
  /** What was read. */
  value: unknown;
  readonly #bytes: Buffer;
  readonly #shape: RawShape | undefined;
  /** The whole text of a small body, if each byte is a character: then slices of it cost least. */
  readonly #text: string | undefined;
  /** The lists and objects around what is read now. */
  readonly #open: Open[] = [];
  /** The innermost of them. */
  #top: Open | undefined;
  /** What takes several steps. */
  #scan: ValueScan | LongString | undefined;
  /** Where reading goes on. */
  #at = 0;
  #next: Next = 'value';
  #values = 0;

  constructor(bytes: Buffer, shape: RawShape | undefined) {
    if (!isUtf8(bytes)) throw wholeBody('must be UTF-8');
    // Nobody sees it in what was sent. RFC 8259, 8.1: it must not be added.
    if (bytes.indexOf(BYTE_ORDER_MARK) === 0)
      throw new SyntaxError('it begins with a byte order mark (EF BB BF)');
    this.#bytes = bytes;
    this.#shape = shape;
    this.#text = bytes.length <= SMALL_BYTES && isAscii(bytes) ? bytes.toString('latin1') : undefined;
  }

  /** One step: about a token. Returns whether the body has been read. */
  next(): boolean {
    if (this.#scan) {
      this.#goOn(this.#scan);
      return false;
    }
    const from = this.#at;
    const stop = Math.min(this.#bytes.length, from + MOST_SPACE);
    const at = endOfSpace(this.#bytes, from, stop);
    this.#at = at;
    if (at - from === MOST_SPACE) return false;
    const c = this.#bytes[at] as number;
    switch (this.#next) {
      case 'name':
        this.#string();
        return false;
      case 'value':
        this.#begin(c);
        return false;
      case 'colon':
        if (c !== COLON) throw unexpected(this.#bytes, at);
        this.#at = at + 1;
        this.#next = 'value';
        return false;
      case 'item':
        this.#item(c, this.#top as Open);
        return false;
      case 'end':
        return this.#end(c);
    }
  }

  /** The shape of the value that is read now. */
  #shapeHere(): RawShape | undefined {
    return this.#top ? this.#top.shape : this.#shape;
  }

  /** Begins to read a value. Most are read at once. */
  #begin(c: number): void {
    const start = this.#at;
    const shape = this.#shapeHere();
    if (shape !== undefined && 'maxBytes' in shape) {
      this.#scan = new ValueScan(this.#bytes, start, shape.maxBytes);
      this.#goOn(this.#scan);
      return;
    }
    if (++this.#values > MAX_VALUES)
      throw wholeBody(`must have at most ${MAX_VALUES} values, apart from payloads, results and progress`);
    if (c === OPEN_OBJECT || c === OPEN_LIST) {
      if (this.#open.length === MAX_DEPTH) throw wholeBody(TOO_DEEP_IN_WORDS);
      this.#top = c === OPEN_LIST ? new OpenList(shape) : new OpenObject(shape);
      this.#open.push(this.#top);
      this.#at = start + 1;
      this.#next = 'item';
    } else if (c === QUOTE) {
      this.#string();
    } else {
      const most = start + MOST_DIGITS + 1;
      this.#at = endOfScalar(most < this.#bytes.length ? this.#bytes.subarray(0, most) : this.#bytes, start);
      if (this.#at - start > MOST_DIGITS) throw this.#tooLong(MOST_DIGITS);
      this.#add(LITERALS.has(c) ? LITERALS.get(c)?.[1] : Number(this.#slice(start, this.#at)));
    }
  }

  #slice(start: number, end: number): string {
    return this.#text?.slice(start, end) ?? this.#bytes.toString('utf8', start, end);
  }

  #string(): void {
    const start = this.#at + 1;
    if (this.#bytes[start - 1] !== QUOTE) throw unexpected(this.#bytes, start - 1);
    const end = endOfText(this.#bytes, start, LONG_STRING);
    if (this.#bytes[end] === QUOTE) {
      this.#at = end + 1;
      this.#add(unescaped(this.#slice(start, end)));
    } else {
      if (this.#next === 'name') throw wholeBody(`must not have names of more than ${LONG_STRING} bytes`);
      if (this.#shapeHere() !== LONG_TEXT) throw this.#tooLong(LONG_STRING);
      this.#scan = new LongString(this.#bytes, start);
    }
  }

  #goOn(scan: ValueScan | LongString): void {
    if (!scan.next()) return;
    this.#scan = undefined;
    const start = this.#at;
    this.#at = scan.at;
    this.#add(scan instanceof LongString ? scan.text : this.#raw(start, this.#shapeHere()));
  }

  /** A raw value that was scanned. */
  #raw(start: number, shape: RawShape | undefined): RawJson {
    const { maxBytes } = shape as { maxBytes: number };
    if (this.#at === TOO_DEEP)
      throw invalidPart([{ in: 'body', path: this.#path(), message: TOO_DEEP_IN_WORDS }]);
    if (this.#at === TOO_LARGE || this.#at - start > maxBytes) throw this.#tooLarge(maxBytes);
    return new RawJson(this.#slice(start, this.#at));
  }

  /** A string that was read may be the name of a member. Everything else is a value. */
  #add(value: unknown): void {
    if (this.#next === 'name') {
      (this.#top as OpenObject).named(value as string);
      this.#next = 'colon';
    } else {
      this.#next = 'end';
      if (this.#top) this.#top.add(value);
      else this.value = value;
    }
  }

  /** The first item of a list or object, or its end. */
  #item(c: number, top: Open): void {
    if (c === top.close) {
      this.#close(top);
      return;
    }
    this.#next = top.itemBegins;
    if (this.#next === 'name') this.#string();
    else this.#begin(c);
  }

  /** What stands behind a value. Returns whether that was all. */
  #end(c: number): boolean {
    const top = this.#top;
    if (top === undefined) {
      if (this.#at < this.#bytes.length) throw unexpected(this.#bytes, this.#at);
      return true;
    }
    if (c === top.close) {
      this.#close(top);
      return false;
    }
    if (top.count === MAX_ITEMS) {
      const path = pointerTo(...this.#open.slice(0, -1).map(({ key }) => key));
      const message = `must have at most ${MAX_ITEMS} ${top.itemsInWords}`;
      throw invalidPart([{ in: 'body', path, message }]);
    }
    if (c !== COMMA) throw unexpected(this.#bytes, this.#at);
    this.#at++;
    this.#next = top.itemBegins;
    return false;
  }

  /** A list or object ends. It is the next value of what is around it. */
  #close(top: Open): void {
    this.#at++;
    this.#open.pop();
    this.#top = this.#open.at(-1);
    this.#next = 'end';
    this.#add(top.value());
  }

  /** Where the value that is read now stands in the body. */
  #path(): string {
    return pointerTo(...this.#open.map(({ key }) => key));
  }

  #tooLong(most: number) {
    return invalidPart([{ in: 'body', path: this.#path(), message: `must be at most ${most} bytes long` }]);
  }

  #tooLarge(maxBytes: number) {
    const path = this.#path();
    return payloadTooLarge(`${path} is larger than ${maxBytes} bytes.`, [
      { in: 'body', path, message: `must be at most ${maxBytes} bytes of JSON text` },
    ]);
  }
}

/** The value of a small body. */
export function readJson(body: Buffer, shape: RawShape | undefined): unknown {
  const reader = new JsonReader(body, shape);
  while (!reader.next());
  return reader.value;
}

/** The value of a large body, in slices. */
export function* readingJson(body: Buffer, shape: RawShape | undefined): Generator<void, unknown> {
  const reader = new JsonReader(body, shape);
  while (!reader.next()) if (isSliceOver()) yield;
  return reader.value;
}
