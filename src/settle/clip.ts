const MAX_BYTES = 16 * 1024;
const buffer = Buffer.alloc(MAX_BYTES);
const encoder = new TextEncoder();

/** The first 16 KiB of a text in UTF-8, without the character that would be broken at their end. */
export function clip(text: string): string {
  // A character of a string is at most 3 bytes of UTF-8 (4 bytes make two of them).
  if (text.length * 3 <= MAX_BYTES) return text;
  const { written } = encoder.encodeInto(text, buffer);
  return buffer.toString('utf8', 0, written);
}
