import { StartError } from '../errors.ts';

const NEWLINE = 0x0a;
/** A job with the largest payload, result and progress, each character escaped, is shorter. */
const LONGEST_BYTES = 160 * 2 ** 20;

/** A file is no export, or not a whole one. */
export class FileError extends StartError {
  constructor(line: number, why: string) {
    super(`Line ${line} ${why}.`);
  }
}

export interface Line {
  /** From 1 on. */
  number: number;
  /** Without its newline. */
  bytes: Buffer;
  /** False for a last line that is cut short: it has no newline. */
  isWhole: boolean;
}

/** The lines of a file. It holds one of them at a time. @throws FileError for a line that is too long */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let parts: Buffer[] = [];
  let held = 0;
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const bytes = Buffer.concat([...parts, chunk.subarray(from, end)]);
      parts = [];
      held = 0;
      from = end + 1;
      yield { number: ++number, bytes, isWhole: true };
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    held += chunk.length - from;
    if (held > LONGEST_BYTES)
      throw new FileError(number + 1, 'is too long. No export of Dibs has such a line');
  }
  if (held > 0) yield { number: number + 1, bytes: Buffer.concat(parts), isWhole: false };
}
