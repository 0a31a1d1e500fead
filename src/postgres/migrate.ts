import type pg from 'pg';
import { type Refusal, StartError, unavailable } from '../errors.ts';
import { addressOptions } from './address.ts';
import { rowsOf } from './client.ts';
import { DatabaseClient } from './connection.ts';
import { outageAsRefusal } from './errorClasses.ts';
import { functions } from './functions.ts';
import { latest, migrations } from './migrations.ts';
import type { Db } from './pool.ts';
import { type Grants, grant, grantedRoles } from './roles.ts';
import { BEGIN, setSession } from './session.ts';
import { planned, queryOf } from './statements.ts';
import { NoServer, sayWithoutNames } from './wrongServer.ts';

const statements = {
  server: planned('postgres/migrations_server'),
  state: planned('postgres/schema_state'),
  become: planned('postgres/become'),
  ownLacks: planned('postgres/own_lacks'),
  lock: planned('postgres/migrations_lock'),
  schema: planned('postgres/migrations_schema'),
  table: planned('postgres/migrations_table'),
  applied: planned('postgres/migrations_applied'),
  oldest: planned('postgres/migrations_oldest'),
  readiness: planned('postgres/readiness'),
  record: planned('postgres/migrations_record'),
  functionsMade: planned('postgres/functions_made'),
  recordFunction: planned('postgres/functions_record'),
};

/** The functions that the database has, each with the checksum of its text. */
export const functionsMade = async (client: pg.Client): Promise<Map<string, string>> => {
  const { rows } = await client.query<{ name: string; checksum: string }>(statements.functionsMade.text);
  return new Map(rows.map((row) => [row.name, row.checksum]));
};

/** Makes the functions that are new, or whose texts have changed since they were made. */
async function makeFunctions(client: pg.Client): Promise<void> {
  const made = await functionsMade(client);
  for (const { name, text, checksum } of functions) {
    if (made.get(name) === checksum) continue;
    await client.query(text);
    await client.query(queryOf(statements.recordFunction, { name, checksum }));
  }
}

/** @throws StartError for a server that is too old, or has another encoding than UTF8 */
async function assertServer(client: pg.Client): Promise<void> {
  const server = await client.query<{ version: number; encoding: string }>(statements.server.text);
  const { version, encoding } = server.rows[0] as { version: number; encoding: string };
  if (version < 140000) throw new StartError('Dibs needs PostgreSQL 14 or newer.');
  if (encoding !== 'UTF8')
    throw new StartError(`Dibs needs a database in UTF8, but this one is in ${encoding}.`);
}

/**
 * The last migration applied. A newer Dibs may have applied it, if that says that this one works with it.
 * @throws StartError when this one does not
 */
async function appliedVersion(client: pg.Client): Promise<number> {
  const [applied] = await rowsOf(client, statements.applied);
  const version = applied?.version ?? 0;
  const oldest = applied?.oldest ?? 0;
  if (oldest > latest)
    throw new StartError(
      `The database is at migration ${version}. It needs a Dibs that knows ${oldest}, and this one knows only ${latest}. Run a newer Dibs.`,
    );
  return version;
}

export interface SchemaState {
  role: string;
  /** Null when there is no schema yet. */
  owner: string | null;
  may_migrate: boolean;
  may_use: boolean | null;
  has_migrations: boolean;
  /** Whether its migrations say which is the oldest Dibs that works with them. */
  has_oldest: boolean;
}

/** What the database has of Dibs, and what this role may do with it. */
export const schemaState = async (client: pg.Client): Promise<SchemaState> =>
  (await client.query<SchemaState>(statements.state.text)).rows[0] as SchemaState;

async function apply(client: pg.Client, grants: Grants): Promise<string[]> {
  await client.query(BEGIN);
  await setSession(client);
  await client.query(statements.lock.text);
  // What a member of the owner, or a superuser, makes must belong to the owner too: dibs.enqueue runs with its rights.
  const { role, owner, has_migrations, has_oldest } = await schemaState(client);
  if (owner !== null && owner !== role) await client.query(queryOf(statements.become, { role: owner }));
  const held = await grantedRoles(client);
  if (owner === null) await client.query(statements.schema.text);
  await client.query(statements.table.text);
  const from = await appliedVersion(client);
  const isNewer = from > latest;
  if (has_migrations && !has_oldest) await client.query(statements.oldest.text);
  const missing = migrations.filter((m) => m.version > from);
  for (const { version, name, text, oldest } of missing) {
    await client.query(text);
    await client.query(queryOf(statements.record, { version, name, oldest }));
  }
  // A newer Dibs has made its functions, and given its rights. This one knows older ones.
  if (!isNewer) await makeFunctions(client);
  await grant(client, {
    serve: isNewer ? grants.serve : [...held.serve, ...grants.serve],
    produce: isNewer ? grants.produce : [...held.produce, ...grants.produce],
  });
  await client.query('commit');
  return missing.map((m) => m.name);
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  // A connection of its own, without a time limit: a migration may be slow, here or on a replica that holds the lock.
  const options = { ...addressOptions(url), connectionTimeoutMillis: 5000, keepAlive: true };
  const client = new DatabaseClient(url, options);
  try {
    await client.connect();
    await assertServer(client);
    return await work(client);
  } catch (error) {
    throw outageAsRefusal(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Applies the migrations that are missing, makes the functions that have changed, and gives the roles what they need,
 * all in one transaction. Returns the names of these migrations. When many replicas start at once, one does it, and the
 * others wait for its lock.
 * @throws StartError for a server that is too old, has another encoding than UTF8, or was migrated by a newer Dibs that
 * does not work with this one, and for a role that does not exist
 */
export const migrate = (url: string, grants: Grants = { serve: [], produce: [] }): Promise<string[]> =>
  withClient(url, (client) => apply(client, grants));

/** Whether a Dibs has ever used this database. */
export const hasSchema = (url: string): Promise<boolean> =>
  withClient(url, async (client) => (await schemaState(client)).has_migrations);

/** What `migrate` would do, without any change. Functions are looked at only when no migration is missing. */
export const missingFrom = (url: string): Promise<{ migrations: string[]; functions: string[] }> =>
  withClient(url, async (client) => {
    const { has_migrations } = await schemaState(client);
    const from = has_migrations ? await appliedVersion(client) : 0;
    const missing = migrations.filter(({ version }) => version > from).map(({ name }) => name);
    if (missing.length > 0 || from > latest) return { migrations: missing, functions: [] };
    const made = await functionsMade(client);
    const changed = functions.filter(({ name, checksum }) => made.get(name) !== checksum);
    return { migrations: [], functions: changed.map(({ name }) => name) };
  });

/**
 * Why a role that may not migrate cannot serve. Undefined when it can. A function whose text has changed is no reason:
 * any version of the functions serves.
 */
async function whyNotServing(client: pg.Client, state: SchemaState): Promise<string | undefined> {
  const { role } = state;
  const asOwner = state.owner === null ? 'a role that may create schemas' : `its owner ${state.owner}`;
  const then = `Run \`dibs migrate --grant-serve ${role}\` as ${asOwner}.`;
  if (!state.has_migrations)
    return `The database has no schema dibs, and the role ${role} may not create it. ${then}`;
  if (!state.may_use) return `The role ${role} may not use the schema dibs. ${then}`;
  const { lacks } = (await client.query<{ lacks: string | null }>(statements.ownLacks.text)).rows[0] ?? {};
  if (lacks) return `The role ${role} lacks what it needs to serve: ${lacks}. ${then}`;
  const version = await appliedVersion(client);
  if (version < latest)
    return `The database is at migration ${version}, this Dibs needs ${latest}, and the role ${role} may not migrate it. ${then}`;
  const made = await functionsMade(client);
  const missing = functions.filter(({ name }) => !made.has(name)).map(({ name }) => name);
  if (missing.length > 0)
    return `The database lacks functions of this Dibs (${missing.join(', ')}), and the role ${role} may not make them. ${then}`;
  return undefined;
}

/**
 * Migrates where the role of `url` may. Where it may not, looks whether somebody else did. Returns the names of the
 * migrations that were applied.
 * @throws StartError also when the schema is older than this Dibs, or the role lacks something, and cannot mend it
 */
export const migrateOrCheck = (url: string): Promise<string[]> =>
  withClient(url, async (client) => {
    const state = await schemaState(client);
    if (state.may_migrate) return apply(client, { serve: [], produce: [] });
    const reason = await whyNotServing(client, state);
    if (reason) throw new StartError(reason);
    return [];
  });

/** Why an enqueue would not work. Undefined when it would. */
export async function whyNotReady(db: Db): Promise<string | undefined> {
  const [found] = await db.query(statements.readiness).catch((refusal: Refusal) => {
    throw refusal.cause instanceof NoServer
      ? unavailable(`${sayWithoutNames(refusal.cause)} Try again later.`, 'not_done', refusal.cause)
      : refusal;
  });
  if (!found?.has_jobs) return 'There is no table dibs.jobs.';
  // A newer one is fine: replicas of two versions run side by side during an upgrade.
  if ((found.version ?? 0) < latest)
    return `The database is at migration ${found.version}, this Dibs needs ${latest}.`;
  if (found.is_read_only) return 'The database is read-only.';
  if (found.lacks) return `The role of DATABASE_URL lacks what it needs to serve: ${found.lacks}.`;
  return undefined;
}
