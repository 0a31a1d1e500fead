import pg from 'pg';
import { StartError } from '../errors.ts';
import { rowsOf, withOwnClient } from '../postgres/client.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { setSession } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';
import { SOURCES, type Source, type SourceName } from './sources.ts';

const look = planned('transfer/source_look');
const takeSchema = planned('transfer/source_schema');

/** So many jobs are held at once. Each may have a large payload. */
const TOGETHER = 100;

/** PostgreSQL says so of a statement that does not fit the tables: a table, a column, a function or a value is missing. */
const MISFITS = ['42P01', '42703', '42883', '42804', '22P02'];

/** Where the jobs of another queue are. */
export interface Place {
  from: SourceName;
  url: string;
  schema?: string | undefined;
  /** A version of its schema that Dibs does not know, and that is taken all the same. */
  version?: number | undefined;
}

/** How many jobs of a queue have a state there, and which state they get here. None: they stay. */
export interface SourceCount {
  queue: string;
  was: string;
  becomes: 'ready' | 'scheduled' | 'dead' | null;
  jobs: number;
}

/** A job of another queue, with texts of JSON. */
export interface SourceJob {
  source_id: string;
  queue: string;
  becomes: 'ready' | 'scheduled' | 'dead';
  priority: number;
  attempt: number;
  max_attempts: number;
  run_at: string;
  created_at: string;
  last_error: string | null;
  headers: Record<string, string | null>;
  payload: string;
}

/** What one moment of another queue has. */
export interface SourceReader {
  /** Names this queue: no other one, in no other database, has this name. */
  name: string;
  counts: SourceCount[];
  /** The jobs that do not stay, in the order in which they were to run. */
  batches(): AsyncGenerator<SourceJob[]>;
}

async function checkVersion(client: pg.Client, source: Source, { version }: Place, hasVersions: boolean) {
  if (!hasVersions) return;
  const { rows } = await client.query<{ version: number | null }>(source.versionSql);
  const found = rows[0]?.version ?? undefined;
  const [first, last] = source.known;
  if (found === undefined || found === version || (found >= first && found <= last)) return;
  const advice =
    found < first
      ? `Migrate ${source.title} first.`
      : `Use a newer Dibs. If the table ${source.jobs} is as before, add --source-version ${found}.`;
  throw new StartError(
    `The schema of ${source.title} has version ${found}. This Dibs knows ${first} to ${last}. ${advice}`,
  );
}

async function readerOf(client: pg.Client, place: Place): Promise<SourceReader> {
  const source: Source = SOURCES[place.from];
  const schema = place.schema ?? source.schema;
  await setSession(client);
  await rowsOf(client, takeSchema, { schema });
  const [found] = await rowsOf(client, look, { jobs: source.jobs, versions: source.versions });
  if (!found?.has_jobs)
    throw new StartError(
      `The database of --url has no jobs of ${source.title}: there is no table ${schema}.${source.jobs}. ` +
        'Name its database with --url, and its schema with --schema.',
    );
  await checkVersion(client, source, place, found.has_versions ?? false);
  const { rows: counts } = await client.query<SourceCount>(source.countsSql);
  return {
    name: `${place.from} ${found.place}`,
    counts,
    async *batches() {
      await client.query(source.cursorSql);
      for (;;) {
        const { rows } = await client.query<SourceJob>(`fetch ${TOGETHER} from jobs`);
        if (rows.length === 0) return;
        yield rows;
      }
    },
  };
}

/** What is wrong with the place of a source, in a line that does not tell its password. */
function inWords(error: unknown, { from }: Place): unknown {
  if (!(error instanceof pg.DatabaseError) || !MISFITS.includes(error.code ?? '')) return error;
  const { title } = SOURCES[from];
  return new StartError(
    `The tables there are not those of a ${title} that this Dibs knows: ${error.message}.`,
  );
}

/**
 * Reads the jobs of another queue, as they are at one moment. It changes nothing there: the transaction is read-only.
 * @throws StartError when they cannot be read
 */
export async function withSource<T>(place: Place, work: (reader: SourceReader) => Promise<T>): Promise<T> {
  let isOpen = false;
  try {
    return await withOwnClient(place.url, { application_name: 'dibs import' }, async (client) => {
      isOpen = true;
      await client.query(
        'begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0',
      );
      const reader = await readerOf(client, place).catch((error) => {
        throw inWords(error, place);
      });
      const result = await work(reader);
      await client.query('commit');
      return result;
    });
  } catch (error) {
    if (isOpen && outageAsRefusal(error) === error) throw error;
    const what = isOpen ? 'stopped serving' : 'cannot be reached';
    throw new StartError(`The database of --url ${what}: ${causeOf(error)}.`);
  }
}
