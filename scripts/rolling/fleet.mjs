import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../../bench/lib/cleanup.mjs';
import { freePort } from '../../bench/lib/ports.mjs';
import { startPostgres } from '../../bench/lib/postgres.mjs';

const HAPROXY_CONFIG = fileURLToPath(new URL('../../deploy/haproxy/haproxy.cfg', import.meta.url));
const START_MS = 60_000;

function program(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said = (said + chunk).slice(-10_000);
    });
  child.on('error', (error) => {
    said += error.message;
  });
  const ended = once(child, 'exit').catch(() => undefined);
  atEnd(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { hasEnded: () => child.exitCode !== null || child.pid === undefined, said: () => said };
}

async function answers(what, look, { hasEnded = () => false, said = () => '' } = {}) {
  const deadline = performance.now() + START_MS;
  for (;;) {
    const isThere = await look().catch(() => false);
    if (isThere) return;
    if (hasEnded() || performance.now() > deadline) throw new Error(`${what} does not answer:\n${said()}`);
    await sleep(100);
  }
}

/** PgBouncer in transaction mode before a database. Returns the URL through it. */
async function startPgBouncer(folder, databaseUrl) {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const listenPort = await freePort();
  const users = join(folder, 'users.txt');
  writeFileSync(users, `"${username}" "${password}"\n`);
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]
dibs = host=${hostname} port=${port} dbname=${pathname.slice(1)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
max_prepared_statements = 200
default_pool_size = 30
max_client_conn = 500
`,
  );
  for (const path of [folder, users, config]) chmodSync(path, path === folder ? 0o755 : 0o644);
  // It refuses to run as root.
  const asNobody = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const pooler = program(process.env.PGBOUNCER ?? 'pgbouncer', [...asNobody, config]);
  const { default: pg } = await import('pg');
  const url = `postgres://${username}:${password}@127.0.0.1:${listenPort}/dibs`;
  await answers(
    'pgbouncer',
    async () => {
      const client = new pg.Client(url);
      await client.connect();
      await client.end();
      return true;
    },
    pooler,
  );
  return url;
}

/** HAProxy with the file of deploy/, at other addresses. */
async function startHaproxy(folder, ports) {
  const port = await freePort();
  const config = join(folder, 'haproxy.cfg');
  const text = ports.reduce(
    (text, port, i) => text.replace(`dibs-${i + 1}:8080`, `127.0.0.1:${port}`),
    readFileSync(HAPROXY_CONFIG, 'utf8')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      // Each connection needs two files, and this machine may not have that many.
      .replace('maxconn 20000', 'maxconn 500')
      .replace(/^.*resolvers docker[\s\S]*?(?=^ {4}server)/m, '')
      .replace(/^resolvers docker[\s\S]*$/m, ''),
  );
  writeFileSync(config, text);
  const proxy = program(process.env.HAPROXY ?? 'haproxy', ['-db', '-f', config]);
  const url = `http://127.0.0.1:${port}`;
  await answers('haproxy', async () => (await fetch(`${url}/healthz`)).ok, proxy);
  return url;
}

/** Starts `dibs serve` of a build, and waits until it is ready. */
async function startReplica(folder, env) {
  const child = spawn(process.execPath, [join(folder, 'dist/main.js'), 'serve'], {
    env: { ...process.env, HOST: '127.0.0.1', LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  atEnd(() => child.kill('SIGKILL'));
  await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (/ready at/.test(line)) resolve();
      else if (/"level":[456]0/.test(line)) console.log(line);
    });
    exited.then(([code]) => reject(new Error(`a replica ended with ${code}`)), reject);
  });
  return {
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exited;
      if (code !== 0) console.log(`a replica ended with ${code}`);
    },
  };
}

/** Three replicas behind HAProxy, on a database behind PgBouncer. */
export async function startFleet({ folder: build, drainSeconds }) {
  const folder = mkdtempSync(join(tmpdir(), 'dibs-rolling-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = await startPostgres();
  const direct = await postgres.database('dibs_rolling');
  const pooled = await startPgBouncer(folder, direct);
  const ports = [await freePort(), await freePort(), await freePort()];
  const envOf = (port) => ({
    DATABASE_URL: pooled,
    DATABASE_LISTEN_URL: direct,
    PORT: String(port),
    DRAIN_SECONDS: String(drainSeconds),
  });
  const replicas = [];
  for (const port of ports) replicas.push(await startReplica(build, envOf(port)));
  const url = await startHaproxy(folder, ports);

  return {
    url,
    /** Ends a replica by SIGTERM, starts one of `build` in its place, and waits until HAProxy uses it. */
    async replace(i, build) {
      await replicas[i].stop();
      replicas[i] = await startReplica(build, envOf(ports[i]));
      // HAProxy looks once a second, and wants two good answers.
      await sleep(3000);
    },
  };
}
