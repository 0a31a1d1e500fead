import { isSliceOver } from '../slices.ts';
import { Encoded } from './encoded.ts';

/** A parameter of more units of UTF-16 is encoded in slices. */
export const LONG = 512 * 1024;
const PART_BYTES = 256 * 1024;
/** A unit of UTF-16 takes at most so many bytes in UTF-8. */
const UNIT_BYTES = 3;

const TEXT_OID = 25;
const HEADER_BYTES = 20;

/** The texts of a long text[]. */
export class LongTexts {
  readonly texts: (string | null)[];

  constructor(texts: (string | null)[]) {
    this.texts = texts;
  }
}

export type TextArray = Buffer | LongTexts;

function writeHeader(array: Buffer, texts: (string | null)[]): number {
  array.writeInt32BE(1, 0); // dimensions
  array.writeInt32BE(texts.includes(null) ? 1 : 0, 4); // whether there are nulls
  array.writeInt32BE(TEXT_OID, 8);
  array.writeInt32BE(texts.length, 12);
  return array.writeInt32BE(1, 16); // the first subscript
}

/** Writes a text with its length, and returns where it ends. */
function writeText(array: Buffer, text: string | null, at: number): number {
  if (text === null) return array.writeInt32BE(-1, at);
  const written = array.write(text, at + 4);
  array.writeInt32BE(written, at);
  return at + 4 + written;
}

/**
 * A text[] in PostgreSQL's binary format (array_recv). It is for texts of users: the text format escapes each quote,
 * which took half a second for 8 MiB of them.
 */
export function textArray(texts: (string | null)[]): TextArray {
  let units = 0;
  for (const text of texts) units += text?.length ?? 0;
  if (units > LONG) return new LongTexts(texts);
  let bytes = HEADER_BYTES;
  for (const text of texts) bytes += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const array = Buffer.allocUnsafe(bytes);
  let at = writeHeader(array, texts);
  for (const text of texts) at = writeText(array, text, at);
  return array;
}

const mostBytes = (text: string | null) => 4 + (text === null ? 0 : text.length * UNIT_BYTES);

export function* encodeTexts({ texts }: LongTexts): Generator<void, Encoded> {
  const parts: Buffer[] = [];
  let part = Buffer.allocUnsafeSlow(PART_BYTES);
  let at = writeHeader(part, texts);
  for (const text of texts) {
    if (mostBytes(text) > part.length - at) {
      parts.push(part.subarray(0, at));
      if (isSliceOver()) yield;
      const bytes = mostBytes(text) > PART_BYTES ? 4 + Buffer.byteLength(text as string) : 0;
      part = Buffer.allocUnsafeSlow(Math.max(PART_BYTES, bytes));
      at = 0;
    }
    at = writeText(part, text, at);
  }
  parts.push(part.subarray(0, at));
  return new Encoded(parts, true);
}
