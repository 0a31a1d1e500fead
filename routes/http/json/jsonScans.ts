import {
  CLOSE_OBJECT,
  COMMA,
  EndsTooEarly,
  endOfColon,
  endOfScalar,
  endOfSpace,
  endOfString,
  endOfText,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  unexpected,
} from './jsonTokens.ts';

/** What is long in a JSON body is read in steps of bounded length. */

/** In ASCII, `]` and `}` stand two places after `[` and `{`. */
const TO_CLOSE = 2;

/** The name of a member, and the colon. */
const endOfName = (bytes: Uint8Array, at: number) => endOfColon(bytes, endOfString(bytes, at));

/** What a ValueScan ends with for a list or object that is too deep or too large. It looks no further than that. */
export const TOO_DEEP = -1;
export const TOO_LARGE = -2;

export const MAX_DEPTH = 1000;
/** The brackets that close what is open in the value that is scanned. */
const closing = new Uint8Array(MAX_DEPTH);

/** A value is scanned in steps of about so many bytes. */
const STEP_BYTES = 64 * 1024;

/** Looks for the end of a value of any kind. */
export class ValueScan {
  /** Where the scan goes on. When it is over: where the value ends, or TOO_DEEP, or TOO_LARGE. */
  at: number;
  readonly #largest: number;
  /** Up to a byte behind the largest value: no long string, number or space is read further than that. */
  readonly #bytes: Uint8Array;
  #depth = 0;
  #close = 0;
  /** The brackets that close what is open, between two steps. */
  #closing: Uint8Array | undefined;

  constructor(bytes: Uint8Array, at: number, maxBytes: number) {
    this.at = at;
    this.#largest = at + maxBytes;
    this.#bytes = bytes.length > this.#largest + 1 ? bytes.subarray(0, this.#largest + 1) : bytes;
  }

  /** One step. Returns whether the scan is over. */
  next(): boolean {
    try {
      return this.#step(this.#bytes);
    } catch (error) {
      if (error instanceof EndsTooEarly && this.#bytes.length > this.#largest) return this.#over(TOO_LARGE);
      throw error;
    }
  }

  /** Payloads of 16 MiB pass through this loop, so it calls no function for what is frequent. */
  #step(bytes: Uint8Array): boolean {
    if (this.#closing) closing.set(this.#closing);
    const pauseAt = Math.min(this.at + STEP_BYTES, this.#largest);
    let depth = this.#depth;
    let close = this.#close;
    for (let i = this.at; ; ) {
      let c = bytes[i] as number;
      if (c <= SPACE) {
        i = endOfSpace(bytes, i);
        c = bytes[i] as number;
      }
      if (c === OPEN_OBJECT || c === OPEN_LIST) {
        if (depth === MAX_DEPTH) return this.#over(TOO_DEEP);
        closing[depth++] = close;
        close = c + TO_CLOSE;
        i = endOfSpace(bytes, i + 1);
        if (bytes[i] !== close) {
          if (c === OPEN_OBJECT) i = endOfName(bytes, i);
          continue;
        }
      } else {
        i = endOfScalar(bytes, i);
      }
      // A value has ended, or an empty list or object is about to.
      for (;;) {
        if (depth === 0) return this.#over(i);
        c = bytes[i] as number;
        if (c <= SPACE) {
          i = endOfSpace(bytes, i);
          c = bytes[i] as number;
        }
        if (c === COMMA) break;
        if (c !== close) throw unexpected(bytes, i);
        close = closing[--depth] as number;
        i++;
      }
      i = close === CLOSE_OBJECT ? endOfName(bytes, endOfSpace(bytes, i + 1)) : i + 1;
      if (i <= pauseAt) continue;
      if (i > this.#largest) return this.#over(TOO_LARGE);
      this.at = i;
      this.#depth = depth;
      this.#close = close;
      this.#closing = closing.slice(0, depth);
      return false;
    }
  }

  #over(at: number): true {
    this.at = at;
    return true;
  }
}

/** The characters of a longer string are put together from parts of about this size. */
export const LONG_STRING = 256 * 1024;

/** The characters that the text of a string stands for. */
export const unescaped = (text: string): string =>
  text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;

/** Reads the characters of a long string, from `at` on. */
export class LongString {
  at: number;
  text = '';
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** One step. Returns whether the string has been read. Then `at` is behind its quote. */
  next(): boolean {
    const bytes = this.#bytes;
    const end = endOfText(bytes, this.at, LONG_STRING);
    this.text += unescaped(bytes.toString('utf8', this.at, end));
    const isOver = bytes[end] === QUOTE;
    this.at = isOver ? end + 1 : end;
    return isOver;
  }
}
