import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../bench/lib/ports.mjs';
import { onServer } from './database.ts';
import { until } from './until.ts';

const FOLDER = '/usr/lib/postgresql';
const NOBODY = 65534;

/** Where Debian keeps the programs of its newest PostgreSQL. Undefined when it is not installed. */
export const binaries = (): string | undefined =>
  (existsSync(FOLDER) ? readdirSync(FOLDER) : [])
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(FOLDER, version, 'bin'))
    .find((folder) => existsSync(join(folder, 'postgres')) && existsSync(join(folder, 'pg_dump')));

/** A PostgreSQL of Debian under a directory, with the programs that belong to it. It refuses to run as root. */
export async function startDebianPostgres(directory: string, folder: string) {
  const data = join(directory, 'debian');
  mkdirSync(data, { mode: 0o700 });
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    chmodSync(directory, 0o755);
    chownSync(data, NOBODY, NOBODY);
  }
  const asUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  const port = await freePort();
  const initdb = ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  const made = spawnSync(join(folder, 'initdb'), initdb, { ...asUser, cwd: data, env });
  if (made.status !== 0) throw new Error(String(made.stderr));
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'];
  const server = spawn(join(folder, 'postgres'), ['-D', data, ...settings.flatMap((it) => ['-c', it])], {
    ...asUser,
    cwd: data,
    env,
    stdio: 'ignore',
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await until(() => onServer(url, 'select 1').catch(() => false));
  return {
    url,
    /** Runs a program of this version, and fails when it does. */
    run(program: string, ...args: string[]): void {
      const { status, stderr } = spawnSync(join(folder, program), args, { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
    },
    async stop() {
      if (server.exitCode !== null) return;
      server.kill('SIGQUIT');
      await once(server, 'exit');
    },
  };
}
