/**
 * The tokens of JSON (RFC 8259) in bytes. Each `endOf...` takes where something begins and returns where it ends. It
 * throws a SyntaxError for what is not JSON, so what has an end is valid.
 */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
const BACKSLASH = 0x5c;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

const codes = (text: string) => [...text].map((c) => c.charCodeAt(0));
/** For each byte, 1 if it is one of `text`. */
const table = (text: string) => Uint8Array.from({ length: 256 }, (_, c) => Number(codes(text).includes(c)));
const IS_ESCAPE = table('"\\/bfnrt');
/** In a string: the quote, the backslash, and the control characters, which are not allowed. */
const ENDS_PLAIN = table(`"\\${String.fromCharCode(...Array(32).keys())}`);
const IS_HEX = table('0123456789abcdefABCDEF');
const [PLUS, DOT, LOWER_E, UPPER_E, LOWER_U] = codes('+.eEu') as [number, number, number, number, number];
export const LITERALS = new Map<number, [number[], boolean | null]>([
  [0x74, [codes('true'), true]],
  [0x66, [codes('false'), false]],
  [0x6e, [codes('null'), null]],
]);

/** JSON that goes on where the bytes end. */
export class EndsTooEarly extends SyntaxError {
  constructor() {
    super('it ends too early');
  }
}

export function unexpected(bytes: Uint8Array, at: number): SyntaxError {
  return at < bytes.length ? new SyntaxError(`byte ${at} is not expected there`) : new EndsTooEarly();
}

/** The end of space that ends before `stop`. */
export function endOfSpace(bytes: Uint8Array, at: number, stop = bytes.length): number {
  let i = at;
  for (; i < stop; i++) {
    const c = bytes[i];
    if (c !== SPACE && c !== 0x0a && c !== 0x0d && c !== 0x09) break;
  }
  return i;
}

function endOfDigits(bytes: Uint8Array, at: number): number {
  let i = at;
  while ((bytes[i] as number) >= ZERO && (bytes[i] as number) <= NINE) i++;
  if (i === at) throw unexpected(bytes, i);
  return i;
}

function endOfNumber(bytes: Uint8Array, at: number): number {
  let i = bytes[at] === MINUS ? at + 1 : at;
  i = bytes[i] === ZERO ? i + 1 : endOfDigits(bytes, i);
  if (bytes[i] === DOT) i = endOfDigits(bytes, i + 1);
  if (bytes[i] === LOWER_E || bytes[i] === UPPER_E)
    i = endOfDigits(bytes, bytes[i + 1] === PLUS || bytes[i + 1] === MINUS ? i + 2 : i + 1);
  return i;
}

const endsPlain = (bytes: Uint8Array, at: number) => ENDS_PLAIN[bytes[at] as number] as number;

/** The bytes of a string that need no look at what follows, up to `stop`. Eight at a time, because payloads may be long. */
function endOfPlain(bytes: Uint8Array, at: number, stop: number): number {
  const last = Math.min(bytes.length, stop) - 8;
  let i = at;
  while (i <= last) {
    const first =
      endsPlain(bytes, i) | endsPlain(bytes, i + 1) | endsPlain(bytes, i + 2) | endsPlain(bytes, i + 3);
    if (
      (first |
        endsPlain(bytes, i + 4) |
        endsPlain(bytes, i + 5) |
        endsPlain(bytes, i + 6) |
        endsPlain(bytes, i + 7)) !==
      0
    )
      break;
    i += 8;
  }
  while (i < stop && endsPlain(bytes, i) === 0) i++;
  return i;
}

/** After so many plain bytes, the rest of them is passed by eight at a time. Escapes may stand close together. */
const FEW_PLAIN = 16;

/** The end of the characters of a string: where its quote stands, or a character after about `most` bytes. */
export function endOfText(bytes: Uint8Array, at: number, most: number): number {
  const stop = at + most;
  let plain = 0;
  for (let i = at; ; ) {
    const c = bytes[i] as number;
    if (c === QUOTE) return i;
    if (i >= stop) return startOfCharacter(bytes, i);
    if (ENDS_PLAIN[c] === 0) {
      i++;
      if (++plain < FEW_PLAIN) continue;
      i = endOfPlain(bytes, i, stop);
    } else {
      if (c !== BACKSLASH) throw unexpected(bytes, i);
      i = endOfEscape(bytes, i);
    }
    plain = 0;
  }
}

/** Where the UTF-8 character of this byte begins. */
function startOfCharacter(bytes: Uint8Array, at: number): number {
  let i = at;
  while (((bytes[i] as number) & 0xc0) === 0x80) i--;
  return i;
}

export function endOfString(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== QUOTE) throw unexpected(bytes, at);
  return endOfText(bytes, at + 1, bytes.length) + 1;
}

function endOfEscape(bytes: Uint8Array, at: number): number {
  const kind = bytes[at + 1] as number;
  if (IS_ESCAPE[kind]) return at + 2;
  if (kind !== LOWER_U) throw unexpected(bytes, at + 1);
  for (let i = at + 2; i < at + 6; i++) if (!IS_HEX[bytes[i] as number]) throw unexpected(bytes, i);
  return at + 6;
}

function endOfLiteral(bytes: Uint8Array, at: number): number {
  const [letters] = LITERALS.get(bytes[at] as number) ?? [];
  if (letters === undefined) throw unexpected(bytes, at);
  for (let i = 1; i < letters.length; i++) if (bytes[at + i] !== letters[i]) throw unexpected(bytes, at + i);
  return at + letters.length;
}

export function endOfScalar(bytes: Uint8Array, at: number): number {
  const c = bytes[at] as number;
  if (c === QUOTE) return endOfString(bytes, at);
  if (c === MINUS || (c >= ZERO && c <= NINE)) return endOfNumber(bytes, at);
  return endOfLiteral(bytes, at);
}

/** The colon behind the name of a member. */
export function endOfColon(bytes: Uint8Array, at: number): number {
  const colon = endOfSpace(bytes, at);
  if (bytes[colon] !== COLON) throw unexpected(bytes, colon);
  return colon + 1;
}
