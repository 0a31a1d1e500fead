// #40: four queues in four databases of one server, against four queues in one database: what a cycle costs Dibs and PostgreSQL, and how
// many transactions it makes. Linux only.
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { serverPid, settle, written } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const DATABASES = ['home', 'a', 'b', 'c'];
const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);

/** A side: a replica with a queue for each name. */
async function open(postgres, name, databases) {
  const urls = [];
  for (const database of databases) urls.push(await postgres.database(`dibs_${name}_${database}`));
  const others = databases
    .slice(1)
    .map((database, i) => [`DATABASE_URL_${database.toUpperCase()}`, urls[i + 1]]);
  const replica = await startReplica(urls[0], Object.fromEntries(others));
  const http = client(replica.url);
  const queues = DATABASES.map((queue) => `${queue}.spread`);
  for (const [i, queue] of queues.entries()) {
    await http.json('PUT', `/queues/${queue}`, databases.length > 1 ? { database: databases[i] } : {});
    await fill(replica.url, READY / queues.length, jobText(queue));
  }
  http.close();
  return { ...replica, urls, queues };
}

/** Cycles of all queues at once: their rate, and what one of them takes. */
async function measure({ url, pid, urls, queues }, server, { seconds, connections }) {
  const commits = async () => sum((await Promise.all(urls.map(written))).map((one) => Number(one.commits)));
  const before = { dibs: cpuSecondsOf(pid), postgres: postgresCpu(server), commits: await commits() };
  const load = { connections: connections / queues.length, seconds };
  const found = await Promise.all(queues.map((queue) => cycle(url, queue, jobText(queue), load)));
  const trouble = found.map((one) => one.trouble).filter(Boolean);
  if (trouble.length > 0) throw new Error(trouble.join('; '));
  const cycles = sum(found.map((one) => one.acked));
  return {
    rate: cycles / seconds,
    dibs: ((cpuSecondsOf(pid) - before.dibs) * 1e6) / cycles,
    postgres: (usedSince(before.postgres, postgresCpu(server)) * 1e6) / cycles,
    commits: ((await commits()) - before.commits) / cycles,
  };
}

await benchmark(
  {
    name: 'spread',
    title: 'Four databases against one',
    full: { rounds: 7, seconds: 5, warmSeconds: 8, connections: 64 },
    short: { rounds: 3, seconds: 2, warmSeconds: 4 },
    maxSeconds: 900,
  },
  async ({ options: { rounds, seconds, warmSeconds, connections }, postgres, report }) => {
    const sides = {
      one: await open(postgres, 'one', ['home']),
      four: await open(postgres, 'four', DATABASES),
    };
    const server = await serverPid(sides.one.urls[0]);
    for (const side of Object.values(sides))
      await measure(side, server, { seconds: warmSeconds, connections });

    // A database gathers the requests that come to it. With a quarter of them it gathers less, whatever stands above it.
    const loads = [
      { what: 'as many connections in all', four: connections },
      { what: 'as many for each database', four: connections * DATABASES.length },
    ].map((load) => ({ ...load, rows: [], ratios: { dibs: [], postgres: [], commits: [], all: [] } }));
    for (let round = 1; round <= rounds; round++)
      for (const { four, rows, ratios } of loads) {
        const found = {};
        for (const name of round % 2 ? ['one', 'four'] : ['four', 'one']) {
          for (const url of sides[name].urls) await settle(url);
          const many = name === 'four' ? four : connections;
          const measured = await measure(sides[name], server, { seconds, connections: many });
          found[name] = { ...measured, all: measured.dibs + measured.postgres };
          rows.push([round, name, many, measured.rate, measured.dibs, measured.postgres, measured.commits]);
        }
        for (const [what, all] of Object.entries(ratios)) all.push(found.four[what] / found.one[what]);
      }
    for (const { what, rows, ratios } of loads) {
      report.table(
        `Cycles of three requests over four queues, ${what}:`,
        [
          'round',
          'databases',
          'connections',
          'cycles/s',
          'µs of Dibs a cycle',
          'µs of PostgreSQL',
          'commits',
        ],
        rows,
      );
      const line = (part, value, more = { atMost: 1.1 }) =>
        report.line({ number: 40, what: `${what}: ${part}`, against: 'one database', value, ...more });
      line('processor time of Dibs', median(ratios.dibs));
      line('processor time of PostgreSQL', median(ratios.postgres));
      line('commits a cycle', median(ratios.commits));
      // Four machines have four times the processor time, and databases share nothing of a cycle.
      line('four machines, by this processor time', 4 / median(ratios.all), { atLeast: 3.2 });
    }
  },
);
