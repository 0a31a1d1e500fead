// A primary of pg_auto_failover that is killed, frozen and cut off from the network, under load, and comes back:
//   npm run failover -- [--rounds 10] [--faults kill,freeze,cut]
// It needs root, iproute2, PostgreSQL 15 and pg_auto_failover (Debian: pg-auto-failover-cli, postgresql-15-auto-failover).

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { atEnd, cleanUp, guard } from '../bench/lib/cleanup.mjs';
import { query } from '../bench/lib/postgres.mjs';
import { startCluster, until } from './failover/cluster.mjs';
import { importSource } from './source.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    faults: { type: 'string', default: 'kill,freeze,cut' },
  },
});
const { startLoad } = await importSource('test/support/failoverLoad.ts');
const { startReplica } = await importSource('test/support/replica.ts');

const OURS = `select pid from pg_stat_activity where application_name = 'dibs' and backend_start >= $1`;
const WRITE = `
  select current_setting('transaction_read_only')::boolean as waits, pg_logical_emit_message(true, 'dibs', '')`;
const CUT = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dibs'`;
const NEW_JOBS = `select id from dibs.jobs where created_at >= $1`;
const LEFT = `select jobs.id from dibs.jobs join dibs.queues as q on q.id = queue_id where q.name = 'failover'`;

/**
 * When the standby has done a commit: pg_auto_failover keeps it read-only, and waiting for the old primary, for some
 * seconds after its promotion. Its connection lives through that.
 */
async function firstCommit(node) {
  const client = new pg.Client(node.url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    for (;;) {
      const isDone = await client.query(WRITE).then(
        ({ rows }) => !rows[0].waits,
        () => false,
      );
      if (isDone) return performance.now();
      await sleep(10);
    }
  } finally {
    await client.end();
  }
}

/** What Dibs did at an old primary since then. Undefined when that does not answer. */
async function touched(node, since) {
  try {
    const [connections, jobs] = [
      await query(node.url, OURS, [since]),
      await query(node.url, NEW_JOBS, [since]),
    ];
    return connections.length + jobs.length;
  } catch {
    return undefined;
  }
}

/** Has every replica connect anew, again and again, while the old primary takes writes and knows nothing. */
async function tempt(old, fresh) {
  const since = new Date();
  const found = [];
  const end = performance.now() + 3000;
  const tempting = (async () => {
    while (performance.now() < end) {
      await query(fresh.url, CUT);
      await sleep(700);
    }
  })();
  while (performance.now() < end) {
    found.push(await touched(old, since));
    await sleep(20);
  }
  await tempting;
  return found;
}

const KEEPER = 'pg_autoctl';

/** The keeper stops an old primary within a second. Here it comes back a little later. */
async function withoutKeeper(node, fresh) {
  const found = await tempt(node, fresh);
  node.signal('SIGCONT', KEEPER);
  return found;
}

const FAULTS = {
  kill: {
    hit: (node) => node.kill(),
    async back(node, fresh) {
      // Somebody starts it by hand, beside its keeper: nobody tells it, and no standby holds it up.
      const options = `-c synchronous_standby_names='' -c port=${node.port}`;
      node.run(
        'pg_ctl',
        'start',
        '--wait',
        '--silent',
        '-D',
        node.data,
        '-o',
        options,
        '-l',
        `${node.data}/../alone.log`,
      );
      const found = await tempt(node, fresh);
      node.run('pg_ctl', 'stop', '--wait', '--silent', '-D', node.data, '-m', 'fast');
      node.start();
      return found;
    },
  },
  freeze: {
    hit: (node) => node.signal('SIGSTOP'),
    async back(node, fresh) {
      node.signal('SIGCONT', 'postgres');
      return withoutKeeper(node, fresh);
    },
  },
  cut: {
    hit: (node) => node.cut(),
    async back(node, fresh) {
      node.signal('SIGSTOP', KEEPER);
      node.mend();
      return withoutKeeper(node, fresh);
    },
  },
};

async function round(cluster, load, { hit, back }) {
  await cluster.settled();
  const old = await cluster.primary();
  const fresh = cluster.other(old);
  const before = load.answered();
  await until(() => load.answered() > before + 100, 'enqueues before the fault');
  const promoted = firstCommit(fresh);
  // Its failure is told when it is waited for.
  promoted.catch(() => undefined);
  const began = performance.now();
  await hit(old);
  load.watch();
  const at = await promoted;
  const served = await until(() => load.servedAt(), 'service after the promotion');
  await sleep(1000);
  const found = await back(old, fresh);
  return {
    promotionMs: at - began,
    serviceMs: served - at,
    looked: found.filter((count) => count !== undefined).length,
    touched: found.reduce((sum, count) => sum + (count ?? 0), 0),
  };
}

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;
const middle = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

guard(3600);
try {
  const cluster = await startCluster();
  atEnd(cluster.close);
  const replicas = [];
  for (let i = 0; i < 2; i++) replicas.push(await startReplica({ DATABASE_URL: cluster.url }));
  atEnd(() => Promise.all(replicas.map((replica) => replica.end('SIGKILL'))));
  const rows = [];
  for (const fault of values.faults.split(',')) {
    const load = startLoad(() => replicas.map(({ url }) => url), { pauseMs: 40 });
    atEnd(load.stop);
    const rounds = [];
    for (let i = 0; i < Number(values.rounds); i++) {
      rounds.push(await round(cluster, load, FAULTS[fault]));
      const { promotionMs, serviceMs, looked, touched } = rounds.at(-1);
      console.log(
        `${fault} ${i + 1}: promoted after ${seconds(promotionMs)}, service ${seconds(serviceMs)} later, old primary seen ${looked} times, touched ${touched}`,
      );
    }
    await cluster.settled();
    const left = async () => (await query((await cluster.primary()).url, LEFT)).map(({ id }) => id);
    const violations = await load.finish(left);
    for (const violation of violations.slice(0, 20)) console.log(violation);
    console.log(`longest call: ${seconds(load.worst().ms)}, ${load.worst().what}`);
    const of = (key) => rounds.map((one) => one[key]);
    rows.push([
      fault,
      rounds.length,
      load.answered(),
      violations.length,
      load.leases(),
      `${seconds(middle(of('promotionMs')))}, ${seconds(Math.max(...of('promotionMs')))}`,
      `${seconds(middle(of('serviceMs')))}, ${seconds(Math.max(...of('serviceMs')))}`,
      seconds(load.worst().ms),
      `${of('looked').reduce((a, b) => a + b)} looks, ${of('touched').reduce((a, b) => a + b)} found`,
    ]);
    if (violations.length > 0 || of('touched').some((count) => count > 0)) process.exitCode = 1;
  }
  console.log(
    '| fault | rounds | enqueues answered | violations | leases | fault to promotion, p50 and most | promotion to the first 201, p50 and most | longest call | connections and jobs at the old primary |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|');
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
await cleanUp();
process.exit();
