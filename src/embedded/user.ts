import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { EmbeddedError, instead } from './errors.ts';

/** The user that PostgreSQL runs as, when it is not the user of this process. */
export interface RunAs {
  uid: number;
  gid: number;
}

/** The environment of all programs that we run. Our own (PGDATA, PGOPTIONS, LANG ...) must not change what they do. */
export const bareEnv = { LC_ALL: 'C', PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin' };

/** Runs a few lines of shell as this user, in `cwd` even if the user may not enter it. True if they succeeded. */
export function shellSucceeds(script: string, args: string[], user: RunAs | undefined, cwd = '/'): boolean {
  const options = { ...user, cwd, env: bareEnv, stdio: 'ignore' as const };
  return spawnSync('/bin/sh', ['-c', script, 'sh', ...args], options).status === 0;
}

/**
 * Chooses the user that PostgreSQL runs as. It refuses to run as root. So root runs it as the owner of the data, or
 * else as the system user `postgres`, which is created if there is none. Any other user runs it as itself.
 */
export function chooseUser(
  { home, data }: { home: string; data: string },
  log: (message: string) => void,
): RunAs | undefined {
  const me = process.getuid?.();
  // Only root may look into the directory of another user.
  const owner = statSync(me === 0 ? data : home, { throwIfNoEntry: false });
  if (me !== 0) {
    if (me !== undefined && owner !== undefined && owner.uid !== me) {
      throw new EmbeddedError(
        `The database in ${home} belongs to user id ${owner.uid}, but this process runs as ${me}. Run it as its owner or as root, or choose another DATA_DIR. ${instead}`,
      );
    }
    return undefined;
  }
  // The owner, not the user with the name postgres: in a new container this name may have another number.
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return lookUp('postgres') ?? create(log) ?? fallBack(log);
}

function lookUp(name: string): RunAs | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => {
    const result = spawnSync('id', [flag, name], { env: bareEnv, encoding: 'utf8' });
    return result.status === 0 ? Number(result.stdout) : 0;
  });
  return uid && gid ? { uid, gid } : undefined;
}

function create(log: (message: string) => void): RunAs | undefined {
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { env: bareEnv, stdio: 'ignore' });
  run(
    'useradd',
    '--system',
    '--no-create-home',
    '--home-dir',
    '/nonexistent',
    '--shell',
    '/bin/false',
    'postgres',
  );
  if (lookUp('postgres') === undefined) {
    // Alpine and other BusyBox systems.
    run('addgroup', '-S', 'postgres');
    run('adduser', '-S', '-D', '-H', '-s', '/bin/false', '-G', 'postgres', 'postgres');
  }
  const user = lookUp('postgres');
  if (user !== undefined) log('created the system user postgres: PostgreSQL does not run as root');
  return user;
}

function fallBack(log: (message: string) => void): RunAs {
  const nobody = lookUp('nobody');
  if (nobody === undefined) {
    throw new EmbeddedError(
      `PostgreSQL does not run as root, and a system user postgres could not be created. Run Dibs as another user. ${instead}`,
    );
  }
  log('PostgreSQL runs as nobody: a system user postgres could not be created');
  return nobody;
}
