import { createHash } from 'node:crypto';

/** A file of these lines with its end, as an export would write it. */
export function sealed(lines: string[]): string {
  const text = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  return `${text}${JSON.stringify({ kind: 'end', lines: lines.length, sha256 })}\n`;
}
