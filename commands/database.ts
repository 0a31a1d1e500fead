import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../src/config.ts';
import type { Databases } from '../src/databases/clients.ts';
import { joined } from '../src/databases/joined.ts';
import { startEmbedded } from '../src/embedded/index.ts';
import { findRunning } from '../src/embedded/running.ts';
import { isOutage, StartError } from '../src/errors.ts';
import { hasSchema, migrate, whyNotReady } from '../src/postgres/migrate.ts';
import { causeOf } from '../src/postgres/outageLog.ts';
import { type Database, openDatabase } from '../src/postgres/pool.ts';

const CONNECTIONS = 2;

/** The embedded PostgreSQL: of the Dibs that runs, or for this command only. */
async function embedded(dataDir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const url = await findRunning(dataDir);
  return url === undefined
    ? startEmbedded({ dataDir, log: () => undefined })
    : { url, stop: async () => undefined };
}

/** Whether a command may make what is not there: the embedded database, or the schema in another one. */
interface Making {
  mayCreate: boolean;
}

/** A command that is meant for a Dibs must not make a database beside it. */
const missing = (where: string) =>
  new StartError(
    `${where} Name the DATABASE_URL or the DATA_DIR of the Dibs that you mean. To make a new database, start Dibs on it, or add ` +
      '--create to `dibs keys create` or `dibs import`.',
  );

/** @throws StartError when no Dibs has used the database yet */
export async function checkUsed({ databaseUrl }: Config, url: string, { mayCreate }: Making): Promise<void> {
  if (mayCreate || (await hasSchema(url))) return;
  throw missing(
    databaseUrl === undefined
      ? 'The embedded database has no schema of Dibs.'
      : 'No Dibs has used the database of DATABASE_URL yet.',
  );
}

/**
 * Works on the database of the configuration, as it is. Dibs may run on it or not.
 * @throws StartError in an outage, and when the embedded one is not there and must not be made
 */
export async function withDatabaseUrl<T>(
  { databaseUrl, dataDir }: Config,
  { mayCreate }: Making,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (databaseUrl === undefined && !mayCreate && !existsSync(join(dataDir, 'postgres')))
    throw missing(`DATABASE_URL is not set, and DATA_DIR ${dataDir} has no embedded database.`);
  const server = databaseUrl === undefined ? await embedded(dataDir) : undefined;
  try {
    return await work(databaseUrl ?? (server?.url as string));
  } catch (error) {
    const { cause } = error as Error;
    if (!isOutage(error) || cause === undefined) throw error;
    throw new StartError(`The database cannot serve: ${causeOf(cause)}.`);
  } finally {
    await server?.stop();
  }
}

/** Works on the database of the configuration, migrated. Dibs may run on it or not. @throws StartError as the others do */
export const withDatabase = <T>(
  config: Config,
  making: Making,
  work: (db: Database) => Promise<T>,
): Promise<T> =>
  withDatabaseUrl(config, making, async (url) => {
    await checkUsed(config, url, making);
    const db = openDatabase(url, CONNECTIONS);
    try {
      // A database that no Dibs has seen has not even the tables that say so.
      const reason = await whyNotReady(db).catch(() => 'unknown');
      if (reason !== undefined) await migrate(url);
      return await work(db);
    } finally {
      await db.close();
    }
  });

/**
 * Works on all databases of the configuration, migrated, for what puts something into them. New ones become those of this Dibs.
 * @throws StartError as the others do, and when they do not belong together
 */
export const withJoined = <T>(
  config: Config,
  making: Making,
  work: (databases: Databases) => Promise<T>,
): Promise<T> =>
  withDatabaseUrl(config, making, async (url) => {
    const others = config.otherDatabases;
    await checkUsed(config, url, making);
    await joined(url, others);
    return work({ url, others });
  });
