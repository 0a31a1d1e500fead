// #19: what keys, tokens, limits, metrics, traces and the history cost: the cycle with each against the cycle without.
import { benchmark } from './lib/bench.mjs';
import { startCollector } from './lib/collector.mjs';
import { cpuSecondsOf } from './lib/cpu.mjs';
import { createIssuer } from './lib/issuer.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
/** Other keys that a replica has in memory. */
const OTHER_KEYS = 100;

const probe = (file) => new URL(`./lib/${file}`, import.meta.url).href;

async function createKeys(base) {
  let admin;
  async function create(fields) {
    const headers = {
      'content-type': 'application/json',
      ...(admin && { authorization: `Bearer ${admin}` }),
    };
    const response = await fetch(`${base}/keys`, { method: 'POST', headers, body: JSON.stringify(fields) });
    if (response.status !== 201) throw new Error(await response.text());
    return (await response.json()).key;
  }
  admin = await create({ name: 'admin', scopes: ['admin'] });
  for (let i = 0; i < OTHER_KEYS; i++) await create({ name: `other ${i}`, scopes: ['read'] });
  const scopes = ['produce', 'consume'];
  return {
    wide: await create({ name: 'wide', scopes }),
    narrow: await create({ name: 'narrow', scopes, queues: [`${QUEUE}*`] }),
  };
}

const historyIs = (state) => (url) => query(url, `alter table dibs.jobs ${state} trigger jobs_history`);

/**
 * Each side is one way to run a replica. It runs beside a plain replica, at the same time. `isWithout`: the plain replica has what
 * this one lacks. The plain one is sent a key or a token, too, and does not read it: to send one costs the client time, not Dibs. The
 * side "again" is as plain as the plain one: it shows how much of a ratio is chance.
 */
async function sidesOf({ wide, narrow }) {
  const { settings, token } = await createIssuer();
  const plain = { env: { AUTH: 'off' } };
  return [
    { ...plain, name: 'again', key: wide },
    { name: 'a key for all queues', key: wide, atLeast: 0.97 },
    { name: 'a key for one queue', key: narrow, atLeast: 0.97 },
    { name: 'a rate limit', env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' }, key: wide },
    { name: 'a JWT', env: settings, key: token, atLeast: 0.95 },
    { name: 'CORS', env: { ...plain.env, ALLOWED_ORIGINS: 'https://app.example' }, key: wide },
    { ...plain, name: 'metrics', key: wide, isWithout: true, probe: probe('noMetrics.mjs'), atLeast: 0.98 },
    { ...plain, name: 'traces off', key: wide, isWithout: true, probe: probe('noTraces.mjs'), atLeast: 0.97 },
    {
      name: 'traces on',
      env: { ...plain.env, OTEL_EXPORTER_OTLP_ENDPOINT: await startCollector() },
      key: wide,
    },
    {
      ...plain,
      name: 'history',
      key: wide,
      isWithout: true,
      atLeast: 0.97,
      before: historyIs('disable'),
      after: historyIs('enable'),
    },
  ];
}

/** The backends of a database and the CPU time that each has used, in seconds. */
async function backendsCpu(url) {
  const rows = await query(url, 'select pid from pg_stat_activity where datname = current_database()');
  return rows.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
}

await benchmark(
  {
    name: 'overhead',
    title: 'What keys, tokens, limits, metrics, traces and the history cost',
    full: { rounds: 12, seconds: 4, warmSeconds: 6, connections: [64, 256], sides: '' },
    short: { rounds: 3, seconds: 2, warmSeconds: 2, connections: [64] },
    maxSeconds: 7200,
  },
  async ({ options: { rounds, seconds, warmSeconds, connections, sides: wanted }, postgres, report }) => {
    const job = jobText(QUEUE);
    const first = await postgres.database('dibs_overhead_1');
    const filler = await startReplica(first);
    await fill(filler.url, READY, job);
    const keys = await createKeys(filler.url);
    await filler.stop();
    const databases = [first, await postgres.database('dibs_overhead_2', 'dibs_overhead_1')];
    const all = await sidesOf(keys);
    const sides = all.filter(({ name }) => !wanted || wanted.split(',').includes(name));

    const load = ({ url }, { key }, count, duration) =>
      cycle(url, QUEUE, job, { connections: count, seconds: duration, key });

    /** Loads both replicas at the same time: what the machine does meanwhile hits both alike. */
    async function measure(pair, side, count) {
      for (const { database } of pair) await settle(database);
      const used = async () =>
        Promise.all(
          pair.map(async ({ database, replica }) => ({
            service: cpuSecondsOf(replica.pid),
            database: await backendsCpu(database),
          })),
        );
      const before = await used();
      const loads = await Promise.all(pair.map(({ replica }) => load(replica, side, count, seconds)));
      const after = await used();
      for (const { trouble } of loads) if (trouble) report.say(`${side.name}: ${trouble}`);
      const [without, own] = loads.map(({ cycles }, i) => ({
        cycles,
        service: (1e6 * (after[i].service - before[i].service)) / (cycles * seconds),
        database: (1e6 * (after[i].database - before[i].database)) / (cycles * seconds),
      }));
      const [over, under] = side.isWithout ? [without, own] : [own, without];
      const ratioOf = (what) => over[what] / under[what];
      return {
        cycles: ratioOf('cycles'),
        service: ratioOf('service'),
        database: ratioOf('database'),
        plain: without.cycles,
      };
    }

    /** Two equal processes differ by up to 8 %, for as long as they live. So each round has new ones. */
    async function runPair(side, round) {
      const [database, plainDatabase] = round % 2 ? databases : databases.toReversed();
      await side.before?.(database);
      const plain = {
        database: plainDatabase,
        replica: await startReplica(plainDatabase, { AUTH: 'off' }),
      };
      const own = { database, replica: await startReplica(database, side.env, undefined, side.probe) };
      const pair = [plain, own];
      await Promise.all(pair.map(({ replica }) => load(replica, side, connections[0], warmSeconds)));
      const found = new Map();
      for (const count of connections) found.set(count, await measure(pair, side, count));
      await Promise.all(pair.map(({ replica }) => replica.stop()));
      await side.after?.(database);
      return found;
    }

    const results = new Map(sides.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round++)
      for (const side of sides) results.get(side.name).push(await runPair(side, round));

    for (const count of connections) {
      const of = (name, what) =>
        results
          .get(name)
          .map((round) => round.get(count)[what])
          .sort((a, b) => a - b);
      const quarter = Math.floor(rounds / 4);
      const half = (values) => `${values.at(quarter).toFixed(2)} to ${values.at(-1 - quarter).toFixed(2)}`;
      const rows = sides.map(({ name }) => [
        name,
        median(of(name, 'cycles')),
        half(of(name, 'cycles')),
        median(of(name, 'service')),
        half(of(name, 'service')),
        median(of(name, 'database')),
      ]);
      const plain = Math.round(median(sides.flatMap(({ name }) => of(name, 'plain'))));
      report.table(
        `With each, against without, side by side, ${count} connections each (the plain ones do ${plain} cycles/s). Medians of ${rounds} pairs:`,
        ['', 'cycles/s', 'half of the pairs', 'CPU, service', 'half of the pairs', 'CPU, PostgreSQL'],
        rows,
      );
      for (const { name, atLeast } of sides)
        if (atLeast)
          report.line({
            number: 19,
            what: `cycles/s at ${count} connections with ${name}`,
            against: 'without',
            value: median(of(name, 'cycles')),
            atLeast,
          });
    }
  },
);
