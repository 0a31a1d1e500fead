import type { Config } from '../src/config.ts';
import { startEmbedded } from '../src/embedded/index.ts';
import { findRunning } from '../src/embedded/running.ts';
import { migrate, whyNotReady } from '../src/postgres/migrate.ts';
import { type Database, openDatabase } from '../src/postgres/pool.ts';

const CONNECTIONS = 2;

/** The embedded PostgreSQL: of the Dibs that runs, or for this command only. */
async function embedded(dataDir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const url = await findRunning(dataDir);
  return url === undefined
    ? startEmbedded({ dataDir, log: () => undefined })
    : { url, stop: async () => undefined };
}

/** Works on the database of the configuration, migrated. Dibs may run on it or not. */
export async function withDatabase<T>(config: Config, work: (db: Database) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = config;
  const server = databaseUrl === undefined ? await embedded(dataDir) : undefined;
  const url = databaseUrl ?? (server?.url as string);
  const db = openDatabase(url, CONNECTIONS);
  try {
    if ((await whyNotReady(db)) !== undefined) await migrate(url);
    return await work(db);
  } finally {
    await db.close();
    await server?.stop();
  }
}
