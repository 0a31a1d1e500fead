import type { Writable } from 'node:stream';
import type pg from 'pg';

/** No JSON has these characters as they are. So lines come out as they are. */
const UNQUOTED = String.raw`format csv, quote e'\x01', delimiter e'\x02'`;

/** The part of a connection of the driver that its types leave out. */
type Connection = pg.Connection & { query(text: string): void };

/**
 * Runs a statement with one column of text, and writes its rows into `out` as lines. When `out` does not keep up, the
 * server waits: only what has arrived is held. `wrote` is called for each line.
 */
export function copyOut(
  client: pg.Client,
  text: string,
  out: Writable,
  wrote: (line: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: unknown;
    const copying = {
      submit(connection: Connection) {
        connection.query(`copy (${text.trim().replace(/;$/, '')}) to stdout (${UNQUOTED})`);
      },
      handleCopyData({ chunk }: { chunk: Buffer }, { stream }: Connection) {
        // The chunk is a part of a buffer that the driver uses again.
        const line = Buffer.from(chunk);
        wrote(line);
        if (out.write(line) || stream.isPaused()) return;
        stream.pause();
        out.once('drain', () => stream.resume());
      },
      handleCommandComplete: () => undefined,
      handleError(error: unknown) {
        failure = error;
        reject(error);
      },
      handleReadyForQuery: () => (failure ? undefined : resolve()),
    };
    client.query(copying as unknown as pg.Submittable);
  });
}
