import { createHash } from 'node:crypto';
import type pg from 'pg';
import { StartError } from '../errors.ts';
import { rowsOf, withOwnClient } from '../postgres/client.ts';
import { isDataError, outageAsRefusal } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { BEGIN, setSession } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';
import type { Progress } from './exportTo.ts';
import { createChecker, type Header, type Kind, type QueueLine } from './format.ts';
import { insertLines, learnIds, type Numbered, type Target } from './insertLines.ts';
import { FileError, linesOf } from './lines.ts';

const statements = {
  begin: planned('transfer/begin'),
  come: planned('transfer/come'),
  advance: planned('transfer/advance'),
  taken: planned('transfer/taken'),
  positions: planned('transfer/reserve_positions'),
  reserveIds: planned('transfer/reserve_ids'),
  release: planned('transfer/release_queues'),
  notify: planned('replicas/notify'),
  audit: planned('access/audit_insert'),
};

/** A batch has at most so many lines and about so many bytes. It is one transaction. */
const MOST_LINES = 500;
const MOST_BYTES = 2 ** 20;

/** What the database keeps of an import. */
interface Come {
  /** The lines that are in. */
  lines: number;
  before?: number;
  newIds?: boolean;
  jobs?: number;
  skipped?: number;
  isDone?: boolean;
}

export interface Imported {
  jobs: number;
  /** Lines that this database had already: schedules, keys and unique windows. */
  skipped: number;
  /** Lines that an earlier import of this file had put in. */
  before: number;
}

/** Reads the whole file, and changes nothing. @throws FileError */
export async function checkFile(stream: AsyncIterable<Buffer>, progress: Progress): Promise<void> {
  const checker = createChecker();
  let jobs = 0;
  let all = 0;
  for await (const line of linesOf(stream)) {
    const parsed = checker.next(line);
    if (parsed.kind === 'header') all = parsed.jobs;
    if (parsed.kind === 'job') progress(++jobs, all);
  }
  checker.end();
}

/** Refuses queues that are in the way, before anything is written. @throws StartError */
async function checkQueues(client: pg.Client, queues: QueueLine[], newIds: boolean): Promise<void> {
  const taken = await rowsOf(client, statements.taken, {
    ids: queues.map(({ id }) => id),
    names: queues.map(({ name }) => name),
    new_ids: newIds,
  });
  if (taken.length === 0) return;
  const names = taken.slice(0, 5).map(({ name, has_jobs }) => `${name}${has_jobs ? ' (it has jobs)' : ''}`);
  const more = taken.length > 5 ? `, and ${taken.length - 5} more` : '';
  const advice = taken.some(({ has_jobs }) => has_jobs)
    ? 'Import into a database where they have no jobs'
    : 'Ids of jobs name their queue. --new-ids gives the jobs new ids; or delete these queues';
  throw new StartError(`Queues of this database are in the way: ${names.join(', ')}${more}. ${advice}.`);
}

async function begin(client: pg.Client): Promise<void> {
  await client.query(BEGIN);
  await setSession(client);
}

/** One import. The batches come in the order of the file. */
function createImport(client: pg.Client, header: Header, key: string, wanted: { newIds: boolean }) {
  let come: Come = { lines: 0 };
  const queues: QueueLine[] = [];
  const target: Target = { newIds: wanted.newIds, before: 0, ids: new Map() };

  async function inTransaction<T>(work: () => Promise<T>): Promise<T> {
    await begin(client);
    try {
      // The database decides how far the import has come: another one may have gone on with it.
      const [row] = await rowsOf(client, statements.come, { key });
      const found = JSON.parse(row?.body ?? '{}') as Come;
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

  /** Which line the database refuses. Each is tried by itself, and none stays. */
  async function refused(kind: Kind, lines: Numbered[], error: unknown): Promise<unknown> {
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

  return {
    queues,

    /** Finds out how far an earlier import came. Returns the number of lines that are in. */
    async begin(): Promise<Come> {
      await rowsOf(client, statements.begin, {
        key,
        fingerprint: createHash('sha256').update(header.id).digest('hex'),
      });
      const [row] = await rowsOf(client, statements.come, { key });
      come = JSON.parse(row?.body ?? '{}') as Come;
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
        throw await refused(kind, missing, error);
      }
    },

    checkQueues: () => (come.lines > 0 ? undefined : checkQueues(client, queues, target.newIds)),

    async reserveIds(): Promise<void> {
      const last = queues.reduce((last, { id }) => Math.max(last, id), 0);
      if (!target.newIds && last > 0) await rowsOf(client, statements.reserveIds, { last });
    },

    /** Lets the queues hand out jobs, and notes the import in the audit. */
    async finish(line: number): Promise<Come> {
      await inTransaction(async () => {
        await rowsOf(client, statements.release, {
          names: queues.map(({ name }) => name),
          paused: queues.map(({ paused }) => paused),
        });
        await rowsOf(client, statements.audit, {
          actors: ['dibs import'],
          actor_ids: [null],
          verbs: ['importJobs'],
          queues: [null],
          job_ids: [null],
          schedules: [null],
          key_ids: [null],
          counts: [come.jobs ?? 0],
          outcomes: ['done'],
          addresses: [null],
          request_ids: [key],
        });
        for (let at = 0; at < queues.length; at += MOST_LINES)
          await rowsOf(client, statements.notify, {
            messages: queues.slice(at, at + MOST_LINES).map(({ name }) => `ready sql ${name}`),
          });
        come = { ...come, lines: line, isDone: true };
      });
      return come;
    },
  };
}

/**
 * Puts the lines of an export into a database that is migrated. Each batch is a transaction that also notes how far the import
 * has come. So an import of the same file goes on where one before it ended, and puts in nothing twice. Until the end, the
 * queues are paused.
 * @throws FileError
 */
export function importFrom(
  stream: AsyncIterable<Buffer>,
  { url, newIds, progress }: { url: string; newIds: boolean; progress: Progress },
): Promise<Imported> {
  return withOwnClient(url, { application_name: 'dibs import' }, async (client) => {
    const checker = createChecker();
    let running: ReturnType<typeof createImport> | undefined;
    let result: Come = { lines: 0 };
    let inBefore = 0;
    let all = 0;
    let jobs = 0;
    let kind: Kind | undefined;
    let lines: Numbered[] = [];
    let bytes = 0;

    async function flush(next: string): Promise<void> {
      // The queues come in one batch: none is written when one of them is in the way.
      const isFull = lines.length >= MOST_LINES || bytes >= MOST_BYTES;
      if (kind === next && (kind === 'queue' || !isFull)) return;
      if (kind === 'queue') {
        await running?.checkQueues();
        await running?.reserveIds();
      }
      if (kind !== undefined && lines.length > 0) await running?.put(kind, lines);
      if (kind === 'job') progress(jobs, all);
      kind = next as Kind;
      lines = [];
      bytes = 0;
    }

    for await (const line of linesOf(stream)) {
      const parsed = checker.next(line);
      if (parsed.kind === 'header') {
        all = parsed.jobs;
        running = createImport(client, parsed, parsed.id, { newIds });
        result = await running.begin();
        inBefore = result.lines;
        if (result.isDone) break;
        continue;
      }
      await flush(parsed.kind);
      if (parsed.kind === 'end') {
        result = (await running?.finish(line.number)) ?? result;
        continue;
      }
      if (parsed.kind === 'queue') running?.queues.push(parsed);
      if (parsed.kind === 'job') jobs++;
      lines.push({ number: line.number, text: line.bytes.toString() });
      bytes += line.bytes.length;
    }
    if (!result.isDone) checker.end();
    return { jobs: result.jobs ?? 0, skipped: result.skipped ?? 0, before: inBefore };
  }).catch((error) => {
    throw outageAsRefusal(error);
  });
}
