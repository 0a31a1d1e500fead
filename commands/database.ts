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

/** Works on the database of the configuration, migrated. Dibs may run on it or not. @throws StartError in an outage */
export async function withDatabase<T>(config: Config, work: (db: Database) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = config;
  const server = databaseUrl === undefined ? await embedded(dataDir) : undefined;
  const url = databaseUrl ?? (server?.url as string);
  const db = openDatabase(url, CONNECTIONS);
  try {
    // A database that no Dibs has seen has not even the tables that say so.
    const reason = await whyNotReady(db).catch(() => 'unknown');
    if (reason !== undefined) await migrate(url);
    return await work(db);
  } catch (error) {
    const { cause } = error as Error;
    if (!isOutage(error) || cause === undefined) throw error;
    throw new StartError(`The database cannot serve: ${causeOf(cause)}.`);
  } finally {
    await db.close();
    await server?.stop();
  }
}
