// What the history costs a job that is enqueued, claimed and acked: the cycle with and without its trigger, in turn.
import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
const MOST_LOSS = 0.03;

await benchmark(
  {
    name: 'history',
    title: 'What the history costs',
    full: { rounds: 9, seconds: 10, connections: 64 },
    short: { rounds: 5, seconds: 3 },
    maxSeconds: 1800,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const job = jobText(QUEUE);
    const url = await postgres.database('dibs_history');
    const replica = await startReplica(url);
    await fill(replica.url, READY, job);
    await cycle(replica.url, QUEUE, job, { connections, seconds: 2 });
    const sides = { with: [], without: [] };
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      await settle(url);
      for (const side of round % 2 ? ['with', 'without'] : ['without', 'with']) {
        await query(
          url,
          `alter table dibs.jobs ${side === 'with' ? 'enable' : 'disable'} trigger jobs_history`,
        );
        sides[side].push((await cycle(replica.url, QUEUE, job, { connections, seconds })).cycles);
      }
      rows.push([round, sides.with.at(-1), sides.without.at(-1)]);
    }
    report.table('Cycles/s:', ['round', 'with', 'without'], rows);
    report.line({
      number: 24,
      what: 'cycles with the history',
      against: 'without it',
      value: median(sides.with) / median(sides.without),
      atLeast: 1 - MOST_LOSS,
    });
  },
);
