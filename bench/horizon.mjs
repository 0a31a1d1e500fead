// #5 and #6: cycles while another transaction holds the xmin horizon, so that no dead row can be removed: the
// last ten seconds against the first. Once with plain jobs, once with a random mix of priorities, delays and
// retries.
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { plainQueue } from './lib/pgbench.mjs';
import { lineChart } from './lib/plot.mjs';
import { holdHorizon, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50 } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
const KINDS = [
  { number: 5, script: 'cycle', name: 'plain jobs', atMost: 1.3, first: jobText(QUEUE) },
  {
    number: 6,
    script: 'mixed',
    name: 'priorities, delays and retries',
    atMost: 1.5,
    first: (i) => jobText(QUEUE, { priority: (i % 201) - 100, max_attempts: 1000 }),
  },
];

/** Claims and acks beside the load, one job at a time, until stopped. Returns the times of the claims. */
function probe(url) {
  const http = client(url);
  const times = [];
  let stopped = false;
  const ended = (async () => {
    while (!stopped) {
      const { ms, body } = await http.post('/jobs/claim', { queues: [QUEUE] });
      const [job] = body.jobs;
      if (!job) continue;
      times.push(ms);
      await http.post(`/jobs/${job.id}/ack`, { lease_token: job.lease_token });
      await http.post('/jobs', jobText(QUEUE));
    }
  })();
  return async () => {
    stopped = true;
    await ended;
    http.close();
    return times;
  };
}

await benchmark(
  {
    name: 'horizon',
    title: 'Cycles while another transaction holds the xmin horizon',
    full: { rounds: 5, connections: 64, seconds: 300, window: 10, plainseconds: 60 },
    short: { rounds: 1, seconds: 20, window: 5, plainseconds: 15 },
    maxSeconds: 5 * 3600,
  },
  async ({ options: { rounds, connections, seconds, window, plainseconds }, postgres, report }) => {
    const courses = [];

    /** Runs window after window while the horizon is held. Returns a row for each window. */
    async function course({ script, name, first }, round) {
      const database = `dibs_${script}_${round}`;
      const url = await postgres.database(database);
      const replica = await startReplica(url);
      await fill(replica.url, READY, first);
      await cycle(replica.url, QUEUE, jobText(QUEUE), { connections, seconds: 2, script });
      await settle(url);
      const release = await holdHorizon(url);
      const windows = [];
      for (let at = 0; at <= seconds; at += window) {
        const stop = probe(replica.url);
        const { cycles, trouble } = await cycle(replica.url, QUEUE, jobText(QUEUE), {
          connections,
          seconds: window,
          script,
        });
        windows.push({ at, cycles, p50: p50(await stop()), trouble });
      }
      await release();
      await replica.stop();
      await postgres.drop(database);
      report.table(
        `${name}, round ${round}, ${connections} connections:`,
        ['from second', 'cycles/s', 'claim p50, ms', 'notes'],
        windows.map((w) => [w.at, w.cycles, w.p50, w.trouble]),
      );
      courses.push({ name: round === 1 ? name : '', windows });
      return windows;
    }

    const ratios = new Map(KINDS.map((kind) => [kind, { cycles: [], p50: [] }]));
    for (let round = 1; round <= rounds; round++)
      for (const kind of KINDS) {
        const windows = await course(kind, round);
        const [first, last] = [windows[0], windows.at(-1)];
        ratios.get(kind).cycles.push(first.cycles / last.cycles);
        ratios.get(kind).p50.push(last.p50 / first.p50);
      }
    const reference = await plainCourse();
    for (const [kind, { cycles, p50: claims }] of ratios)
      for (const [what, values] of [
        ['cycles/s fall by', cycles],
        ['claim p50 rises by', claims],
      ])
        report.line({
          number: kind.number,
          what: `${kind.name}, after ${seconds} s with the horizon held: ${what}`,
          against: `the first ${window} s (each round: ${values.map((v) => v.toFixed(2)).join(', ')})`,
          value: median(values),
          atMost: kind.atMost,
        });
    const named = [...courses.filter((c) => c.name), { name: 'plain table, pgbench', windows: reference }];
    report.plot(
      'horizon.svg',
      lineChart({
        title: 'Cycles/s while the xmin horizon is held',
        xLabel: 'seconds',
        series: named.map((c) => ({ name: c.name, points: c.windows.map((w) => [w.at, w.cycles]) })),
      }),
    );

    /** The plain table in the same situation, for comparison. */
    async function plainCourse() {
      const plain = await plainQueue(postgres, 'plain_horizon');
      await plain.cycles(32, 1);
      await settle(plain.url);
      const release = await holdHorizon(plain.url);
      const windows = [];
      for (let at = 0; at < plainseconds; at += window)
        windows.push({ at, cycles: await plain.cycles(32, window) });
      await release();
      report.table(
        'For comparison, the plain table with its partial index (pgbench, 32 clients):',
        ['from second', 'cycles/s'],
        windows.map((w) => [w.at, w.cycles]),
      );
      return windows;
    }
  },
);
