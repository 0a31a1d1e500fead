// #23: what traces cost: the cycle without the code for them, with traces off, and with all requests traced, in turn.
import { createServer } from 'node:http';
import { benchmark } from './lib/bench.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { cpuSecondsOf } from './lib/cpu.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
const WITHOUT = new URL('./lib/noTraces.mjs', import.meta.url).href;
const MOST_LOSS = 0.02;

/** A collector that forgets what it is sent. */
async function startCollector() {
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  await new Promise((done) => collector.listen(0, '127.0.0.1', done));
  atEnd(() => {
    collector.closeAllConnections();
    collector.close();
  });
  return `http://127.0.0.1:${collector.address().port}`;
}

await benchmark(
  {
    name: 'traces',
    title: 'What traces cost',
    full: { rounds: 9, seconds: 10, connections: 64 },
    short: { rounds: 3, seconds: 3 },
    maxSeconds: 1800,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const job = jobText(QUEUE);
    const url = await postgres.database('dibs_traces');
    const replicas = {
      without: await startReplica(url, {}, undefined, WITHOUT),
      off: await startReplica(url),
      on: await startReplica(url, { OTEL_EXPORTER_OTLP_ENDPOINT: await startCollector() }),
    };
    await fill(replicas.off.url, READY, job);
    const sides = Object.keys(replicas);
    const cycles = Object.fromEntries(sides.map((side) => [side, []]));
    const used = Object.fromEntries(sides.map((side) => [side, []]));
    for (const side of sides) await cycle(replicas[side].url, QUEUE, job, { connections, seconds: 2 });
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      await settle(url);
      for (const side of round % 2 ? sides : sides.toReversed()) {
        const before = cpuSecondsOf(replicas[side].pid);
        const done = await cycle(replicas[side].url, QUEUE, job, { connections, seconds });
        cycles[side].push(done.cycles);
        used[side].push(((cpuSecondsOf(replicas[side].pid) - before) * 1e6) / (done.cycles * seconds));
      }
      rows.push([
        round,
        ...sides.map((side) => cycles[side].at(-1)),
        ...sides.map((side) => used[side].at(-1).toFixed(1)),
      ]);
    }
    report.table(
      'Cycles/s, and microseconds of processor time of the service for each cycle:',
      ['round', ...sides, ...sides.map((side) => `${side}, us`)],
      rows,
    );
    report.line({
      number: 23,
      what: 'processor time of a cycle without the code for traces',
      against: 'with traces off',
      value: median(used.without) / median(used.off),
      atLeast: 1 - MOST_LOSS,
    });
    report.line({
      number: 23,
      what: 'processor time of a cycle with traces off',
      against: 'with every request traced',
      value: median(used.off) / median(used.on),
    });
  },
);
