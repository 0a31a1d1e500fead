// #39: an enqueue over one connection, against what it cannot do without: one insert in PostgreSQL, and one request to a bare Fastify
// route with the same schemas.
import { benchmark } from './lib/bench.mjs';
import { drain, jobText, leaseOf } from './lib/jobs.mjs';
import { plainQueue } from './lib/pgbench.mjs';
import { settle } from './lib/postgres.mjs';
import { startBare, startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { trouble, wrk } from './lib/wrk.mjs';

const QUEUE = 'lone';

await benchmark(
  {
    name: 'lone',
    title: 'One connection: an enqueue against an insert and a bare request',
    full: { rounds: 7, seconds: 5 },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 600,
  },
  async ({ options: { rounds, seconds }, postgres, report }) => {
    const url = await postgres.database('dibs_lone');
    const replica = await startReplica(url);
    const bare = await startBare();
    const plain = await plainQueue(postgres, 'plain_lone');
    const job = jobText(QUEUE);

    /** The median time of a request, in ms. */
    const timed = async (base) => {
      const result = await wrk(base, { script: 'enqueue', connections: 1, seconds, args: [job] });
      if (trouble(result)) throw new Error(trouble(result));
      return result.p50_ms;
    };
    const sides = {
      'bare request': () => timed(bare.url),
      'pgbench, one insert': () => plain.insertMs(seconds),
      'POST /jobs': () => timed(replica.url),
    };
    // V8 compiles what runs often.
    for (const warm of [bare, replica])
      await wrk(warm.url, { script: 'enqueue', connections: 64, seconds: 8, args: [job] });

    const found = Object.keys(sides).map(() => []);
    const ratios = [];
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      await drain(replica.url, QUEUE, {
        each: (jobs, http) => http.post('/jobs/settle', { acks: jobs.map(leaseOf) }),
      });
      await settle(url);
      const times = [];
      for (const run of Object.values(sides)) times.push(await run());
      for (const [i, ms] of times.entries()) found[i].push(ms);
      const [request, insert, enqueue] = times;
      ratios.push(enqueue / (request + insert));
      rows.push([round, ...times, ratios.at(-1)]);
    }
    report.table(
      'Milliseconds, p50 (pgbench: the mean):',
      ['round', ...Object.keys(sides), 'ratio'],
      [...rows, ['median', ...found.map(median), median(ratios)]],
    );
    report.line({
      number: 39,
      what: `an enqueue, p50: ${median(found[2]).toFixed(2)} ms`,
      against: `an insert and a bare request: ${(median(found[0]) + median(found[1])).toFixed(2)} ms`,
      value: median(ratios),
      atMost: 1.5,
    });
  },
);
