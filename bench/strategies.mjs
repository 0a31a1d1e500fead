// #14: 1, 2, 4 and 8 workers do 10,000 jobs. A job is the MD5 of its payload. The workers pop their rows in
// SQL in each way that is in use, or work with Dibs over HTTP.
import { benchmark } from './lib/bench.mjs';
import { lineChart } from './lib/plot.mjs';
import { startReplica } from './lib/service.mjs';
import { median, show } from './lib/stats.mjs';
import { dibsWays } from './strategies/dibs.mjs';
import { run } from './strategies/run.mjs';
import { sqlWays } from './strategies/sql.mjs';

await benchmark(
  {
    name: 'strategies',
    title: 'Ways of popping a row in SQL, and Dibs over HTTP',
    full: { rounds: 5, jobs: 10_000, workers: [1, 2, 4, 8] },
    short: { rounds: 1, jobs: 2000, workers: [1, 8] },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, jobs, workers }, postgres, report }) => {
    const url = await postgres.database('dibs_strategies');
    const dibs = dibsWays(await startReplica(url), url);
    const sql = await sqlWays(await postgres.database('plain_strategies'));
    const ways = [...sql.single, dibs.single, dibs.together, ...sql.batched, dibs.batched];
    const leased = sql.single.filter(({ name }) => name.startsWith('leased'));
    const widest = Math.max(...workers);
    for (const way of ways) await run(way, widest, 2000);

    const found = new Map(ways.map((way) => [way, new Map(workers.map((w) => [w, []]))]));
    for (let round = 1; round <= rounds; round++)
      for (const w of workers)
        for (const way of ways)
          found
            .get(way)
            .get(w)
            .push(await run(way, w, jobs));

    const middle = (way, w, what) =>
      median(
        found
          .get(way)
          .get(w)
          .map((result) => result[what]),
      );
    const eachRound = (way, w) =>
      found
        .get(way)
        .get(w)
        .map(({ seconds }) => show(seconds))
        .join(', ');
    report.table(
      `Seconds for ${show(jobs)} jobs, round by round:`,
      ['way', ...workers.map((w) => `${w} workers`)],
      ways.map((way) => [way.name, ...workers.map((w) => eachRound(way, w))]),
    );
    const spread = (way) => {
      const results = found.get(way).get(widest);
      return `${Math.min(...results.map(({ least }) => least))} to ${Math.max(...results.map(({ most }) => most))}`;
    };
    report.table(
      `The medians in seconds, and other observations with ${widest} workers:`,
      [
        'way',
        ...workers.map((w) => `${w} workers`),
        'rows done twice',
        'empty tries',
        'jobs per worker',
        "workers' µs a job",
      ],
      ways.map((way) => [
        way.name,
        ...workers.map((w) => middle(way, w, 'seconds')),
        middle(way, widest, 'twice'),
        middle(way, widest, 'empty'),
        spread(way),
        Math.round(middle(way, widest, 'cpu')),
      ]),
    );
    report.plot(
      'strategies.svg',
      lineChart({
        title: `Seconds for ${show(jobs)} jobs by number of workers`,
        xLabel: 'workers',
        logX: true,
        series: ways.map((way) => ({
          name: way.name,
          points: workers.map((w) => [w, middle(way, w, 'seconds')]),
        })),
      }),
    );

    const secondsOf = (way) => middle(way, widest, 'seconds');
    for (const [way, others, atLeast] of [
      [dibs.single, sql.single, 1],
      [dibs.together, leased, 1],
      [dibs.batched, sql.single, 1],
      [dibs.batched, sql.batched],
    ]) {
      const best = others.toSorted((a, b) => secondsOf(a) - secondsOf(b))[0];
      report.line({
        number: 14,
        what: `jobs/s of ${widest} workers: ${way.name}, ${show(secondsOf(way))} s`,
        against: `the fastest in SQL: ${best.name}, ${show(secondsOf(best))} s`,
        value: secondsOf(best) / secondsOf(way),
        atLeast,
      });
    }
  },
);
