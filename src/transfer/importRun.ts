import { createHash } from 'node:crypto';
import type pg from 'pg';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { isDataError } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { BEGIN, setSession } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';
import type { Header, Kind, QueueLine } from './format.ts';
import { checkQueues, openQueues, reserveIds } from './importQueues.ts';
import { insertLines, learnIds, type Numbered, type Target } from './insertLines.ts';
import { FileError } from './lines.ts';

const statements = {
  begin: planned('transfer/begin'),
  come: planned('transfer/come'),
  advance: planned('transfer/advance'),
  positions: planned('transfer/reserve_positions'),
  audit: planned('access/audit_insert'),
};

/** How far an import has come. The database keeps it. */
export interface Come {
  /** The lines that are in. */
  lines: number;
  before?: number;
  newIds?: boolean;
  jobs?: number;
  skipped?: number;
  isDone?: boolean;
}

async function begin(client: pg.Client): Promise<void> {
  await client.query(BEGIN);
  await setSession(client);
}

/** How far the database says that an import has come. */
async function comeOf(client: pg.Client, key: string): Promise<Come> {
  const [row] = await rowsOf(client, statements.come, { key });
  return JSON.parse(row?.body ?? '{}') as Come;
}

/**
 * The error of lines that were not put in. It names the line that the database refuses: each is tried by itself, and
 * none stays.
 */
async function nameLine(client: pg.Client, kind: Kind, lines: Numbered[], target: Target, error: unknown) {
  if (!isDataError(error)) return error;
  for (const line of lines) {
    await begin(client);
    try {
      await insertLines(client, kind, [line], target);
    } catch (its) {
      return new FileError(line.number, `cannot be put in: ${causeOf(its)}`);
    } finally {
      await client.query('rollback');
    }
  }
  return error;
}

/** Notes an import in the audit. */
export const noteImport = (client: pg.Client, key: string, jobs: number) =>
  rowsOf(client, statements.audit, {
    actors: ['dibs import'],
    actor_ids: [null],
    verbs: ['importJobs'],
    queues: [null],
    job_ids: [null],
    schedules: [null],
    key_ids: [null],
    counts: [jobs],
    outcomes: ['done'],
    addresses: [null],
    request_ids: [key],
  });

/** One import, as `key` in the database. The batches come in the order of the file. */
export function createImport(client: pg.Client, header: Header, key: string, wanted: { newIds: boolean }) {
  let come: Come = { lines: 0 };
  const queues: QueueLine[] = [];
  const target: Target = { newIds: wanted.newIds, before: 0, ids: new Map() };

  async function inTransaction<T>(work: () => Promise<T>): Promise<T> {
    await begin(client);
    try {
      // The database decides how far the import has come: another one may have gone on with it.
      const found = await comeOf(client, key);
      if (found.lines !== come.lines) throw new StartError('Another import of this file runs.');
      const result = await work();
      await rowsOf(client, statements.advance, { key, body: JSON.stringify(come) });
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch(() => undefined);
      throw error;
    }
  }

  return {
    queues,

    /** Finds out how far an earlier import came. */
    async begin(): Promise<Come> {
      await rowsOf(client, statements.begin, {
        key,
        fingerprint: createHash('sha256').update(header.id).digest('hex'),
      });
      come = await comeOf(client, key);
      target.newIds = come.newIds ?? wanted.newIds;
      target.before = come.before ?? 0;
      return come;
    },

    /** Puts in lines of one kind. Those that are in already are left out. */
    async put(kind: Kind, lines: Numbered[]): Promise<void> {
      const missing = lines.filter(({ number }) => number > come.lines);
      if (kind === 'queue' && missing.length === 0) await learnIds(client, lines, target);
      if (missing.length === 0) return;
      const was = come;
      try {
        await inTransaction(async () => {
          if (come.before === undefined) {
            const [reserved] = await rowsOf(client, statements.positions, { positions: header.positions });
            target.before = reserved?.before ?? 0;
            come = { ...come, before: target.before, newIds: target.newIds };
          }
          const put = await insertLines(client, kind, missing, target);
          come = {
            ...come,
            lines: missing.at(-1)?.number as number,
            jobs: (come.jobs ?? 0) + (kind === 'job' ? missing.length : 0),
            skipped: (come.skipped ?? 0) + missing.length - put,
          };
        });
      } catch (error) {
        come = was;
        throw await nameLine(client, kind, missing, target, error);
      }
    },

    /** Before the queues are put in. @throws StartError when queues of this database are in the way */
    async makeWay(): Promise<void> {
      if (come.lines === 0) await checkQueues(client, queues, target.newIds);
      if (!target.newIds) await reserveIds(client, queues);
    },

    /** Lets claims have the jobs, and notes the import in the audit. */
    async finish(line: number): Promise<Come> {
      await inTransaction(async () => {
        await openQueues(client, queues);
        await noteImport(client, key, come.jobs ?? 0);
        come = { ...come, lines: line, isDone: true };
      });
      return come;
    },
  };
}
