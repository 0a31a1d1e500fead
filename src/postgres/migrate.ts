import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { StartError } from '../errors.ts';
import { addressOptions } from './connection.ts';
import { outageAsRefusal } from './errorClasses.ts';
import { functions } from './functions.ts';
import type { Db } from './pool.ts';
import { planned, queryOf, row } from './statements.ts';

const folder = new URL('../../sql/migrations/', import.meta.url);
const statements = {
  server: planned('postgres/migrations_server'),
  lock: planned('postgres/migrations_lock'),
  table: planned('postgres/migrations_table'),
  applied: planned('postgres/migrations_applied', row<{ version: number | null }>()),
  readiness: planned('postgres/readiness'),
  record: planned('postgres/migrations_record'),
  functionsMade: planned('postgres/functions_made'),
  recordFunction: planned('postgres/functions_record'),
};

interface Migration {
  version: number;
  name: string;
  text: string;
}

const migrations: Migration[] = readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => ({
    version: Number.parseInt(file, 10),
    name: file.slice(0, -'.sql'.length),
    text: readFileSync(new URL(file, folder), 'utf8'),
  }));

const latest = migrations.at(-1)?.version ?? 0;

/** Makes the functions that are new, or whose texts have changed since they were made. */
async function makeFunctions(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; checksum: string }>(statements.functionsMade.text);
  const made = new Map(rows.map((row) => [row.name, row.checksum]));
  for (const { name, text, checksum } of functions) {
    if (made.get(name) === checksum) continue;
    await client.query(text);
    await client.query(queryOf(statements.recordFunction, { name, checksum }));
  }
}

async function apply(client: pg.Client): Promise<string[]> {
  const server = await client.query<{ version: number; encoding: string }>(statements.server.text);
  const { version, encoding } = server.rows[0] as { version: number; encoding: string };
  if (version < 140000) throw new StartError('Dibs needs PostgreSQL 14 or newer.');
  if (encoding !== 'UTF8')
    throw new StartError(`Dibs needs a database in UTF8, but this one is in ${encoding}.`);

  await client.query('begin');
  await client.query(statements.lock.text);
  await client.query(statements.table.text);
  const applied = await client.query<{ version: number | null }>(statements.applied.text);
  const from = applied.rows[0]?.version ?? 0;
  if (from > latest)
    throw new StartError(
      `The database is at migration ${from}, but this Dibs knows only ${latest}. Run a newer Dibs.`,
    );
  const missing = migrations.filter((m) => m.version > from);
  for (const { version, name, text } of missing) {
    await client.query(text);
    await client.query(queryOf(statements.record, { version, name }));
  }
  await makeFunctions(client);
  await client.query('commit');
  return missing.map((m) => m.name);
}

/**
 * Applies the migrations that are missing and makes the functions that have changed, all in one transaction. Returns
 * the names of these migrations. When many replicas start at once, one does it, and the others wait for its lock.
 * @throws Error for a server that is too old, has another encoding than UTF8, or was migrated by a newer Dibs
 */
export async function migrate(url: string): Promise<string[]> {
  // A connection of its own, without a time limit: a migration may be slow, here or on a replica that holds the lock.
  const client = new pg.Client({ ...addressOptions(url), connectionTimeoutMillis: 5000, keepAlive: true });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await apply(client);
  } catch (error) {
    throw outageAsRefusal(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Why an enqueue would not work. Undefined when it would. */
export async function whyNotReady(db: Db): Promise<string | undefined> {
  const [found] = await db.query(statements.readiness);
  if (!found?.has_jobs) return 'There is no table dibs.jobs.';
  // A newer one is fine: replicas of two versions run side by side during an upgrade.
  if ((found.version ?? 0) < latest)
    return `The database is at migration ${found.version}, this Dibs needs ${latest}.`;
  if (found.is_read_only) return 'The database is read-only.';
  if (!found.may_write) return 'The role of DATABASE_URL may not write to dibs.jobs.';
  return undefined;
}
