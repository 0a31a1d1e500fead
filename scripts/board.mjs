// Does the board alone tell what is wrong? Causes faults one after the other, asks a running Prometheus each query of
// deploy/grafana/dashboard.json, and says which faults its panels tell apart, and how soon: npm run board
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { atEnd, cleanUp, guard } from '../bench/lib/cleanup.mjs';
import { startPostgres } from '../bench/lib/postgres.mjs';
import { startReplica } from '../bench/lib/service.mjs';
import { startPrometheus } from '../examples/support/prometheus.mjs';
import { faultsAt, repeating } from './board/faults.mjs';
import { RULES } from './board/rules.mjs';

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const WITHIN_MS = 60_000;
/** So long the fault goes on after it was told, to see what else the board says by then. */
const AFTER_MS = 8000;
const MIB = 2 ** 20;
const board = JSON.parse(readFileSync(new URL('../deploy/grafana/dashboard.json', import.meta.url), 'utf8'));

guard(1800);
const postgres = await startPostgres();
const databaseUrl = await postgres.database('dibs_board');
const query = async (url, text) => {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text).finally(() => client.end());
};
const serverUrl = Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href;

const env = { MAX_MEMORY_BYTES: `${96 * MIB}`, REQUEST_TIMEOUT_SECONDS: '600' };
const replicas = [];
for (let i = 0; i < 3; i++) replicas.push(await startReplica(databaseUrl, env));
const prometheus = await startPrometheus({ targets: replicas.map(({ url }) => new URL(url).host) });
atEnd(prometheus.stop);
const [first, second] = replicas;
const at = faultsAt(first.url);

/** A transaction of somebody else, which runs `text` and stays open until the end. */
async function openTransaction(...texts) {
  const client = new pg.Client(databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  for (const text of texts) await client.query(text);
  return { end: () => client.end() };
}

/** Each begins a fault, and returns how it ends. Some have a load that shows it. */
const FAULTS = {
  'database away': async () => {
    await query(serverUrl, 'alter database dibs_board with allow_connections false');
    await query(
      serverUrl,
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'dibs_board'",
    );
    return { end: () => query(serverUrl, 'alter database dibs_board with allow_connections true') };
  },
  'database locked or slow': () => openTransaction('begin', 'lock table dibs.jobs in exclusive mode'),
  'a transaction that stays open': () =>
    openTransaction('begin isolation level repeatable read', 'select pg_current_xact_id()'),
  'event loop blocked': async () =>
    repeating(3000, async () => {
      process.kill(second.pid, 'SIGSTOP');
      await sleep(800);
      process.kill(second.pid, 'SIGCONT');
    }),
  'memory overload': async () => {
    const half = faultsAt(second.url).halfBody(13.5 * MIB);
    const large = faultsAt(second.url).largeBatches('calm');
    return {
      async end() {
        half.destroy();
        await large.end();
      },
    };
  },
  'workers gone': async () => {
    const producer = repeating(500, () => at.fill('abandoned', 1));
    return {
      async end() {
        await producer.end();
        await at.send('POST', '/queues/abandoned/purge', { states: ['ready'] });
      },
    };
  },
  'workers too slow': async () => {
    const worker = await at.slowWorker('slow');
    return {
      async end() {
        await worker.end();
        await at.send('POST', '/queues/slow/purge', { states: ['ready'] });
      },
    };
  },
  'workers fail': async () => {
    const workers = await at.failingWorkers('failing', { max_attempts: 100 });
    return {
      async end() {
        await workers.end();
        await at.send('POST', '/queues/failing/purge', { states: ['ready', 'scheduled'] });
      },
    };
  },
  'jobs die': async () => {
    const workers = await at.failingWorkers('poisoned', { max_attempts: 1 });
    return {
      async end() {
        await workers.end();
        await at.send('POST', '/queues/poisoned/purge', { states: ['ready', 'dead'] });
      },
    };
  },
  'workers hang or die': async () => {
    const workers = await at.hangingWorkers('hanging');
    return {
      async end() {
        await workers.end();
        await sleep(3000);
        await at.send('POST', '/queues/hanging/purge', { states: ['ready'] });
      },
    };
  },
  'queue paused': async () => {
    await at.fill('off', 20);
    await at.send('POST', '/queues/off/pause');
    return {
      async end() {
        await at.send('POST', '/queues/off/purge', { states: ['ready'] });
        await at.send('POST', '/queues/off/resume');
      },
    };
  },
  'max_leased reached': async () => {
    await at.send('PUT', '/queues/limited', { max_leased: 3 });
    await at.fill('limited', 50);
    const claims = repeating(500, () =>
      at.send('POST', '/jobs/claim', { queues: ['limited'], limit: 10, lease_seconds: 600 }),
    );
    return {
      async end() {
        await claims.end();
        await at.send('POST', '/queues/limited/purge', { states: ['ready'] });
      },
    };
  },
  'queue full': async () => {
    await at.send('PUT', '/queues/full', { max_ready: 20 });
    const worker = repeating(2000, () =>
      at.send('POST', '/jobs/claim', { queues: ['full'], lease_seconds: 600 }),
    );
    const producer = repeating(100, () => at.fill('full', 1));
    return {
      async end() {
        await producer.end();
        await worker.end();
        await at.send('POST', '/queues/full/purge', { states: ['ready'] });
      },
    };
  },
  // The last one: it does not come back.
  'a replica killed': async () => {
    process.kill(replicas[2].pid, 'SIGKILL');
    return { end: async () => undefined };
  },
};

/** What the panels show now: each series with its legend. */
async function look() {
  const shown = new Map();
  const targets = board.panels.flatMap(({ title, targets = [] }) =>
    targets.map((target) => ({ title, ...target })),
  );
  await Promise.all(
    targets.map(async ({ title, expr, legendFormat = '' }) => {
      const text = expr.replaceAll('$queue', '.*').replaceAll('$__rate_interval', '15s');
      const series = (await prometheus.query(text)).map((one) => ({
        ...one,
        legend: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => one.labels[label] ?? ''),
      }));
      shown.set(title, [...(shown.get(title) ?? []), ...series]);
    }),
  );
  return (title, legend = '') => {
    if (!shown.has(title)) throw new Error(`The board has no panel "${title}".`);
    return shown.get(title).filter((one) => one.legend.startsWith(legend));
  };
}

const told = async () => {
  const panel = await look();
  return Object.keys(RULES).filter((fault) => RULES[fault](panel));
};

async function untilTold(isSo) {
  const began = performance.now();
  for (;;) {
    const now = await told();
    const tookMs = performance.now() - began;
    if (isSo(now)) return { tookMs, now };
    if (tookMs > WITHIN_MS) return { tookMs: undefined, now };
    await sleep(1000);
  }
}

try {
  const calm = at.calm('calm');
  await untilTold((now) => now.length === 0);
  console.log('| fault | told after | what else the board said |\n|---|---|---|');
  for (const [fault, begin] of Object.entries(FAULTS)) {
    if (!fault.includes(values.only)) continue;
    const running = await begin();
    const { tookMs } = await untilTold((now) => now.includes(fault));
    await sleep(AFTER_MS);
    const others = (await told()).filter((one) => one !== fault);
    await running.end();
    const after = tookMs === undefined ? 'not within a minute' : `${Math.ceil(tookMs / 1000)} s`;
    console.log(`| ${fault} | ${after} | ${others.join(', ') || 'nothing'} |`);
    const { now } = fault === 'a replica killed' ? { now: [] } : await untilTold((now) => now.length === 0);
    if (now.length > 0) console.log(`(a minute after its end the board still said: ${now.join(', ')})`);
  }
  await calm.end();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
await cleanUp();
process.exit();
