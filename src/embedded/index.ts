import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { type Cluster, ensureCluster, locateCluster, removeRemains } from './cluster.ts';
import { EmbeddedError, instead, inUse, messageOf } from './errors.ts';
import { becomeOwner, connect, createDatabase, type Owner, own, socketUrlOf, urlOf } from './owner.ts';
import { startServer } from './server.ts';
import { chooseUser } from './user.ts';

export { EmbeddedError } from './errors.ts';

export interface EmbeddedPostgres {
  /** postgres://... of the database `dibs`, as a superuser. It holds until the server ends. */
  url: string;
  /** The same, by the Unix socket of the server where it has one. */
  localUrl: string;
  /** Returns when the server has ended and its data is safe. May be called again. */
  stop(): Promise<void>;
  /** Settles when the server has ended, wanted or not. Never rejects. */
  exited: Promise<void>;
}

export interface EmbeddedOptions {
  dataDir: string;
  /** Is given each line that PostgreSQL logs, and what Dibs does with it. */
  log: (message: string) => void;
  /** More settings of PostgreSQL, as in postgresql.conf. */
  settings?: Record<string, string>;
  /** The port to listen on: its clients may know it from before. By default any free one. */
  port?: number;
}

/**
 * Starts a PostgreSQL of our own on the data under dataDir. It creates the data if there is none, and recovers it after
 * any crash. Throws an EmbeddedError, which says what to do, if PostgreSQL can't run or a living Dibs uses the data.
 */
export async function startEmbedded({
  dataDir,
  log,
  settings = {},
  port,
}: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const cluster = await locateCluster(dataDir);
  const user = chooseUser(cluster, log);
  const { native, major } = await findBinaries(user, log);
  await ensureCluster(cluster, { native, major, user, log });
  const server = await startServer({ cluster, native, user, log, settings, port });
  try {
    const owner = await own(cluster, server.port);
    if (owner === undefined) throw inUse(dataDir, undefined);
    await createDatabase(owner.client);
    await removeRemains(cluster, server.port);
    let stopping = false;
    const kept = keepOwning(owner, {
      cluster,
      port: server.port,
      log,
      wanted: () => server.isAlive() && !stopping,
    });
    const stop = async () => {
      stopping = true;
      await server.stop();
      await kept;
    };
    const url = urlOf(cluster, server.port, 'dibs');
    const localUrl = server.hasSocket ? socketUrlOf(cluster, server.port, 'dibs') : url;
    return { url, localUrl, exited: server.exited, stop };
  } catch (error) {
    await server.stop();
    if (error instanceof EmbeddedError) throw error;
    throw new EmbeddedError(
      `The embedded PostgreSQL on ${cluster.home} ended: ${messageOf(error)}. ${instead}`,
    );
  }
}

interface Ownership {
  cluster: Cluster;
  port: number;
  log: (message: string) => void;
  wanted: () => boolean;
}

/** Takes the lock again when its connection is lost but the server lives, for example after the crash of a backend. */
async function keepOwning(first: Owner, ownership: Ownership): Promise<void> {
  for (let owner: Owner | undefined = first; owner !== undefined; owner = await retake(ownership)) {
    await owner.lost;
    if (ownership.wanted())
      ownership.log('lost the connection that owns the embedded PostgreSQL; taking it again');
  }
}

/** Undefined when the lock is no longer wanted: the server has ended, or is about to. */
async function retake({ cluster, port, wanted }: Ownership): Promise<Owner | undefined> {
  while (wanted()) {
    const owner = await connect(cluster, port).catch(() => undefined);
    // If another Dibs has the lock by now, it is about to stop this server.
    if (owner !== undefined && (await becomeOwner(owner.client).catch(() => false))) return owner;
    await owner?.client.end().catch(() => {});
    await sleep(100);
  }
  return undefined;
}
