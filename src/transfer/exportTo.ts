import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { type Connected, type Databases, withClients } from '../databases/clients.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import { planned } from '../postgres/statements.ts';
import { copyOut } from './copyOut.ts';
import { findWaiting, linesOf, newQueues } from './exportRelay.ts';
import type { End } from './format.ts';
import { takeSnapshot } from './snapshot.ts';

const statements = {
  queues: planned('transfer/export_queues'),
  keys: planned('transfer/export_keys'),
  windows: planned('transfer/export_windows'),
  batches: planned('transfer/export_batches'),
  jobs: planned('transfer/export_jobs'),
  followers: planned('transfer/export_followers'),
  batchStates: planned('transfer/export_batch_states'),
  schedules: planned('transfer/export_schedules'),
};

export interface Exported {
  id: string;
  lines: number;
  jobs: number;
}

/** Is told how many of all jobs are done. */
export type Progress = (done: number, all: number) => void;

/** When the reader is gone, the server would wait for it, and this process for the server. So the connection is closed. */
function closeWithReader(out: Writable, { client }: Connected): void {
  const { connection } = client as unknown as { connection: { stream: Socket } };
  out.once('error', () => connection.stream.destroy());
}

/** Writes lines, and tells their number and the hash of their bytes at the end. */
function createLines(out: Writable) {
  const hash = createHash('sha256');
  let lines = 0;
  const note = (line: Buffer) => {
    hash.update(line);
    lines++;
  };

  async function put(line: Buffer): Promise<void> {
    if (!out.write(line)) await once(out, 'drain');
  }
  const lineOf = (text: string) => Buffer.from(`${text}\n`);

  return {
    async write(text: string): Promise<void> {
      const line = lineOf(text);
      note(line);
      await put(line);
    },

    /** Writes the rows of a statement. */
    copy: (
      { at }: Connected,
      { text }: { text: string },
      wrote: () => void = () => undefined,
    ): Promise<void> =>
      at((client) =>
        copyOut(client, text, out, (line) => {
          note(line);
          wrote();
        }),
      ),

    /** Returns how many lines there are. */
    async end(): Promise<number> {
      const end: End = { kind: 'end', lines, sha256: hash.digest('hex') };
      await put(lineOf(JSON.stringify(end)));
      return lines + 1;
    },
  };
}

/**
 * Writes everything that belongs to the queues of all databases into `out`, as it is at one moment, whatever happens
 * meanwhile. It holds a snapshot for that time, so autovacuum waits for it.
 * @throws StartError when the schema is not that of this Dibs, and where a queue moves from one database to another
 */
export async function exportTo(
  out: Writable,
  { withKeys, progress, ...databases }: Databases & { withKeys: boolean; progress: Progress },
): Promise<Exported> {
  const failed = new Promise<never>((_, reject) => out.once('error', reject));
  failed.catch(() => undefined);
  const lines = createLines(out);
  const exporting = withClients(databases, 'dibs export', async (connected) => {
    for (const one of connected) closeWithReader(out, one);
    const snapshot = await takeSnapshot(connected);
    const { header, all } = snapshot;
    const [home] = all;
    const waiting = await findWaiting(snapshot);
    await lines.write(JSON.stringify(header));
    for (const one of all) await lines.copy(one, statements.queues);
    for (const queue of await newQueues(snapshot, waiting)) await lines.write(JSON.stringify(queue));
    if (withKeys) await lines.copy(home, statements.keys);
    for (const one of all) await lines.copy(one, statements.windows);
    for (const one of all) await lines.copy(one, statements.batches);
    let done = 0;
    const count = () => progress(++done, header.jobs);
    for (const one of all) await lines.copy(one, statements.jobs, count);
    for (const jobs of waiting)
      for await (const line of linesOf(jobs)) {
        await lines.write(line);
        count();
      }
    for (const one of all) await lines.copy(one, statements.followers);
    for (const one of all) await lines.copy(one, statements.batchStates);
    await lines.copy(home, statements.schedules);
    for (const { at } of all) await at((client) => client.query('commit'));
    return { id: header.id, lines: await lines.end(), jobs: done };
  }).catch((error) => {
    throw outageAsRefusal(error);
  });
  return Promise.race([exporting, failed]);
}
