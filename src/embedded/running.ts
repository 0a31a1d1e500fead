import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Cluster, locateCluster } from './cluster.ts';
import { EmbeddedError, messageOf } from './errors.ts';
import { urlOf } from './owner.ts';
import { readPidFile } from './pidfile.ts';

const RETRY_MS = 200;
/** A server that has just been started takes so long until it is ready, or longer after a crash. */
const PATIENCE_MS = 5000;

function addressOf(cluster: Cluster): { url?: string; isStarting: boolean } {
  const file = readPidFile(cluster);
  if (!file?.ready || file.port === 0) return { isStarting: file !== undefined };
  return { url: urlOf(cluster, file.port, 'dibs'), isStarting: false };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The URL of the embedded PostgreSQL that a Dibs runs on this DATA_DIR now. Undefined when none runs. */
export async function findRunning(dataDir: string): Promise<string | undefined> {
  const cluster = await locateCluster(dataDir);
  try {
    for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await sleep(RETRY_MS)) {
      const { url, isStarting } = addressOf(cluster);
      if (url !== undefined) return (await answers(url)) ? url : undefined;
      if (!isStarting) return undefined;
    }
    return undefined;
  } catch (error) {
    throw new EmbeddedError(
      `The PostgreSQL under DATA_DIR ${dataDir} cannot be reached: ${messageOf(error)}.`,
    );
  }
}
