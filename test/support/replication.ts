import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../bench/lib/ports.mjs';
import { onServer } from './database.ts';
import { parentOf, signalAll, temporaryDirectory } from './postgres.ts';
import { until } from './until.ts';

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root. */
const asUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
const env = { PATH: process.env.PATH, LC_ALL: 'C' };

/** A PostgreSQL with its data in a folder of its own, at a port that stays. */
async function node(directory: string, folder: string, name: string) {
  const data = join(directory, name);
  const port = await freePort();
  mkdirSync(data, { mode: 0o700 });
  if (isRoot) chownSync(data, NOBODY, NOBODY);
  let server: ChildProcess | undefined;
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;

  const pids = () => {
    const first = server?.pid;
    if (first === undefined) return [];
    return [
      first,
      ...readdirSync('/proc')
        .filter((pid) => parentOf(pid) === first)
        .map(Number),
    ];
  };

  return {
    name,
    data,
    port,
    url,
    pids,
    /** Runs a program of PostgreSQL, and fails when it does. */
    run(program: string, ...args: string[]): void {
      const { status, stderr } = spawnSync(join(folder, program), args, { ...asUser, cwd: data, env });
      if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr}`);
    },
    /** Starts it with these settings besides, and waits until it answers. */
    async start(...settings: string[]): Promise<void> {
      const all = [
        `port=${port}`,
        'listen_addresses=127.0.0.1',
        'unix_socket_directories=',
        'fsync=off',
        ...settings,
      ];
      server = spawn(join(folder, 'postgres'), ['-D', data, ...all.flatMap((it) => ['-c', it])], {
        ...asUser,
        cwd: data,
        env,
        stdio: 'ignore',
      });
      await until(() => onServer(url, 'select 1').catch(() => false), { what: `${name} to answer` });
    },
    freeze: () => signalAll(pids(), 'SIGSTOP'),
    thaw: () => signalAll(pids(), 'SIGCONT'),
    /** Like a power failure. */
    async kill(): Promise<void> {
      if (!server || server.exitCode !== null || server.signalCode !== null) return;
      const ended = once(server, 'exit');
      const all = pids();
      signalAll(all, 'SIGKILL');
      await ended;
      // Its processes let go of the port and of the shared memory.
      await until(() => all.every((pid) => parentOf(String(pid)) === 0));
      rmSync(join(data, 'postmaster.pid'), { force: true });
    },
  };
}

export type PostgresNode = Awaited<ReturnType<typeof node>>;

/** A primary with a synchronous standby, made by the programs in `folder`. */
export async function primaryAndStandby(folder: string) {
  const directory = await temporaryDirectory();
  if (isRoot) chmodSync(directory.path, 0o755);
  const primary = await node(directory.path, folder, 'first');
  const standby = await node(directory.path, folder, 'second');
  primary.run(
    'initdb',
    '-D',
    primary.data,
    '-U',
    'postgres',
    '--auth=trust',
    '-E',
    'UTF8',
    '--locale=C',
    '--no-sync',
  );
  await primary.start();
  rmSync(standby.data, { recursive: true });
  mkdirSync(standby.data, { mode: 0o700 });
  if (isRoot) chownSync(standby.data, NOBODY, NOBODY);
  const from = `host=127.0.0.1 port=${primary.port} user=postgres application_name=${standby.name}`;
  standby.run(
    'pg_basebackup',
    '-d',
    from,
    '-D',
    standby.data,
    '-R',
    '-X',
    'stream',
    '-c',
    'fast',
    '--no-sync',
  );
  await standby.start();
  await onServer(primary.url, `alter system set synchronous_standby_names = '${standby.name}'`);
  await onServer(primary.url, 'select pg_reload_conf()');
  await until(async () => {
    const [row] = await onServer(primary.url, `select from pg_stat_replication where sync_state = 'sync'`);
    return row !== undefined;
  });
  return {
    primary,
    standby,
    /** The URL of the database with both hosts. The first one is the old primary's, also after a failover. */
    url: (database = 'postgres', query = '') =>
      `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/${database}${query}`,
    /** The standby is the primary from then on. */
    promote: () => onServer(standby.url, 'select pg_promote()'),
    /** The killed primary comes back, and knows nothing of the promotion. Nobody keeps it from taking writes. */
    async comesBack(): Promise<void> {
      writeFileSync(join(primary.data, 'postgresql.auto.conf'), '');
      await primary.start();
    },
    async remove(): Promise<void> {
      for (const one of [primary, standby]) {
        one.thaw();
        await one.kill();
      }
      await directory.remove();
    },
  };
}
