// #3: batches of 100 (enqueue, claim, settle) over HTTP, against the same in pgbench with unnest and any.
import { benchmark } from './lib/bench.mjs';
import { fill, jobText } from './lib/jobs.mjs';
import { plainQueue } from './lib/pgbench.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { trouble, wrk } from './lib/wrk.mjs';

const QUEUE = 'bench';
const BATCH = 100;

await benchmark(
  {
    name: 'batches',
    title: 'Batches of 100 over HTTP against the same batches in SQL',
    full: { rounds: 5, seconds: 10, connections: [8, 32, 64], clients: [8, 32, 64] },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections, clients }, postgres, report }) => {
    const url = await postgres.database('dibs_batches');
    const replica = await startReplica(url);
    const job = jobText(QUEUE);
    // Twice as many as all connections claim at once, so that every claim finds its hundred.
    const ready = BATCH * Math.max(...connections, ...clients) * 2;
    await fill(replica.url, ready, job);
    const plain = await plainQueue(postgres, 'plain_batches', ready);
    const overHttp = async (c, s) => {
      const args = [QUEUE, job, `${BATCH}`];
      const result = await wrk(replica.url, { script: 'batches', connections: c, seconds: s, args });
      return { jobs: result.acked / result.seconds, trouble: trouble(result) };
    };
    await overHttp(8, 2);
    await plain.batches(8, 1);

    const dibs = new Map(connections.map((c) => [c, []]));
    const direct = new Map(clients.map((c) => [c, []]));
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      const notes = [];
      await settle(url);
      for (const c of connections) {
        const result = await overHttp(c, seconds);
        dibs.get(c).push(result.jobs);
        if (result.trouble) notes.push(`at ${c}: ${result.trouble}`);
      }
      await settle(plain.url);
      for (const c of clients) direct.get(c).push(await plain.batches(c, seconds));
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
    report.table(
      `Jobs/s in batches of ${BATCH}:`,
      ['round', ...columns, 'notes'],
      [...rows, ['median', ...medians, '']],
    );
    const best = (side) => Math.max(...[...side.values()].map(median));
    report.line({
      number: 3,
      what: `jobs/s in batches of ${BATCH} over HTTP, at its best: ${Math.round(best(dibs))}/s`,
      against: `pgbench with unnest and any, at its best: ${Math.round(best(direct))}/s`,
      value: best(dibs) / best(direct),
      atLeast: 0.6,
    });
  },
);
