// #15: claims of jobs with fairness keys, against jobs without keys. Workers claim and ack a full queue.
import { benchmark } from './lib/bench.mjs';
import { drain, fill, jobText } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { trouble, wrk } from './lib/wrk.mjs';

/** The text of a job, or a function of i that gives it, for a queue with this number of keys. */
const job = (queue, keys) =>
  keys === 0
    ? jobText(queue)
    : (i) => jobText(queue, { fairness_key: `tenant-${String(i % keys).padStart(5, '0')}` });

await benchmark(
  {
    name: 'fairness',
    title: 'Claims of jobs with fairness keys against claims of jobs without',
    full: { rounds: 5, jobs: 250_000, seconds: 4, keys: [0, 1, 10, 1000], limits: [1, 100], connections: 64 },
    short: { rounds: 1, jobs: 100_000, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, jobs, seconds, keys, limits, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_fairness');
    const replica = await startReplica(url);
    const found = new Map();
    const rows = [];
    for (let round = 1; round <= rounds; round++)
      for (const limit of limits)
        for (const count of keys) {
          const queue = `keys.${count}`;
          await fill(replica.url, jobs, job(queue, count));
          await settle(url);
          const result = await wrk(replica.url, {
            script: 'drain',
            connections: limit === 1 ? connections : 4,
            seconds,
            args: [queue, String(limit)],
          });
          await drain(replica.url, queue);
          const rate = result.acked / result.seconds;
          const kept = found.get(`${count} ${limit}`) ?? [];
          found.set(`${count} ${limit}`, [...kept, rate]);
          rows.push([round, count, limit, rate, trouble(result)]);
        }
    report.table('Jobs claimed and acked a second:', ['round', 'keys', 'limit', 'jobs/s', 'notes'], rows);
    for (const limit of limits)
      for (const count of keys.filter((n) => n > 0)) {
        const [fair, plain] = [count, 0].map((n) => median(found.get(`${n} ${limit}`)));
        report.line({
          number: 15,
          what: `jobs/s with ${count} keys, limit ${limit}: ${Math.round(fair)}`,
          against: `without keys: ${Math.round(plain)}`,
          value: fair / plain,
        });
      }
  },
);
