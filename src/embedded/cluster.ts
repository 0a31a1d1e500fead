import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lchownSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { chown, mkdir, mkdtemp, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedError, errorCode, instead, messageOf } from './errors.ts';
import { bareEnv, type RunAs, shellSucceeds } from './user.ts';

/** One directory with both the data and the password that opens it, so that one rename brings both into being. */
export interface Cluster {
  /** As the operator knows it, for messages. */
  dataDir: string;
  home: string;
  data: string;
  password: string;
}

/** Where the cluster lies below DATA_DIR, which is created if need be; says nothing on whether there is one. */
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

/** Creates the cluster if there is none; never leaves half of one, and a concurrent creator does no harm. */
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
    // Another service was quicker; who then may run the server is decided there, not here.
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
  // The same order and the same meaning of upper and lower case on every machine, whatever locales it has.
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
 * The path by which that user reaches a directory that is its working directory. Where only root may enter the way to
 * it, that is /proc/self/cwd: Node enters it before it gives up being root, and PostgreSQL never leaves it again.
 */
export function pathFor(data: string, user: RunAs | undefined): string {
  if (user === undefined || shellSucceeds('cd -- "$1"', [data], user)) return data;
  if (existsSync('/proc/self/cwd')) return '/proc/self/cwd';
  throw new EmbeddedError(
    `PostgreSQL does not run as root, and user id ${user.uid}, which it runs as, may not enter ${data}. Choose a DATA_DIR which that user may enter. ${instead}`,
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

const restore = 'Restore it from a backup, or move the directory away to begin anew; or set DATABASE_URL.';

/** A backup that root has put back belongs to root. */
function giveTo(path: string, user: RunAs): void {
  lchownSync(path, user.uid, user.gid);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) giveTo(inside, user);
    else lchownSync(inside, user.uid, user.gid);
  }
}

/** Removes what interrupted creations have left; only for the owner of the cluster, since any other attempt is now void. */
export async function removeRemains({ home }: Cluster): Promise<void> {
  const parent = join(home, '..');
  for (const name of await readdir(parent)) {
    if (!name.startsWith('postgres.init-')) continue;
    // An initdb may still be writing there; then the next start removes the rest.
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
