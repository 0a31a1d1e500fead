import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { StartError } from '../errors.ts';
import { rowsOf, withOwnClient } from '../postgres/client.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import { schemaState } from '../postgres/migrate.ts';
import { latest } from '../postgres/migrations.ts';
import { setSession } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';
import { version } from '../version.ts';
import { copyOut } from './copyOut.ts';
import type { End, Header } from './format.ts';

const statements = {
  applied: planned('postgres/migrations_applied'),
  limit: planned('postgres/time_limit'),
  header: planned('transfer/header'),
  queues: planned('transfer/export_queues'),
  keys: planned('transfer/export_keys'),
  windows: planned('transfer/export_windows'),
  jobs: planned('transfer/export_jobs'),
  schedules: planned('transfer/export_schedules'),
};

export interface Exported {
  id: string;
  lines: number;
  jobs: number;
}

/** Is told how many of all jobs are done. */
export type Progress = (done: number, all: number) => void;

/**
 * Writes everything that belongs to the queues into `out`, as it is at one moment, whatever happens meanwhile. It holds
 * a snapshot for that time, so autovacuum waits for it.
 * @throws StartError when the schema is not that of this Dibs
 */
export async function exportTo(
  out: Writable,
  { url, withKeys, progress }: { url: string; withKeys: boolean; progress: Progress },
): Promise<Exported> {
  const hash = createHash('sha256');
  let lines = 0;
  const failed = new Promise<never>((_, reject) => out.once('error', reject));
  failed.catch(() => undefined);
  const note = (line: Buffer) => {
    hash.update(line);
    lines++;
  };
  const exporting = withOwnClient(url, { application_name: 'dibs export' }, async (client) => {
    // When the reader is gone, the server would wait for it, and this process for the server. So the connection is
    // closed.
    const { connection } = client as unknown as { connection: { stream: Socket } };
    out.once('error', () => connection.stream.destroy());
    const { has_migrations } = await schemaState(client);
    const [applied] = has_migrations ? await rowsOf(client, statements.applied) : [];
    if (applied?.version !== latest)
      throw new StartError(
        `The database is at migration ${applied?.version ?? 0}, and this Dibs knows ${latest}. Use the Dibs that serves it.`,
      );
    // While a slow reader reads, the transaction is open and idle. The server must not end it for that.
    await client.query(
      'begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0',
    );
    await setSession(client);
    await rowsOf(client, statements.limit, { statement_timeout: '0', lock_timeout: null });
    const [first] = await rowsOf(client, statements.header, { version });
    const header = JSON.parse(first?.line ?? '') as Header;
    const line = Buffer.from(`${first?.line}\n`);
    note(line);
    out.write(line);
    const copy = ({ text }: { text: string }, wrote = note) => copyOut(client, text, out, wrote);
    await copy(statements.queues);
    if (withKeys) await copy(statements.keys);
    await copy(statements.windows);
    let done = 0;
    await copy(statements.jobs, (job) => {
      note(job);
      progress(++done, header.jobs);
    });
    await copy(statements.schedules);
    await client.query('commit');
    const end: End = { kind: 'end', lines, sha256: hash.digest('hex') };
    if (!out.write(`${JSON.stringify(end)}\n`)) await once(out, 'drain');
    return { id: header.id, lines: lines + 1, jobs: done };
  }).catch((error) => {
    throw outageAsRefusal(error);
  });
  return Promise.race([exporting, failed]);
}
