import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Connected } from '../databases/clients.ts';
import { StartError } from '../errors.ts';
import { rowsOf } from '../postgres/client.ts';
import { isDataError } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { planned } from '../postgres/statements.ts';
import type { Receive } from '../relay/receive.ts';
import type { Header, Kind, QueueLine } from './format.ts';
import { beginTransaction, type Come, keptCome } from './importCome.ts';
import { catchUpPauses, openQueues } from './importQueues.ts';
import { forgetSource, receiveLines } from './importRelayed.ts';
import { type Inserted, insertLines, type Numbered, type Target } from './insertLines.ts';
import { FileError } from './lines.ts';

const statements = {
  positions: planned('transfer/reserve_positions'),
  audit: planned('access/audit_insert'),
};

/**
 * The error of lines that were not put in. It names the line that the database refuses: each is tried by itself, and
 * none stays.
 */
async function nameLine(
  client: pg.Client,
  kind: Inserted,
  lines: Numbered[],
  target: Target,
  error: unknown,
) {
  for (const line of lines) {
    await beginTransaction(client);
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
    databases: [null],
    counts: [jobs],
    outcomes: ['done'],
    addresses: [null],
    request_ids: [key],
    details: ['{}'],
  });

const JOBS: Kind[] = ['job', 'relay'];

const fingerprintOf = (numbers: Iterable<number>) =>
  createHash('sha256')
    .update([...numbers].sort().join())
    .digest('hex');

/** An import into one of the databases. The batches come in the order of the file. */
export function createRun({ name, client, at }: Connected, header: Header, receive: () => Receive) {
  const key = header.id;
  const come = keptCome(client, key);
  const target: Target = { before: 0, ids: new Map(), allIds: new Map() };
  let queues: QueueLine[] = [];

  async function insert(kind: Kind, lines: Numbered[]): Promise<number> {
    if (kind !== 'relay') return insertLines(client, kind, lines, target);
    const nameOf = (queueId: number) =>
      queues.find(({ id }) => target.ids.get(id) === queueId)?.name as string;
    await receiveLines(client, receive(), { key, lines, target, nameOf });
    return lines.length;
  }

  /** The place in the order of arrival that is reserved for this import. */
  async function reserve({ before }: Come): Promise<number> {
    if (before !== undefined) return before;
    const [reserved] = await rowsOf(client, statements.positions, { positions: header.positions });
    return reserved?.before ?? 0;
  }

  async function put(kind: Kind, all: Numbered[], last: number): Promise<void> {
    const lines = all.filter(({ number }) => number > come.now().lines);
    if (last <= come.now().lines) return;
    const putIn = async (was: Come): Promise<Come> => {
      target.before = await reserve(was);
      const count = lines.length === 0 ? 0 : await insert(kind, lines);
      return {
        ...was,
        before: target.before,
        lines: last,
        jobs: (was.jobs ?? 0) + (JOBS.includes(kind) ? lines.length : 0),
        skipped: (was.skipped ?? 0) + lines.length - count,
        queues: fingerprintOf(target.ids.values()),
      };
    };
    await come.advance(putIn).catch(async (error) => {
      if (kind === 'relay' || !isDataError(error)) throw error;
      throw await nameLine(client, kind, lines, target, error);
    });
  }

  return {
    name,
    come: come.now,
    begin: (): Promise<void> => at(come.begin),

    /** Its queues were deleted. */
    beginAnew: (): Promise<void> =>
      at(async () => {
        await forgetSource(client, key);
        await come.beginAnew();
      }),

    /** Puts in lines of one kind, up to the line `last` of the file. Those that are in already are left out. */
    put: (kind: Kind, lines: Numbered[], last: number): Promise<void> => at(() => put(kind, lines, last)),

    /**
     * Puts in the queues that go into this database. `ids`: the numbers that they have in the export, and here.
     * `allIds`: those of the queues in all databases.
     * @throws StartError when an earlier import had put in others
     */
    async putQueues(
      own: QueueLine[],
      { ids, allIds }: Pick<Target, 'ids' | 'allIds'>,
      lines: Numbered[],
      last: number,
    ) {
      const before = come.now().queues;
      if (before !== undefined && before !== fingerprintOf(ids.values()))
        throw new StartError(
          `Queues of this import were deleted, or moved from or to "${name}", after it had begun. It cannot go on.`,
        );
      queues = own;
      target.ids = ids;
      target.allIds = allIds;
      await at(() => put('queue', lines, last));
    },

    /** Lets claims have the jobs. `jobs`: how many are noted in the audit of this database. */
    finish: (line: number, jobs?: number): Promise<void> =>
      at(async () => {
        if (come.now().isDone) return;
        await come.advance(async (was) => {
          await catchUpPauses(client, queues);
          await openQueues(client, queues);
          await forgetSource(client, key);
          if (jobs !== undefined) await noteImport(client, key, jobs);
          return { ...was, lines: line, isDone: true };
        });
      }),
  };
}

export type Run = ReturnType<typeof createRun>;
