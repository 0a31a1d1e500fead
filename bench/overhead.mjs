// #19: what keys, tokens, limits, metrics, traces and the history cost: the cycle with each against the cycle without.
import { createServer } from 'node:http';
import { benchmark } from './lib/bench.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { cpuSecondsOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { createIssuer } from './lib/issuer.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
const PLAIN = 'plain';
/** Other keys that a replica has in memory. */
const OTHER_KEYS = 100;

const probe = (file) => new URL(`./lib/${file}`, import.meta.url).href;

/** A collector of traces that forgets what it is sent. */
async function startCollector() {
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  await new Promise((done) => collector.listen(0, '127.0.0.1', done));
  atEnd(() => {
    collector.closeAllConnections();
    collector.close();
  });
  return `http://127.0.0.1:${collector.address().port}`;
}

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
 * Each side is one way to run a replica. It is measured against the side `against`. `isWithout`: it is that one which has what this
 * one lacks. The plain sides get a key or a token, too, and do not read it: to send one costs the client time, not Dibs. The side
 * "again" is as plain as the plain one: it shows how much of a ratio is chance.
 */
async function sidesOf(base) {
  const { wide, narrow } = await createKeys(base);
  const { settings, token } = await createIssuer();
  const plain = { env: { AUTH: 'off' }, key: wide };
  const others = [
    { ...plain, name: 'again' },
    { name: 'a key for all queues', key: wide, atLeast: 0.97 },
    { name: 'a key for one queue', key: narrow, atLeast: 0.97 },
    { name: 'a rate limit', env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1000000' }, key: wide },
    { name: 'a JWT', env: settings, key: token, against: 'a JWT that is not read', atLeast: 0.95 },
    { ...plain, name: 'CORS', env: { ...plain.env, ALLOWED_ORIGINS: 'https://app.example' } },
    { ...plain, name: 'metrics', isWithout: true, probe: probe('noMetrics.mjs'), atLeast: 0.98 },
    { ...plain, name: 'traces off', isWithout: true, probe: probe('noTraces.mjs'), atLeast: 0.97 },
    {
      ...plain,
      name: 'traces on',
      env: { ...plain.env, OTEL_EXPORTER_OTLP_ENDPOINT: await startCollector() },
    },
    {
      ...plain,
      name: 'history',
      isWithout: true,
      atLeast: 0.97,
      before: historyIs('disable'),
      after: historyIs('enable'),
    },
  ];
  return {
    plain: [
      { ...plain, name: PLAIN },
      { ...plain, name: 'a JWT that is not read', key: token },
    ],
    others,
  };
}

await benchmark(
  {
    name: 'overhead',
    title: 'What keys, tokens, limits, metrics, traces and the history cost',
    full: { rounds: 11, seconds: 4, warmSeconds: 6, connections: [64, 256], sides: '' },
    short: { rounds: 3, seconds: 2, warmSeconds: 2, connections: [64] },
    maxSeconds: 7200,
  },
  async ({ options: { rounds, seconds, warmSeconds, connections, sides: wanted }, postgres, report }) => {
    const job = jobText(QUEUE);
    const url = await postgres.database('dibs_overhead');
    const filler = await startReplica(url);
    await fill(filler.url, READY, job);
    const { plain, others } = await sidesOf(filler.url);
    await filler.stop();
    const chosen = others.filter(({ name }) => !wanted || wanted.split(',').includes(name));
    const sides = [
      ...plain.filter(({ name }) => [PLAIN, ...chosen.map((side) => side.against)].includes(name)),
      ...chosen,
    ];

    async function measure({ key }, { url: base, pid }, count) {
      await settle(url);
      const [service, database] = [cpuSecondsOf(pid), postgresCpu()];
      const { cycles, trouble } = await cycle(base, QUEUE, job, { connections: count, seconds, key });
      if (trouble) report.say(trouble);
      const each = 1e6 / (cycles * seconds);
      return {
        cycles,
        service: (cpuSecondsOf(pid) - service) * each,
        database: usedSince(database, postgresCpu()) * each,
      };
    }

    /** Two equal processes differ by up to 8 %, for as long as they live. So each round has new ones. */
    async function runSide(side) {
      await side.before?.(url);
      const replica = await startReplica(url, side.env, undefined, side.probe);
      const load = { connections: connections[0], seconds: warmSeconds, key: side.key };
      await cycle(replica.url, QUEUE, job, load);
      const found = new Map();
      for (const count of connections) found.set(count, await measure(side, replica, count));
      await replica.stop();
      await side.after?.(url);
      return found;
    }

    const results = new Map(sides.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round++)
      // Another side goes first in each round, so that a drift of the machine hits all alike.
      for (let i = 0; i < sides.length; i++) {
        const side = sides[(i + round) % sides.length];
        results.get(side.name).push(await runSide(side));
      }

    for (const count of connections) {
      const of = (name, what) => results.get(name).map((round) => round.get(count)[what]);
      const ratios = ({ name, isWithout, against = PLAIN }, what) => {
        const without = of(against, what);
        return of(name, what)
          .map((value, i) => (isWithout ? without[i] / value : value / without[i]))
          .sort((a, b) => a - b);
      };
      const rows = chosen.map((side) => {
        const cycles = ratios(side, 'cycles');
        return [
          side.name,
          median(cycles),
          `${cycles.at(Math.floor(rounds / 4)).toFixed(2)} to ${cycles.at(-1 - Math.floor(rounds / 4)).toFixed(2)}`,
          median(ratios(side, 'service')),
          median(ratios(side, 'database')),
        ];
      });
      report.table(
        `With each, against without, at ${count} connections (${Math.round(median(of(PLAIN, 'cycles')))} cycles/s, ` +
          `${median(of(PLAIN, 'service')).toFixed(0)} us of the service, ${median(of(PLAIN, 'database')).toFixed(0)} us of PostgreSQL). Medians of ${rounds} rounds:`,
        ['', 'cycles/s', 'half of the rounds', 'CPU, service', 'CPU, PostgreSQL'],
        rows,
      );
      for (const side of chosen)
        if (side.atLeast)
          report.line({
            number: 19,
            what: `cycles/s at ${count} connections with ${side.name}`,
            against: 'without',
            value: median(ratios(side, 'cycles')),
            atLeast: side.atLeast,
          });
    }
  },
);
