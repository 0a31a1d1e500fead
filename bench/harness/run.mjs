// Runs adapters of hardbyte/postgresql-job-queue-benchmarking in turn, each run with a database of its own on one PostgreSQL.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { benchmark } from '../lib/bench.mjs';
import { atEnd } from '../lib/cleanup.mjs';
import { query, settle, written } from '../lib/postgres.mjs';
import { median } from '../lib/stats.mjs';

const ADAPTER = fileURLToPath(new URL('./adapter.mjs', import.meta.url));
const DIBS = { name: 'dibs', command: [process.execPath, ADAPTER] };
/** These of the harness need their extensions made first. */
const EXTENSIONS = ['pgstattuple'];
const SAMPLE_SECONDS = 1;
const STOP_MS = 10_000;
const METRICS = ['completion_rate', 'claim_p50_ms', 'claim_p99_ms', 'end_to_end_p99_ms'];
const COSTS = ['walBytes', 'commits'];
/** The time from the enqueue to the handler, with its targets in ms. */
const PICKUP = [
  ['p50', 'claim_p50_ms', 2],
  ['p99', 'claim_p99_ms', 6],
];

/** `name=command with arguments`, separated by `;` */
const sidesIn = (text) =>
  text
    .split(';')
    .filter(Boolean)
    .map((side) => {
      const [, name, command] = /^([\w-]+)=(.+)$/.exec(side.trim()) ?? [];
      if (!name) throw new Error(`--sides takes name=command;name=command, not ${side}`);
      return { name, command: command.split(/\s+/) };
    });

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Runs an adapter for `seconds` after its warm-up. Returns the medians of its samples, and what the database wrote for a job. */
async function run({ name, command: [file, ...args] }, url, { seconds, warmSeconds, env }) {
  const child = spawn(file, args, {
    env: {
      ...process.env,
      DATABASE_URL: url,
      SCENARIO: 'long_horizon',
      SAMPLE_EVERY_S: String(SAMPLE_SECONDS),
      PRODUCER_PACING: 'adapter',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  atEnd(() => isAlive() && child.kill('SIGKILL'));
  const samples = new Map(METRICS.map((metric) => [metric, []]));
  let startedAt = Number.POSITIVE_INFINITY;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    const { kind, metric, value } = JSON.parse(line);
    if (kind === 'descriptor') startedAt = performance.now();
    const ran = performance.now() - startedAt;
    if (ran > warmSeconds * 1000 && ran < (warmSeconds + seconds) * 1000) samples.get(metric)?.push(value);
  });
  const tooLate = performance.now() + 60_000;
  while (startedAt === Number.POSITIVE_INFINITY && isAlive() && performance.now() < tooLate) await sleep(100);
  await Promise.race([sleep(warmSeconds * 1000), exited]);
  const before = await written(url);
  await Promise.race([sleep(seconds * 1000), exited]);
  const after = await written(url);
  if (!isAlive()) throw new Error(`${name} ended by itself`);
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(late);
  const jobs = mean(samples.get('completion_rate')) * seconds;
  return Object.fromEntries([
    ...[...samples].map(([metric, values]) => [metric, median(values)]),
    ...COSTS.map((cost) => [cost, (after[cost] - before[cost]) / jobs]),
  ]);
}

await benchmark(
  {
    name: 'harness/run',
    title: 'The public harness, without containers',
    full: {
      rounds: 3,
      seconds: 20,
      // The latencies that an adapter tells are those of its last 30 s. Those of its start must not be among them.
      warmSeconds: 35,
      workers: [16, 64, 256],
      rate: 0,
      depth: 4000,
      sides: '',
    },
    short: { rounds: 1, seconds: 5, workers: [64] },
    maxSeconds: 7200,
  },
  async ({
    options: { rounds, seconds, warmSeconds, workers, rate, depth, sides: others },
    postgres,
    report,
  }) => {
    const sides = [DIBS, ...sidesIn(others)];
    /** Each run has an empty database: jobs that the run before left would come first. */
    async function inNewDatabase(side, env) {
      const name = `${side.name.replaceAll('-', '_')}_bench`;
      const url = await postgres.database(name);
      for (const extension of EXTENSIONS) await query(url, `create extension if not exists ${extension}`);
      await settle(url);
      const found = await run(side, url, { seconds, warmSeconds, env });
      await postgres.drop(name);
      return found;
    }
    const load =
      rate > 0
        ? { PRODUCER_MODE: 'fixed', PRODUCER_RATE: String(rate) }
        : { PRODUCER_MODE: 'depth-target', TARGET_DEPTH: String(depth) };
    for (const count of workers) {
      const found = new Map(sides.map(({ name }) => [name, []]));
      for (let round = 0; round < rounds; round++)
        for (let i = 0; i < sides.length; i++) {
          const side = sides[(i + round) % sides.length];
          found.get(side.name).push(await inNewDatabase(side, { ...load, WORKER_COUNT: String(count) }));
        }
      report.table(
        `${count} workers, ${rate > 0 ? `${rate} jobs/s` : `${depth} jobs waiting`}; medians of ${rounds} rounds:`,
        [
          ...['', 'jobs/s', 'pickup p50, ms', 'pickup p99, ms', 'end to end p99, ms'],
          ...['WAL bytes a job', 'commits a job'],
        ],
        [...found].map(([name, runs]) => [
          name,
          ...[...METRICS, ...COSTS].map((what) => median(runs.map((of) => of[what]))),
        ]),
      );
      if (rate === 0) continue;
      for (const [name, runs] of found)
        for (const [what, metric, atMost] of PICKUP)
          report.line({
            number: 31,
            what: `pickup at ${rate} jobs/s, ${count} workers, ${what}: ${name}`,
            value: median(runs.map((of) => of[metric])),
            unit: ' ms',
            ...(name === DIBS.name && { atMost }),
          });
    }
  },
);
