const MAX_BYTES = 16 * 1024;
const buffer = Buffer.alloc(MAX_BYTES);
const encoder = new TextEncoder();

/** The first 16 KiB of a text in UTF-8. A character that would be cut in two at the end is left out. */
export function clip(text: string): string {
  // A UTF-16 unit takes at most 3 bytes of UTF-8. (4 bytes make two units.)
  if (text.length * 3 <= MAX_BYTES) return text;
  const { written } = encoder.encodeInto(text, buffer);
  return buffer.toString('utf8', 0, written);
}
