// #1: enqueue 1, claim 1, ack 1 as three HTTP requests, against pgbench with the plain statements.
import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { plainQueue } from './lib/pgbench.mjs';
import { barChart } from './lib/plot.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
const TARGETS = { 64: 1.5, 256: 1.9 };

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

    const dibs = new Map(connections.map((c) => [c, []]));
    const direct = new Map(clients.map((c) => [c, []]));
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      const notes = [];
      await settle(url);
      for (const c of connections) {
        const { cycles, trouble } = await cycle(replica.url, QUEUE, job, { connections: c, seconds });
        dibs.get(c).push(cycles);
        if (trouble) notes.push(`at ${c}: ${trouble}`);
      }
      await settle(plain.url);
      for (const c of clients) direct.get(c).push(await plain.cycles(c, seconds));
      rows.push([
        round,
        ...[...dibs.values(), ...direct.values()].map((values) => values.at(-1)),
        notes.join('; '),
      ]);
    }

    const columns = [
      ...connections.map((c) => `Dibs, ${c} connections`),
      ...clients.map((c) => `pgbench, ${c} clients`),
    ];
    const medians = [...dibs.values(), ...direct.values()].map(median);
    report.table('Cycles/s:', ['round', ...columns, 'notes'], [...rows, ['median', ...medians, '']]);
    report.plot(
      'cycle.svg',
      barChart({ title: 'Cycles/s', bars: columns.map((label, i) => [label, medians[i]]) }),
    );
    const best = Math.max(...[...direct.values()].map(median));
    for (const c of connections)
      report.line({
        number: 1,
        what: `cycles/s over HTTP at ${c} connections`,
        against: `pgbench, plain statements, at its best: ${Math.round(best)}/s`,
        value: median(dibs.get(c)) / best,
        atLeast: TARGETS[c],
      });
  },
);
