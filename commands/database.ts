import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../src/config.ts';
import { startEmbedded } from '../src/embedded/index.ts';
import { findRunning } from '../src/embedded/running.ts';
import { isOutage, StartError } from '../src/errors.ts';
import { migrate, whyNotReady } from '../src/postgres/migrate.ts';
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

/**
 * Works on the database of the configuration, as it is. Dibs may run on it or not.
 * @throws StartError in an outage, and when the embedded one must exist and does not
 */
export async function withDatabaseUrl<T>(
  { databaseUrl, dataDir }: Config,
  { mustExist }: { mustExist: boolean },
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (databaseUrl === undefined && mustExist && !existsSync(join(dataDir, 'postgres')))
    throw new StartError(`DATABASE_URL is not set, and DATA_DIR ${dataDir} has no embedded database.`);
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

/** Works on the database of the configuration, migrated. Dibs may run on it or not. @throws StartError in an outage */
export const withDatabase = <T>(config: Config, work: (db: Database) => Promise<T>): Promise<T> =>
  withDatabaseUrl(config, { mustExist: false }, async (url) => {
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
