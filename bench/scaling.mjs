// #28: what a request costs by part, and whether these costs tell the rate when the parts are pinned to processors (Linux only).
import { execFileSync } from 'node:child_process';
import { benchmark } from './lib/bench.mjs';
import { cpuPartsOf, machineCpu, parentOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { query, serverPid, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';

/** Where the parts run: on processors by their numbers. */
const PLACEMENTS = [
  { name: 'free', dibs: '0,1', postgres: '0,1', load: '0,1' },
  { name: 'all on one processor', dibs: '0', postgres: '0', load: '0' },
  { name: 'Dibs on one, PostgreSQL and the load on the other', dibs: '0', postgres: '1', load: '1' },
  { name: 'PostgreSQL on one, Dibs and the load on the other', dibs: '0', postgres: '1', load: '0' },
];
const PARTS = ['dibs', 'postgres', 'load'];

const pin = (pid, cpus) =>
  execFileSync('taskset', ['-a', '-p', '-c', cpus, String(pid)], { stdio: 'ignore' });

/** The line y = fixed * x + each that comes nearest to the points. */
function lineThrough(points) {
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const x = mean((p) => p.x);
  const y = mean((p) => p.y);
  const fixed = mean((p) => (p.x - x) * (p.y - y)) / mean((p) => (p.x - x) ** 2);
  return { fixed, each: y - fixed * x };
}

/** Requests a second if nothing but processors limits them: those of the fullest set of processors. */
function limit(placement, cost) {
  const sets = new Map();
  for (const part of PARTS) sets.set(placement[part], (sets.get(placement[part]) ?? 0) + cost[part]);
  return Math.min(...[...sets].map(([cpus, micros]) => (cpus.split(',').length * 1e6) / micros));
}

await benchmark(
  {
    name: 'scaling',
    title: 'What a request costs by part, on pinned processors',
    full: { rounds: 5, seconds: 6, connections: [8, 16, 64, 256] },
    short: { rounds: 1, seconds: 3 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_scaling');
    const replica = await startReplica(url);
    const server = await serverPid(url);
    const job = jobText(QUEUE);
    await fill(replica.url, READY, job);
    const commits = async () => {
      const [row] = await query(
        url,
        `select xact_commit::integer as n from pg_stat_database where datname = current_database()`,
      );
      return row.n;
    };
    const used = () => ({ dibs: cpuPartsOf(replica.pid), postgres: postgresCpu(server), all: machineCpu() });

    async function measure(placement, c) {
      pin(replica.pid, placement.dibs);
      pin(server, placement.postgres);
      for (const pid of postgresCpu(server).keys())
        if (parentOf(pid) === server) pin(pid, placement.postgres);
      const before = used();
      const commitsBefore = await commits();
      const {
        requests,
        cycles,
        trouble,
        seconds: took,
      } = await cycle(replica.url, QUEUE, job, {
        connections: c,
        seconds,
        cpus: placement.load,
      });
      const after = used();
      const micros = (cpuSeconds) => (cpuSeconds * 1e6) / requests;
      const user = micros(after.dibs.user - before.dibs.user);
      const system = micros(after.dibs.system - before.dibs.system);
      const database = micros(usedSince(before.postgres, after.postgres));
      const load = micros(after.all - before.all) - user - system - database;
      // The server counts a commit up to a second late.
      await new Promise((resolve) => setTimeout(resolve, 1200));
      return {
        rate: requests / took,
        cycles,
        trouble,
        together: requests / ((await commits()) - commitsBefore),
        user,
        system,
        dibs: user + system,
        postgres: database,
        load,
      };
    }

    await measure(PLACEMENTS[0], 64);
    const found = new Map();
    for (let round = 1; round <= rounds; round++)
      for (const placement of PLACEMENTS) {
        await settle(url);
        for (const c of connections) {
          const key = `${placement.name} ${c}`;
          const runs = found.get(key) ?? [];
          runs.push(await measure(placement, c));
          found.set(key, runs);
        }
      }

    const of = (placement, c, what) => median(found.get(`${placement.name} ${c}`).map((run) => run[what]));
    const [free] = PLACEMENTS;
    const model = Object.fromEntries(
      PARTS.map((part) => [
        part,
        lineThrough(connections.map((c) => ({ x: 1 / of(free, c, 'together'), y: of(free, c, part) }))),
      ]),
    );
    report.table(
      'The model, by the runs that are not pinned. Microseconds of processor time:',
      ['part', 'for each transaction', 'for each request'],
      PARTS.map((part) => [part, model[part].fixed, model[part].each]),
    );
    const rows = PLACEMENTS.flatMap((placement) =>
      connections.map((c) => {
        const together = of(placement, c, 'together');
        const cost = Object.fromEntries(
          PARTS.map((part) => [part, model[part].fixed / together + model[part].each]),
        );
        const predicted = limit(placement, cost);
        const rate = of(placement, c, 'rate');
        const troubles = found.get(`${placement.name} ${c}`).map((run) => run.trouble);
        return [
          ...[placement.name, c, Math.round(rate), together],
          ...['user', 'system', 'postgres', 'load'].map((part) => of(placement, c, part)),
          ...[Math.round(predicted), rate / predicted, troubles.filter(Boolean).join('; ')],
        ];
      }),
    );
    report.table(
      'Microseconds of processor time for a request, and what the model allows at most:',
      [
        ...['placement', 'connections', 'requests/s', 'requests in a transaction'],
        ...[
          'Dibs, user',
          'Dibs, system',
          'PostgreSQL',
          'load',
          'model: requests/s',
          'measured / model',
          'notes',
        ],
      ],
      rows,
    );
  },
);
