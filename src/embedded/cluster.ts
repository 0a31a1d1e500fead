import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lchownSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { chown, mkdir, mkdtemp, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedError, errorCode, instead, messageOf } from './errors.ts';
import { bareEnv, type RunAs, shellSucceeds } from './user.ts';

/** One directory with the data and the password that opens it, so that one rename creates both. */
export interface Cluster {
  /** The path as the operator wrote it, for messages. */
  dataDir: string;
  home: string;
  data: string;
  password: string;
}

/** The paths of the cluster below DATA_DIR. Creates DATA_DIR if necessary. There may be no cluster yet. */
export async function locateCluster(dataDir: string): Promise<Cluster> {
  try {
    await mkdir(dataDir, { recursive: true });
    return { dataDir, ...pathsIn(join(realpathSync(dataDir), 'postgres')) };
  } catch (error) {
    throw new EmbeddedError(`DATA_DIR ${dataDir} can't be created: ${messageOf(error)}. ${instead}`);
  }
}

function pathsIn(home: string) {
  return { home, data: join(home, 'data'), password: join(home, 'password') };
}

interface Tools {
  native: string;
  major: string;
  user: RunAs | undefined;
  log: (message: string) => void;
}

/** Creates the cluster if there is none. Never leaves half of one. Two services may do it at once. */
export async function ensureCluster(cluster: Cluster, tools: Tools): Promise<void> {
  if (isEmpty(cluster.home)) await create(cluster, tools);
  check(cluster, tools.major);
  if (tools.user !== undefined && statSync(cluster.data).uid === 0) giveTo(cluster.home, tools.user);
}

function isEmpty(dir: string): boolean {
  return !existsSync(dir) || readdirSync(dir).length === 0;
}

async function create(cluster: Cluster, { native, user, log }: Tools): Promise<void> {
  const fresh = await mkdtemp(`${cluster.home}.init-`).catch((error) => {
    throw new EmbeddedError(
      `DATA_DIR ${cluster.dataDir} can't be written to: ${messageOf(error)}. ${instead}`,
    );
  });
  const { data, password } = pathsIn(fresh);
  try {
    await mkdir(data, { mode: 0o700 });
    await writeFile(password, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600, flush: true });
    if (user !== undefined) for (const path of [fresh, data, password]) await chown(path, user.uid, user.gid);
    log(`creating a PostgreSQL database in ${cluster.home}`);
    await initdb(native, data, user);
    await syncDirectory(fresh);
    await rename(fresh, cluster.home);
    await syncDirectory(join(cluster.home, '..'));
  } catch (error) {
    // Another service was quicker. The start of the server decides which of the two may run it.
    if (!isEmpty(cluster.home)) return;
    if (error instanceof EmbeddedError) throw error;
    throw new EmbeddedError(
      `No database could be created in ${cluster.home}: ${messageOf(error)}. ${instead}`,
    );
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function initdb(native: string, data: string, user: RunAs | undefined): Promise<void> {
  const args = [
    '-D',
    pathFor(data, user),
    '--username=postgres',
    '--pwfile=../password',
    '--auth=scram-sha-256',
  ];
  // So texts sort alike, and upper and lower case mean the same, on every machine, whatever locales it has.
  args.push('--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  args.push('--no-instructions');
  const child = spawn(join(native, 'bin', 'initdb'), args, {
    ...user,
    cwd: data,
    env: bareEnv,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`initdb ended with ${code ?? signal}: ${complaint.trim()}`);
}

/**
 * The path by which this user reaches a directory that will be its working directory. If only root may enter a
 * directory above it, the path is /proc/self/cwd: Node enters it while it is still root, and PostgreSQL never leaves it
 * again.
 */
export function pathFor(data: string, user: RunAs | undefined): string {
  if (user === undefined || shellSucceeds('cd -- "$1"', [data], user)) return data;
  if (existsSync('/proc/self/cwd')) return '/proc/self/cwd';
  throw new EmbeddedError(
    `PostgreSQL does not run as root. It runs as user id ${user.uid}, which may not enter ${data}. Choose a DATA_DIR that this user may enter. ${instead}`,
  );
}

function check({ home, data, password }: Cluster, major: string): void {
  const version = join(data, 'PG_VERSION');
  if (!existsSync(version))
    throw new EmbeddedError(`${home} holds no complete database: ${version} is missing. ${restore}`);
  if (!existsSync(password)) {
    throw new EmbeddedError(
      `${home} holds a database, but ${password}, which opens it, is missing. ${restore}`,
    );
  }
  const found = readFileSync(version, 'utf8').trim();
  if (found === major) return;
  throw new EmbeddedError(
    `The database in ${home} is of PostgreSQL ${found}, but this Dibs comes with PostgreSQL ${major}. Move the data over with pg_dump, or run it with PostgreSQL ${found} and set DATABASE_URL.`,
  );
}

const restore =
  'Restore it from a backup, or move the directory away to begin with an empty one, or set DATABASE_URL.';

/** Gives files to a user: after root has restored a backup, they belong to root. */
function giveTo(path: string, user: RunAs): void {
  lchownSync(path, user.uid, user.gid);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) giveTo(inside, user);
    else lchownSync(inside, user.uid, user.gid);
  }
}

const SOCKET_PREFIX = '.s.PGSQL.';

/** How PostgreSQL names the Unix socket of a port. */
export const socketName = (port: number): string => `${SOCKET_PREFIX}${port}`;

/**
 * Removes what interrupted creations have left, and the sockets of killed servers. Only for the owner: then no other
 * creation can succeed any more, and no other server runs on the data.
 */
export async function removeRemains({ home, data }: Cluster, port: number): Promise<void> {
  const ours = socketName(port);
  for (const name of await readdir(data)) {
    const isSocket = name.startsWith(SOCKET_PREFIX);
    if (isSocket && name !== ours && name !== `${ours}.lock`)
      await rm(join(data, name), { force: true }).catch(() => {});
  }
  const parent = join(home, '..');
  for (const name of await readdir(parent)) {
    if (!name.startsWith('postgres.init-')) continue;
    // An initdb may still write there. Then the next start removes the rest.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    if (errorCode(error) !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
}
