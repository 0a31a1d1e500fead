// Two builds of Dibs side by side: the build here (new) against another checkout (old), which is installed and built.
//   node bench/against.mjs --old /path/to/other/checkout [--rounds N] [--seconds N] [--connections 1,8] [--loads cycles]
// `--loads` takes the loads whose names have this in them.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { drain, fill, jobText, leaseOf, READY } from './lib/jobs.mjs';
import { commitOf } from './lib/machine.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle, trouble, wrk } from './lib/wrk.mjs';

/** Dibs does the most batches of 100 at this number of connections (see bench/peers). */
const BATCH_CONNECTIONS = 32;
const BATCH = 100;
/** The new build may be this much slower, once V8 has compiled what runs often: after some 30,000 requests. */
const AT_LEAST = 0.97;

/** Each queue has one kind of load. */
const job = {
  cycle: jobText('cycle'),
  batches: jobText('batches'),
  enqueue: jobText('enqueue'),
  groups: jobText('groups', { group: '#' }),
};

/** CPU time, in microseconds, that the service and the database used for each of the things done. */
async function measured({ base, pid }, seconds, load) {
  const before = { service: cpuSecondsOf(pid), database: postgresCpu() };
  const result = await load(base);
  const perThing = (usedSeconds) => (usedSeconds * 1e6) / (result.rate * seconds);
  return {
    ...result,
    service: perThing(cpuSecondsOf(pid) - before.service),
    database: perThing(usedSince(before.database, postgresCpu())),
  };
}

const cycles = (connections, script) => (side, seconds) =>
  measured(side, seconds, async (url) => {
    const result = await cycle(url, 'cycle', job.cycle, { connections, seconds, script });
    return { rate: result.cycles, trouble: result.trouble };
  });

/** No two runs have a group in common. */
let runs = 0;
const groupCycles = (connections) => (side, seconds) =>
  measured(side, seconds, async (url) => {
    const args = ['groups', job.groups, `${++runs}-`];
    const result = await wrk(url, { script: 'cycle', connections, seconds, args });
    return { rate: result.acked / result.seconds, trouble: trouble(result) };
  });

/**
 * Puts jobs into a queue and takes them out again afterwards, so that the tables are as small for every load.
 */
const enqueues = (connections) => async (side, seconds) => {
  const done = await measured(side, seconds, async (url) => {
    const result = await wrk(url, {
      script: 'enqueue',
      connections,
      seconds,
      args: [job.enqueue],
    });
    return { rate: (result.requests - result.not_2xx) / result.seconds, trouble: trouble(result) };
  });
  await drain(side.base, 'enqueue', {
    each: (jobs, http) => http.post('/jobs/settle', { acks: jobs.map(leaseOf) }),
  });
  return done;
};

const batches = (side, seconds) =>
  measured(side, seconds, async (url) => {
    const result = await wrk(url, {
      script: 'batches',
      connections: BATCH_CONNECTIONS,
      seconds,
      args: ['batches', job.batches, `${BATCH}`],
    });
    return { rate: result.acked / result.seconds, trouble: trouble(result) };
  });

/** The loads, from few connections to many. */
const loadsAt = (connections) => [
  ...connections.flatMap((c) => [
    { what: `cycles/s of three requests at ${c} connections`, run: cycles(c, 'cycle') },
    { what: `cycles/s of two requests at ${c} connections`, run: cycles(c, 'settle-cycle') },
    { what: `cycles/s of groups of one job at ${c} connections`, run: groupCycles(c) },
    { what: `enqueues/s at ${c} connections`, run: enqueues(c) },
  ]),
  { what: `jobs/s in batches of ${BATCH} at ${BATCH_CONNECTIONS} connections`, run: batches },
];

await benchmark(
  {
    name: 'against',
    title: 'This build against another one',
    full: { old: '', rounds: 9, seconds: 4, warmSeconds: 8, connections: [1, 8, 64, 256], loads: '' },
    short: { rounds: 3, seconds: 2, warmSeconds: 4 },
    maxSeconds: 3 * 3600,
  },
  async ({ options: { old, rounds, seconds, warmSeconds, connections, loads }, postgres, report }) => {
    const chosen = loadsAt(connections).filter(({ what }) => what.includes(loads));
    if (old === '') throw new Error('--old is missing: the path of another checkout, installed and built');
    const oldMain = resolve(old, 'dist/main.js');
    if (!existsSync(oldMain)) throw new Error(`There is no ${oldMain}: run "npm run build" there`);
    report.say(`old: commit ${commitOf(old) ?? 'unknown'}; new: commit ${commitOf() ?? 'unknown'}`);

    const sides = [];
    for (const [name, main] of [['old', oldMain], ['new']]) {
      const url = await postgres.database(`dibs_${name}`);
      const replica = await startReplica(url, {}, main);
      await fill(replica.url, READY, job.cycle);
      await fill(replica.url, READY, (i) => jobText('groups', { group: `filled ${i}` }));
      // Twice as many as all connections claim at once, so that every claim finds its hundred.
      await fill(replica.url, BATCH * BATCH_CONNECTIONS * 2, job.batches);
      await replica.stop();
      sides.push({ name, url, main });
    }

    /** Two equal processes differ by up to 8 %, for as long as they live. So each round has new ones. */
    async function startBoth() {
      const started = [];
      for (const side of sides) {
        const replica = await startReplica(side.url, {}, side.main);
        started.push({ ...side, base: replica.url, pid: replica.pid, stop: replica.stop });
      }
      for (const { run } of chosen) for (const side of started) await run(side, warmSeconds);
      return started;
    }

    const found = chosen.map(() => ({ old: [], new: [], ratio: [], service: [], database: [] }));
    for (let round = 1; round <= rounds; round++) {
      const started = await startBoth();
      // Each side goes first in every other round, so that a drift of the machine hits both alike.
      const order = round % 2 ? started : started.toReversed();
      const rows = [];
      for (const [i, { what, run }] of chosen.entries()) {
        const rates = {};
        const cpu = {};
        const notes = [];
        for (const side of order) {
          const { name } = side;
          await settle(side.url);
          const result = await run(side, seconds);
          cpu[name] = result;
          rates[name] = result.rate;
          found[i][name].push(result.rate);
          if (result.trouble) notes.push(`${name}: ${result.trouble}`);
        }
        const ratio = rates.new / rates.old;
        found[i].ratio.push(ratio);
        for (const part of ['service', 'database']) found[i][part].push(cpu.new[part] / cpu.old[part]);
        rows.push([what, rates.old, rates.new, ratio, notes.join('; ')]);
      }
      for (const { stop } of started) await stop();
      report.table(`Round ${round}, ${order[0].name} first:`, ['', 'old', 'new', 'new/old', 'notes'], rows);
    }

    report.table(
      `Medians of ${rounds} rounds of ${seconds} s; new/old is the median of the ratios of the rounds. CPU time for each of these, ` +
        'which a busy machine disturbs less, as new/old:',
      ['', 'old', 'new', 'new/old', 'CPU of the service', 'CPU of PostgreSQL'],
      chosen.map(({ what }, i) => [
        what,
        ...[found[i].old, found[i].new, found[i].ratio, found[i].service, found[i].database].map(median),
      ]),
    );
    for (const [i, { what }] of chosen.entries())
      report.line({
        number: 17,
        what: `${what}, new: ${Math.round(median(found[i].new))}/s`,
        against: `old: ${Math.round(median(found[i].old))}/s`,
        value: median(found[i].ratio),
        atLeast: AT_LEAST,
      });
  },
);
