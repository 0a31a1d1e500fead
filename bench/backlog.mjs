// #4: the time of a claim with millions of ready jobs, against a claim with a thousand.
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, leaseOf } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const QUEUE = 'bench';

/** Times of `count` claims in ms, one after the other. Each job is acked and enqueued again. */
async function claims(url, limit, count) {
  const http = client(url);
  const times = [];
  const again = { jobs: Array(limit).fill(JSON.parse(jobText(QUEUE))) };
  for (let i = 0; i < count; i++) {
    const { ms, body } = await http.post('/jobs/claim', { queues: [QUEUE], limit });
    if (body.jobs.length !== limit) throw new Error(`a claim of ${limit} got ${body.jobs.length} jobs`);
    times.push(ms);
    await http.post('/jobs/settle', { acks: body.jobs.map(leaseOf) });
    await http.post('/jobs/batch', again);
  }
  http.close();
  return times;
}

await benchmark(
  {
    name: 'backlog',
    title: 'Claims from a long queue against claims from a short one',
    full: { rounds: 5, jobs: 5_000_000, few: 1000, limits: [1, 100], claims: 1000 },
    short: { rounds: 3, jobs: 200_000, claims: 200 },
    maxSeconds: 3600,
  },
  async ({ options, postgres, report }) => {
    const { rounds, jobs, few, limits } = options;
    // A database and a replica for each side: in one table, the short queue would share the long index.
    const sides = [];
    for (const [name, count] of [
      ['few', few],
      ['many', jobs],
    ]) {
      const url = await postgres.database(`dibs_${name}`);
      const replica = await startReplica(url);
      const started = performance.now();
      await fill(replica.url, count, jobText(QUEUE));
      report.say(`${count} jobs enqueued in ${Math.round((performance.now() - started) / 1000)} s.`);
      sides.push({ name, count, url, replica });
    }
    for (const { replica } of sides) for (const limit of limits) await claims(replica.url, limit, 100);

    const found = new Map();
    const rows = [];
    for (let round = 1; round <= rounds; round++)
      for (const { name, count, url, replica } of sides) {
        await settle(url);
        for (const limit of limits) {
          const times = await claims(replica.url, limit, options.claims);
          const key = `${name} ${limit}`;
          const kept = found.get(key) ?? { p50: [], p99: [] };
          found.set(key, kept);
          kept.p50.push(p50(times));
          kept.p99.push(p99(times));
          rows.push([round, count, limit, p50(times), p99(times)]);
        }
      }
    report.table('Claims one after the other, ms:', ['round', 'ready jobs', 'limit', 'p50', 'p99'], rows);
    for (const limit of limits)
      for (const q of ['p50', 'p99']) {
        const [short, long] = ['few', 'many'].map((name) => median(found.get(`${name} ${limit}`)[q]));
        report.line({
          number: 4,
          what: `claim ${q}, limit ${limit}, with ${jobs} ready jobs: ${long.toFixed(2)} ms`,
          against: `with ${few}: ${short.toFixed(2)} ms`,
          value: long / short,
          atMost: 1.2,
        });
      }
  },
);
