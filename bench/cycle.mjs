// #1: enqueue 1, claim 1, ack 1 as three HTTP requests, and as two (settle with claim), against pgbench with the plain statements.
import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { plainQueue } from './lib/pgbench.mjs';
import { barChart } from './lib/plot.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
/** The cycles of three requests and of two, each with the ratio that is wanted by the number of connections. */
const CYCLES = [
  { requests: 3, script: 'cycle', atLeast: { 64: 1.4, 256: 1.9 } },
  { requests: 2, script: 'settle-cycle', atLeast: { 64: 1.8, 256: 2.5 } },
];

await benchmark(
  {
    name: 'cycle',
    title: 'The cycle over HTTP against plain statements without HTTP',
    full: { rounds: 5, seconds: 10, connections: [64, 256], clients: [8, 32, 64] },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections, clients }, postgres, report }) => {
    const url = await postgres.database('dibs_cycle');
    const replica = await startReplica(url);
    const job = jobText(QUEUE);
    await fill(replica.url, READY, job);
    const plain = await plainQueue(postgres, 'plain_cycle');
    await cycle(replica.url, QUEUE, job, { connections: 64, seconds: 2 });
    await plain.cycles(8, 1);

    const loads = CYCLES.flatMap((cycles) => connections.map((c) => ({ ...cycles, c, found: [] })));
    const direct = new Map(clients.map((c) => [c, []]));
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      const notes = [];
      await settle(url);
      for (const { requests, script, c, found } of loads) {
        const { cycles, trouble } = await cycle(replica.url, QUEUE, job, { connections: c, seconds, script });
        found.push(cycles);
        if (trouble) notes.push(`${requests} requests at ${c}: ${trouble}`);
      }
      await settle(plain.url);
      for (const c of clients) direct.get(c).push(await plain.cycles(c, seconds));
      rows.push([
        round,
        ...[...loads.map(({ found }) => found), ...direct.values()].map((values) => values.at(-1)),
        notes.join('; '),
      ]);
    }

    const columns = [
      ...loads.map(({ requests, c }) => `Dibs, ${requests} requests, ${c} connections`),
      ...clients.map((c) => `pgbench, ${c} clients`),
    ];
    const medians = [...loads.map(({ found }) => found), ...direct.values()].map(median);
    report.table('Cycles/s:', ['round', ...columns, 'notes'], [...rows, ['median', ...medians, '']]);
    report.plot(
      'cycle.svg',
      barChart({ title: 'Cycles/s', bars: columns.map((label, i) => [label, medians[i]]) }),
    );
    const best = Math.max(...[...direct.values()].map(median));
    for (const { requests, c, found, atLeast } of loads)
      report.line({
        number: 1,
        what: `cycles/s of ${requests} requests at ${c} connections`,
        against: `pgbench, plain statements, at its best: ${Math.round(best)}/s`,
        value: median(found) / best,
        atLeast: atLeast[c],
      });
  },
);
