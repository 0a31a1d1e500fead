/** A parameter as it is sent. */
export class Encoded {
  readonly parts: Buffer[];
  readonly isBinary: boolean;

  constructor(parts: Buffer[], isBinary: boolean) {
    this.parts = parts;
    this.isBinary = isBinary;
  }
}

/** The message Bind of the protocol (PostgreSQL manual, "Message Formats"), in parts. */
export function bindInParts(statement: string, values: (string | Buffer | Encoded | null)[]): Buffer[] {
  const name = Buffer.from(`${statement}\0`);
  const formats = Buffer.alloc(4 + 2 * values.length);
  formats.writeInt16BE(values.length, 0);
  formats.writeInt16BE(values.length, 2 + 2 * values.length);
  const parts: Buffer[] = [];
  for (const [i, value] of values.entries()) {
    const { parts: own, isBinary } = value instanceof Encoded ? value : inOnePart(value);
    formats.writeInt16BE(isBinary ? 1 : 0, 2 + 2 * i);
    const length = Buffer.allocUnsafe(4);
    length.writeInt32BE(value === null ? -1 : own.reduce((sum, part) => sum + part.length, 0));
    parts.push(length, ...own);
  }
  // The results come in the text format.
  const tail = Buffer.from([0, 1, 0, 0]);
  const rest = [Buffer.from([0]), name, formats, ...parts, tail];
  const head = Buffer.from('B\0\0\0\0');
  head.writeInt32BE(
    rest.reduce((sum, part) => sum + part.length, 4),
    1,
  );
  return [head, ...rest];
}

function inOnePart(value: string | Buffer | null): Encoded {
  if (value === null) return new Encoded([], false);
  return value instanceof Buffer ? new Encoded([value], true) : new Encoded([Buffer.from(value)], false);
}
