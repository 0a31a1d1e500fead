import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { query } from '../../bench/lib/postgres.mjs';
import { openNetwork } from './network.mjs';

const BINARIES = '/usr/lib/postgresql/15/bin';
/** All nodes keep their sockets in one folder. */
const PORTS = [17432, 17433, 17434];
/** pg_auto_failover makes one of its own, in another encoding. */
const DATABASE = 'jobs';
const NODES = `select nodename as name, reportedstate::text as state, goalstate::text as goal, health from pgautofailover.node`;

/** The monitor decides within seconds, so that many rounds are possible. Its defaults are for a real network. */
const MONITOR = `
pgautofailover.health_check_period = 1000
pgautofailover.health_check_timeout = 1000
pgautofailover.health_check_retry_delay = 500
pgautofailover.health_check_max_retries = 1
pgautofailover.node_considered_unhealthy_timeout = 4000
pgautofailover.startup_grace_period = 2000
pgautofailover.primary_demote_timeout = 3000
`;
const NODE = `
shared_buffers = '128MB'
max_connections = 200
checkpoint_timeout = '30s'
`;

export async function until(look, what, withinMs = 120_000) {
  for (const end = performance.now() + withinMs; ; await sleep(50)) {
    const seen = await Promise.resolve()
      .then(look)
      .catch(() => undefined);
    if (seen) return seen;
    if (performance.now() > end) throw new Error(`${what} did not come within ${withinMs} ms`);
  }
}

/** A monitor of pg_auto_failover and two nodes, each a host of its own, until `close`. */
export async function startCluster() {
  const network = openNetwork();
  const folder = mkdtempSync('/tmp/dibs-failover-');
  const [uid, gid] = ['-u', '-g'].map((of) =>
    Number(execFileSync('id', [of, 'postgres'], { encoding: 'utf8' })),
  );
  chownSync(folder, uid, gid);

  function machine(name, port) {
    const host = network.addHost();
    const home = join(folder, name);
    const data = join(home, 'data');
    mkdirSync(home);
    chownSync(home, uid, gid);
    const log = openSync(join(home, 'log'), 'a');
    const env = {
      HOME: home,
      XDG_RUNTIME_DIR: home,
      PATH: `/usr/bin:/bin:${BINARIES}`,
      LC_ALL: 'C',
      PGDATA: data,
    };
    const asPostgres = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
    const prefix = ['netns', 'exec', host.namespace, ...asPostgres];
    const options = { env: { ...env }, cwd: home, stdio: ['ignore', log, log] };
    return {
      ...host,
      name,
      port,
      data,
      url: `postgres://postgres@${host.address}:${port}/${DATABASE}`,
      run(...command) {
        const { status } = spawnSync('/usr/sbin/ip', [...prefix, ...command], {
          ...options,
          timeout: 60_000,
        });
        if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: see ${home}/log`);
      },
      /** The keeper of the node, which starts PostgreSQL. */
      start: () =>
        spawn('/usr/sbin/ip', [...prefix, 'pg_autoctl', 'run'], { ...options, detached: true }).unref(),
      async kill() {
        host.signal('SIGKILL');
        await until(() => host.pids().length === 0, `the end of ${name}`);
        for (const file of ['postmaster.pid']) rmSync(join(data, file), { force: true });
        rmSync(`/tmp/pg_autoctl${data}`, { recursive: true, force: true });
        rmSync(`/var/run/postgresql/.s.PGSQL.${port}`, { force: true });
        rmSync(`/var/run/postgresql/.s.PGSQL.${port}.lock`, { force: true });
      },
      closeLog: () => closeSync(log),
    };
  }

  const shared = ['--auth', 'trust', '--no-ssl', '--pgctl', join(BINARIES, 'pg_ctl')];
  const placeOf = ({ data, port, address }) => [
    '--pgdata',
    data,
    '--pgport',
    `${port}`,
    '--hostname',
    address,
  ];
  const monitor = machine('monitor', PORTS[0]);
  monitor.run('pg_autoctl', 'create', 'monitor', ...placeOf(monitor), ...shared);
  appendFileSync(join(monitor.data, 'postgresql.conf'), MONITOR);
  monitor.start();
  const monitorUrl = `postgres://autoctl_node@${monitor.address}:${monitor.port}/pg_auto_failover`;
  await until(() => query(monitorUrl, NODES), 'the monitor');

  const nodes = ['a', 'b'].map((name, i) => machine(name, PORTS[i + 1]));
  const states = () => query(monitorUrl, NODES);
  const isIn = async (...wanted) => {
    const all = await states();
    const found = all.filter(({ state, goal }) => state === goal).map(({ state }) => state);
    return found.toSorted().join() === wanted.toSorted().join();
  };
  for (const node of nodes) {
    const named = ['--name', node.name, '--dbname', 'dibs', '--username', 'dibs_app'];
    const join_ = ['--monitor', `${monitorUrl}?sslmode=prefer`];
    node.run('pg_autoctl', 'create', 'postgres', ...placeOf(node), ...named, ...shared, ...join_);
    if (node === nodes[0]) {
      appendFileSync(join(node.data, 'postgresql.conf'), NODE);
      appendFileSync(join(node.data, 'pg_hba.conf'), 'host all all 10.213.0.0/16 trust\n');
    }
    node.start();
    if (node === nodes[0]) await until(() => isIn('single'), 'the first node');
  }
  const settled = () => until(() => isIn('primary', 'secondary'), 'a primary with its standby', 180_000);
  await settled();
  const server = Object.assign(new URL(nodes[0].url), { pathname: '/postgres' }).href;
  await query(server, `create database ${DATABASE} encoding 'UTF8' template template0`);

  return {
    nodes,
    settled,
    states,
    url: `postgres://postgres@${nodes.map(({ address, port }) => `${address}:${port}`).join()}/${DATABASE}?target_session_attrs=read-write`,
    async primary() {
      const found = await states();
      return nodes.find(({ name }) => found.some((one) => one.name === name && one.state === 'primary'));
    },
    other: (node) => nodes.find((one) => one !== node),
    close() {
      network.close();
      for (const one of [monitor, ...nodes]) one.closeLog();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
