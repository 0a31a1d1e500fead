// A PostgreSQL of its own for a side, with the settings of all benchmarks. Stopped and removed after its turn.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serverCpu } from '../lib/cpu.mjs';
import { workDir } from '../lib/machine.mjs';
import { freePort } from '../lib/ports.mjs';
import { query, SETTINGS, settle } from '../lib/postgres.mjs';

const START_MS = 60_000;
/** Room for 256 clients of PgQ, each with a connection of its own. */
export const CLUSTER = { ...SETTINGS, max_connections: '400' };

/** The programs of the PostgreSQL that is installed. */
export function installedBin() {
  try {
    return execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
  } catch {
    throw new Error('no pg_config in the PATH: name the programs of a PostgreSQL with --postgres DIR');
  }
}

/** PostgreSQL refuses to run as root. So root runs it as the user postgres, as packages do. */
function otherUser() {
  if (process.getuid() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])));
  return { uid, gid };
}

/** Starts a new cluster. `atStop` is given the steps that end it. */
export async function startCluster(bin, atStop) {
  const user = otherUser();
  const home = await mkdtemp(join(workDir(), 'dibs-headon-'));
  atStop(() => rm(home, { recursive: true, force: true }));
  const data = join(home, 'data');
  await mkdir(data, { mode: 0o700 });
  if (user.uid !== undefined) for (const path of [home, data]) await chown(path, user.uid, user.gid);
  const options = { ...user, cwd: home, env: { PATH: process.env.PATH, LC_ALL: 'C' } };
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    {
      ...options,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const port = await freePort();
  const settings = {
    ...CLUSTER,
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: home,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(join(data, 'postgresql.conf'), lines.join(''));

  const server = spawn(join(bin, 'postgres'), ['-D', data], { ...options, stdio: 'ignore' });
  const exited = once(server, 'exit');
  atStop(async () => {
    server.kill('SIGINT');
    await exited;
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const version = await ready(url, server);
  return { url, port, version, cpu: () => serverCpu(server.pid), settle: () => settle(url) };
}

async function ready(url, server) {
  const until = performance.now() + START_MS;
  for (;;) {
    try {
      const [{ version }] = await query(url, `select current_setting('server_version') as version`);
      return version.split(' ')[0];
    } catch (error) {
      if (server.exitCode !== null || performance.now() > until) throw error;
      await sleep(100);
    }
  }
}
