import { createHash } from 'node:crypto';
import type pg from 'pg';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { BEGIN, setSession } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';

const statements = {
  begin: planned('transfer/begin'),
  come: planned('transfer/come'),
  beginAnew: planned('transfer/begin_anew'),
  advance: planned('transfer/advance'),
};

/** How far an import into a database has come. The database keeps it. */
export interface Come {
  /** The number of the last line that is in. Those before it are in, too, or in other databases. */
  lines: number;
  /** What is added to the positions of the export. */
  before?: number;
  jobs?: number;
  skipped?: number;
  /** Tells the queues of this database from others. */
  queues?: string;
  isDone?: boolean;
}

/** Begins a transaction of an import. */
export async function beginTransaction(client: pg.Client): Promise<void> {
  await client.query(BEGIN);
  await setSession(client);
}

/** How far the import `key` has come in a database. */
export function keptCome(client: pg.Client, key: string) {
  let come: Come = { lines: 0 };

  async function read(): Promise<Come> {
    const [row] = await rowsOf(client, statements.come, { key });
    return JSON.parse(row?.body ?? '{}') as Come;
  }

  return {
    now: (): Come => come,

    /** Finds out how far an earlier import came. */
    async begin(): Promise<void> {
      const fingerprint = createHash('sha256').update(key).digest('hex');
      await rowsOf(client, statements.begin, { key, fingerprint });
      come = await read();
    },

    /** Forgets how far it has come. */
    async beginAnew(): Promise<void> {
      await rowsOf(client, statements.beginAnew, { key });
      come = await read();
    },

    /** Runs `work` in one transaction with the note how far the import has come then: what `work` returns. */
    async advance(work: (come: Come) => Promise<Come>): Promise<void> {
      await beginTransaction(client);
      try {
        // The database decides how far the import has come: another one may have gone on with it.
        const found = await read();
        if (found.lines !== come.lines) throw new StartError('Another import of this file runs.');
        const next = await work(come);
        await rowsOf(client, statements.advance, { key, body: JSON.stringify(next) });
        await client.query('commit');
        come = next;
      } catch (error) {
        await client.query('rollback').catch(() => undefined);
        throw error;
      }
    },
  };
}
