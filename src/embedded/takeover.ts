import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Cluster } from './cluster.ts';
import { EmbeddedError, errorCode, instead, inUse, messageOf } from './errors.ts';
import { becomeOwner, connect, findOwner } from './owner.ts';
import { disarmPidFile, isServerOf, type PidFile, readPidFile } from './pidfile.ts';
import { endProcess } from './stop.ts';
import type { RunAs } from './user.ts';

interface Way {
  cluster: Cluster;
  user: RunAs | undefined;
  log: (message: string) => void;
}

/** Returns when no server runs on the data. Ends the server of a killed Dibs. Throws if a living Dibs owns it. */
export async function clearTheWay(way: Way): Promise<void> {
  const { cluster, user } = way;
  const found = readPidFile(cluster);
  if (found === undefined) return;
  if (found.pid === 0) await sleep(2_000);
  if (isServerOf(found.pid, cluster, user)) await endElsewhere(way, found.pid);
  else disarmPidFile(cluster, found.pid);
}

async function endElsewhere(way: Way, pid: number): Promise<void> {
  const { cluster, user, log } = way;
  const client = await reach(way, pid);
  if (client === undefined) return;
  try {
    await assertOrphan(cluster, client);
    log(`stopping the PostgreSQL (pid ${pid}) that a killed Dibs has left running`);
    // We keep the lock until the server is gone.
    await endProcess(pid, () => isServerOf(pid, cluster, user));
  } catch (error) {
    if (error instanceof EmbeddedError) throw error;
    // Its own Dibs may have stopped it meanwhile. If not, our server does not start, and we come back here.
    log(`the PostgreSQL (pid ${pid}) that ran on ${cluster.home}: ${messageOf(error)}`);
  } finally {
    await client.end().catch(() => {});
  }
}

async function assertOrphan({ dataDir }: Cluster, client: pg.Client): Promise<void> {
  // Its Dibs may be about to take the lock: it just started the server, or lost its connection by a backend's crash. Or it was
  // just killed, and the server has not noticed yet.
  await sleep(1_500);
  if (await becomeOwner(client)) return;
  throw inUse(dataDir, await findOwner(client));
}

/** Connects when the server answers, however long its recovery takes. Undefined when the server has ended instead. */
async function reach({ cluster, user, log }: Way, pid: number): Promise<pg.Client | undefined> {
  let triesLeft = 60;
  for (let told = false; isServerOf(pid, cluster, user); await sleep(200)) {
    const file: PidFile | undefined = readPidFile(cluster);
    if (file?.pid !== pid) continue;
    try {
      return (await connect(cluster, file.port)).client;
    } catch (error) {
      const code = errorCode(error);
      if (code === '53300') throw inUse(cluster.dataDir, undefined);
      if (code === '28P01') throw stranger(cluster, pid, messageOf(error));
      // 57P03: the server is starting, recovering or shutting down, so it is alive.
      if (code !== '57P03' && --triesLeft === 0) throw stranger(cluster, pid, messageOf(error));
      if (!told)
        log(`waiting for the PostgreSQL (pid ${pid}) that runs on ${cluster.home}: ${messageOf(error)}`);
      told = true;
    }
  }
  return undefined;
}

function stranger({ home }: Cluster, pid: number, reason: string): EmbeddedError {
  return new EmbeddedError(
    `A PostgreSQL server (pid ${pid}) runs on ${home}, but doesn't let Dibs in: ${reason}. Stop it, or choose another DATA_DIR. ${instead}`,
  );
}
