// #2: POST /jobs and the mixed cycle, against a bare Fastify route with the same schemas and no database.
import { benchmark } from './lib/bench.mjs';
import { drain, fill, jobText, leaseOf, READY } from './lib/jobs.mjs';
import { barChart } from './lib/plot.mjs';
import { settle } from './lib/postgres.mjs';
import { startBare, startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle, trouble, wrk } from './lib/wrk.mjs';

const TARGETS = { 'POST /jobs': { 64: 0.55, 256: 0.65 }, 'mixed cycle': { 64: 0.65, 256: 0.88 } };

await benchmark(
  {
    name: 'http',
    title: 'Requests over HTTP against a bare Fastify route',
    full: { rounds: 5, seconds: 10, connections: [64, 256] },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_http');
    const replica = await startReplica(url);
    const bare = await startBare();
    // Enqueued jobs have a queue of their own, emptied after each round: every round has small tables.
    const heap = jobText('heap');
    const mixed = jobText('mixed');
    await fill(replica.url, READY, mixed);

    const sides = {
      'bare route': async (c) => {
        const result = await wrk(bare.url, { script: 'enqueue', connections: c, seconds, args: [heap] });
        if (trouble(result)) throw new Error(`The bare route does not answer like Dibs: ${trouble(result)}`);
        return result;
      },
      'POST /jobs': async (c) =>
        wrk(replica.url, { script: 'enqueue', connections: c, seconds, args: [heap] }),
      'mixed cycle': (c) => cycle(replica.url, 'mixed', mixed, { connections: c, seconds }),
    };
    for (const run of Object.values(sides)) await run(64);

    const columns = Object.keys(sides).flatMap((side) => connections.map((c) => `${side}, ${c}`));
    const found = new Map(columns.map((column) => [column, []]));
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      const notes = [];
      for (const [side, run] of Object.entries(sides)) {
        await settle(url);
        for (const c of connections) {
          const result = await run(c);
          found.get(`${side}, ${c}`).push(result.rps);
          if (trouble(result)) notes.push(`${side} at ${c}: ${trouble(result)}`);
        }
      }
      rows.push([round, ...[...found.values()].map((values) => values.at(-1)), notes.join('; ')]);
      await drain(replica.url, 'heap', {
        each: (jobs, http) => http.post('/jobs/settle', { acks: jobs.map(leaseOf) }),
      });
    }

    const medians = new Map([...found].map(([column, values]) => [column, median(values)]));
    report.table(
      'Requests/s at each number of connections:',
      ['round', ...columns, 'notes'],
      [...rows, ['median', ...medians.values(), '']],
    );
    report.plot('http.svg', barChart({ title: 'Requests/s', bars: [...medians] }));
    for (const side of ['POST /jobs', 'mixed cycle'])
      for (const c of connections)
        report.line({
          number: 2,
          what: `requests/s of ${side} at ${c} connections`,
          against: `a bare Fastify route without a database: ${Math.round(medians.get(`bare route, ${c}`))}/s`,
          value: medians.get(`${side}, ${c}`) / medians.get(`bare route, ${c}`),
          atLeast: TARGETS[side][c],
        });
  },
);
