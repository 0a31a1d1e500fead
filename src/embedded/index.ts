import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { type Cluster, ensureCluster, locateCluster, removeRemains } from './cluster.ts';
import { EmbeddedError, instead, inUse, messageOf } from './errors.ts';
import { becomeOwner, connect, createDatabase, type Owner, own, urlOf } from './owner.ts';
import { startServer } from './server.ts';
import { chooseUser } from './user.ts';

export { EmbeddedError } from './errors.ts';

export interface EmbeddedPostgres {
  /** postgres://... of the database `dibs`, as a superuser; good until the server ends. */
  url: string;
  /** Returns when the server has ended, its data safe; may be called again. */
  stop(): Promise<void>;
  /** Settles when the server has ended, wanted or not; never rejects. */
  exited: Promise<void>;
}

export interface EmbeddedOptions {
  dataDir: string;
  /** Gets each line that PostgreSQL says, and what we do about it. */
  log: (message: string) => void;
  /** Settings of PostgreSQL beyond ours, as in postgresql.conf. */
  settings?: Record<string, string>;
  /** Where to listen, as when its clients know the port from before; any free one by default. */
  port?: number;
}

/**
 * Starts a PostgreSQL of our own on the data under dataDir, created if there is none and recovered after any crash;
 * throws an EmbeddedError, which says what to do, if it can't run or if a living Dibs uses the data.
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
    await removeRemains(cluster);
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
    return { url: urlOf(cluster, server.port, 'dibs'), exited: server.exited, stop };
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

/** Takes the lock again whenever its connection is lost though the server lives on, as when a backend crashes. */
async function keepOwning(first: Owner, ownership: Ownership): Promise<void> {
  for (let owner: Owner | undefined = first; owner !== undefined; owner = await retake(ownership)) {
    await owner.lost;
    if (ownership.wanted())
      ownership.log('lost the connection that owns the embedded PostgreSQL; taking it again');
  }
}

/** Undefined when it is no longer wanted: the server has ended, or is about to. */
async function retake({ cluster, port, wanted }: Ownership): Promise<Owner | undefined> {
  while (wanted()) {
    const owner = await connect(cluster, port).catch(() => undefined);
    // Should another Dibs have the lock by now, that one is about to stop this server.
    if (owner !== undefined && (await becomeOwner(owner.client).catch(() => false))) return owner;
    await owner?.client.end().catch(() => {});
    await sleep(100);
  }
  return undefined;
}
