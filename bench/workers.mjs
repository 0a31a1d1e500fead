// #7: throughput by the number of workers on one queue.
import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { lineChart } from './lib/plot.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';

await benchmark(
  {
    name: 'workers',
    title: 'One queue, more and more workers',
    full: { rounds: 5, seconds: 5, workers: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] },
    short: { rounds: 1, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, workers }, postgres, report }) => {
    const url = await postgres.database('dibs_workers');
    const replica = await startReplica(url);
    const job = jobText(QUEUE);
    await fill(replica.url, READY, job);
    await cycle(replica.url, QUEUE, job, { connections: 64, seconds: 2 });

    const found = new Map(workers.map((w) => [w, []]));
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      await settle(url);
      const notes = [];
      for (const w of workers) {
        const { cycles, trouble } = await cycle(replica.url, QUEUE, job, { connections: w, seconds });
        found.get(w).push(cycles);
        if (trouble) notes.push(`${w}: ${trouble}`);
      }
      rows.push([round, ...workers.map((w) => found.get(w).at(-1)), notes.join('; ')]);
    }

    const medians = workers.map((w) => median(found.get(w)));
    report.table(
      'Cycles/s by number of workers:',
      ['round', ...workers, 'notes'],
      [...rows, ['median', ...medians, '']],
    );
    report.plot(
      'workers.svg',
      lineChart({
        title: 'Cycles/s by number of workers',
        xLabel: 'workers',
        logX: true,
        series: [{ name: 'Dibs, one replica', points: workers.map((w, i) => [w, medians[i]]) }],
      }),
    );
    const peak = medians.indexOf(Math.max(...medians));
    const least = Math.min(...medians.slice(peak));
    report.line({
      number: 7,
      what: `cycles/s with up to ${workers.at(-1)} workers, the least beyond the peak`,
      against: `the peak: ${Math.round(medians[peak])}/s with ${workers[peak]} workers`,
      value: least / medians[peak],
      atLeast: 0.8,
    });
  },
);
