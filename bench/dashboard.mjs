// #25: how long each screen of the dashboard takes with millions of jobs in 1,000 queues, and what a page that polls costs.
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { ERRORS, fillForDashboard, queueName, WORKERS } from './lib/dashboardFill.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p95 } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const MOST_MS = 100;
const MOST_LOSS = 0.02;
const LOADED = 'loaded';
/** The wait for the first whole count. */
const PATIENCE_MS = 900_000;

/** What each screen asks for, all at once, as the page does. `n` counts up, so that each look is at another queue or job. */
function screensOf({ queues, dead, any }) {
  const queue = (n) => queueName((n * 7919) % queues);
  const at = (list, n) => list[(n * 31) % list.length];
  const jobs = (n, more) => [`/jobs?limit=50&queue=${queue(n)}&${more}`];
  const day = (days) => encodeURIComponent(new Date(Date.now() - days * 86_400_000).toISOString());
  const job = (id) => [`/jobs/${id}?payload_format=text`, `/jobs/${id}/explain`, `/jobs/${id}/history`];
  return {
    'front page': () => ['/overview?limit=100'],
    'front page, the last hour': () => ['/overview/samples?minutes=60'],
    'queues by name': (n) => [`/queues?limit=50${n % 2 ? '' : `&name_contains=${n % 10}`}`],
    'a queue': (n) => [
      `/queues/${queue(n)}`,
      `/queues/${queue(n)}/explain`,
      `/overview?limit=1&queue=${queue(n)}`,
    ],
    'the largest queue': () => [
      `/queues/${queueName(0)}`,
      `/queues/${queueName(0)}/explain`,
      `/overview?limit=1&queue=${queueName(0)}`,
    ],
    'a queue, the last hour': (n) => [`/overview/samples?minutes=60&queue=${queue(n)}`],
    'jobs of all queues': () => ['/jobs?limit=50'],
    'dead jobs of all queues': () => ['/jobs?limit=50&state=dead'],
    'ready jobs of all queues': () => ['/jobs?limit=50&state=ready'],
    'leased jobs of all queues': () => ['/jobs?limit=50&state=leased'],
    'jobs of all queues by group': (n) => [`/jobs?limit=50&group=group-${n * 1000}`],
    'jobs of a queue': (n) => jobs(n, ''),
    'jobs by state': (n) =>
      jobs(n, `state=${['dead', 'scheduled', 'blocked', 'completed', 'ready', 'leased'][n % 6]}`),
    'jobs by group': (n) => jobs(n, `group=group-${n * 1000}`),
    'leased jobs of the largest queue': () => [`/jobs?limit=50&queue=${queueName(0)}&state=leased`],
    'ready jobs of the largest queue': () => [`/jobs?limit=50&queue=${queueName(0)}&state=ready`],
    'ready jobs of a queue where others are dead': () => [
      `/jobs?limit=50&queue=${queueName(queues - 1)}&state=ready`,
    ],
    'leased jobs of a queue where all are dead': () => [
      `/jobs?limit=50&queue=${queueName(queues - 1)}&state=leased`,
    ],
    'dead jobs of a group': (n) => jobs(n, `state=dead&group=group-${n * 1000}`),
    'a queue where others are dead': () => [
      `/queues/${queueName(queues - 1)}`,
      `/queues/${queueName(queues - 1)}/explain`,
      `/overview?limit=1&queue=${queueName(queues - 1)}`,
    ],
    'jobs by unique key': (n) => jobs(n, `unique_key=nobody-${n}`),
    'jobs by fairness key': (n) => jobs(n, `fairness_key=customer-${n % 997}`),
    'jobs by worker': (n) => jobs(n, `state=leased&worker=worker-${n % WORKERS}`),
    'jobs by worker, any state': (n) => jobs(n, `worker=worker-${n % WORKERS}`),
    'jobs by error': (n) =>
      jobs(n, `state=dead&error_contains=${encodeURIComponent(ERRORS[n % ERRORS.length])}`),
    'jobs by an error that none has': () => [
      `/jobs?limit=50&queue=${queueName(0)}&state=dead&error_contains=nobody`,
    ],
    'jobs by time': (n) => jobs(n, `created_after=${day(3)}&created_before=${day(2)}`),
    'oldest jobs': (n) => jobs(n, 'order=oldest'),
    'a job': (n) => job(at(any, n)),
    'a dead job': (n) => job(at(dead, n)),
    schedules: () => ['/schedules?limit=100'],
    operations: () => ['/operations?limit=50'],
    audit: () => ['/audit?limit=50'],
    'audit by name': (n) => [`/audit?limit=50&actor=key-${n % 20}`],
    'audit by queue': (n) => [`/audit?limit=50&queue=${queue(n)}`],
    keys: () => ['/keys?limit=100'],
  };
}

/** Three tabs that are open: the front page, a queue, and its dead jobs. */
async function page(http, screens, seconds) {
  const until = performance.now() + seconds * 1000;
  const failed = [];
  const tab = async (everyMs, ...names) => {
    for (let n = 0; performance.now() < until; n++) {
      for (const path of names.flatMap((name) => screens[name](n))) {
        const { status } = await http.call('GET', path);
        if (status !== 200) failed.push(`${path}: ${status}`);
      }
      await sleep(Math.max(0, Math.min(everyMs, until - performance.now())));
    }
  };
  await Promise.all([
    tab(2000, 'front page'),
    tab(2000, 'a queue'),
    tab(10_000, 'front page'),
    tab(5000, 'jobs by state'),
    tab(10_000, 'front page'),
  ]);
  if (failed.length > 0) throw new Error(failed[0]);
}

await benchmark(
  {
    name: 'dashboard',
    title: 'The dashboard',
    full: { jobs: 10_000_000, queues: 1000, looks: 100, rounds: 5, seconds: 20, connections: 64 },
    short: { jobs: 200_000, looks: 30, rounds: 3, seconds: 5 },
    maxSeconds: 3 * 3600,
  },
  async ({ options: { jobs, queues, looks, rounds, seconds, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_dashboard');
    const replica = await startReplica(url);
    const say = (text) => process.stderr.write(`${text}\n`);
    const first = client(replica.url);
    const found = await fillForDashboard(url, { jobs, queues }, first, say);
    await fill(replica.url, READY, jobText(LOADED));
    const { key } = (await first.post('/keys', { name: 'operator', scopes: ['admin'] })).body;
    first.close();
    const http = client(replica.url, 8, undefined, key);
    for (let i = 0; i < 100; i++) await http.post('/keys', { name: `key-${i}`, scopes: ['read'] });
    /** The share of the machine that Dibs and PostgreSQL use while nobody else sends a request. */
    async function shareOfMachine(work) {
      await settle(url);
      const [began, service, database] = [performance.now(), cpuSecondsOf(replica.pid), postgresCpu()];
      await work();
      const used = cpuSecondsOf(replica.pid) - service + usedSince(database, postgresCpu());
      return (100_000 * used) / (performance.now() - began) / availableParallelism();
    }
    // Nobody has looked yet: Dibs counts only while somebody does.
    const quiet = await shareOfMachine(() => sleep(seconds * 1000));
    // Until every queue was counted, the front page has less to tell.
    const began = performance.now();
    const isCounted = async () => (await http.json('GET', '/overview?limit=1')).body.complete;
    let isComplete = await isCounted();
    while (!isComplete && performance.now() < began + PATIENCE_MS) {
      await sleep(1000);
      isComplete = await isCounted();
    }
    const waited = Math.round((performance.now() - began) / 1000);
    report.say(
      isComplete
        ? `All queues were counted ${waited} s after the first look.`
        : `${waited} s after the first look, not all queues were counted.`,
    );

    const screens = screensOf({ queues, ...found });
    const rows = [];
    for (const [name, pathsOf] of Object.entries(screens)) {
      const times = [];
      let bytes = 0;
      for (let n = 0; n < looks; n++) {
        const started = performance.now();
        const answers = await Promise.all(pathsOf(n).map((path) => http.json('GET', path)));
        times.push(performance.now() - started);
        bytes = Math.max(bytes, ...answers.map(({ text }) => text.length));
      }
      rows.push([name, times[0], p50(times), p95(times), Math.max(...times), Math.round(bytes / 1024)]);
      say(`${name}: p50 ${p50(times).toFixed(1)} ms, p95 ${p95(times).toFixed(1)} ms`);
    }
    report.table('Each screen, ms:', ['screen', 'first', 'p50', 'p95', 'max', 'kB'], rows);
    const [slowest] = rows.toSorted((a, b) => b[3] - a[3]);
    report.line({
      number: 25,
      what: `the slowest screen (${slowest[0]}), p95 with ${jobs} jobs in ${queues} queues`,
      value: slowest[3],
      unit: ' ms',
      atMost: MOST_MS,
    });

    const watched = await shareOfMachine(() => page(http, screens, seconds));
    report.say(
      `Of the machine's processors, Dibs and PostgreSQL use ${watched.toFixed(2)} % while three tabs are open and nothing else ` +
        `happens, and ${quiet.toFixed(2)} % before the first look.`,
    );
    report.line({
      number: 25,
      what: "the processors' share for three tabs that are open",
      value: watched - quiet,
      unit: ' %',
      atMost: 100 * MOST_LOSS,
    });

    const job = jobText(LOADED);
    await cycle(replica.url, LOADED, job, { connections, seconds: 2, key });
    const sides = { beside: [], alone: [] };
    const rounds_ = [];
    for (let round = 1; round <= rounds; round++) {
      for (const side of round % 2 ? ['beside', 'alone'] : ['alone', 'beside']) {
        await settle(url);
        const load = cycle(replica.url, LOADED, job, { connections, seconds, key });
        if (side === 'beside') await page(http, screens, seconds);
        sides[side].push((await load).cycles);
      }
      rounds_.push([
        round,
        sides.beside.at(-1),
        sides.alone.at(-1),
        sides.beside.at(-1) / sides.alone.at(-1),
      ]);
    }
    http.close();
    report.table('Cycles/s:', ['round', 'beside a page', 'alone', 'ratio'], rounds_);
    report.line({
      number: 25,
      what: 'cycles beside three tabs that are open',
      against: 'alone',
      value: median(rounds_.map((row) => row[3])),
      atLeast: 1 - MOST_LOSS,
    });
    if (replica.complaints.length > 0) report.say(`The replica logged: ${replica.complaints[0]}`);
  },
);
