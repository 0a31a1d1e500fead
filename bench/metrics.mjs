// #22: what the metrics cost: the cycle with and without what counts, in turn; and the processor time of a scrape.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf } from './lib/cpu.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
const WITHOUT = new URL('./lib/noMetrics.mjs', import.meta.url).href;
const MOST_LOSS = 0.02;
const SCRAPE_MS = 10;
const SCRAPES = 30;

/** Puts jobs into many queues, straight into the table: only their number matters here. */
async function fillQueues(url, queues, jobs) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(
      "insert into dibs.queues (name) select 'many.' || n from generate_series(1, $1::integer) as n",
      [queues],
    );
    await client.query(
      `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload, position)
       select q.id, gen_random_uuid(), 'ready', now(), 0, 5, 4, '{}', 'null', nextval('dibs.positions')
       from dibs.queues q cross join generate_series(1, $1::integer) where q.name like 'many.%'`,
      [Math.ceil(jobs / queues)],
    );
    await client.query('vacuum analyze dibs.jobs');
  } finally {
    await client.end();
  }
}

/** Waits until a hundred queues have series of their own, and the others are counted. */
async function whenCounted({ url }) {
  for (let tries = 0; tries < 600; tries++) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const queues = text.match(/^dibs_queue_jobs\{[^}]*state="ready"/gm) ?? [];
    if (queues.length > 100 && text.includes('dibs_queue_jobs{queue="(other)",state="ready"')) return;
    await sleep(1000);
  }
  throw new Error('the queues were not counted within 10 minutes');
}

/** Processor time of one scrape in milliseconds: all that the process does meanwhile is in it. */
async function scrapeMs(replica) {
  await whenCounted(replica);
  const { url, pid } = replica;
  const before = cpuSecondsOf(pid);
  let bytes = 0;
  for (let i = 0; i < SCRAPES; i++) bytes = (await (await fetch(`${url}/metrics`)).text()).length;
  return { ms: ((cpuSecondsOf(pid) - before) * 1000) / SCRAPES, bytes };
}

await benchmark(
  {
    name: 'metrics',
    title: 'What the metrics cost',
    full: { rounds: 9, seconds: 10, connections: 64, queues: 10_000, jobs: 10_000_000 },
    short: { rounds: 5, seconds: 3, queues: 10_000, jobs: 200_000 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections, queues, jobs }, postgres, report }) => {
    const job = jobText(QUEUE);
    const url = await postgres.database('dibs_metrics');
    // Both replicas that are compared have done the same before.
    const filler = await startReplica(url);
    await fill(filler.url, READY, job);
    await filler.stop();
    const replica = await startReplica(url);
    const sides = { with: [], without: [] };
    const used = { with: [], without: [] };
    const others = { with: replica, without: await startReplica(url, {}, undefined, WITHOUT) };
    for (const { url: base } of Object.values(others))
      await cycle(base, QUEUE, job, { connections, seconds: 2 });
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      await settle(url);
      const order = round % 2 ? ['with', 'without'] : ['without', 'with'];
      for (const side of order) {
        const before = cpuSecondsOf(others[side].pid);
        const { cycles } = await cycle(others[side].url, QUEUE, job, { connections, seconds });
        sides[side].push(cycles);
        used[side].push(((cpuSecondsOf(others[side].pid) - before) * 1e6) / (cycles * seconds));
      }
      rows.push([
        round,
        sides.with.at(-1),
        sides.without.at(-1),
        used.with.at(-1).toFixed(1),
        used.without.at(-1).toFixed(1),
      ]);
    }
    report.table(
      'Cycles/s, and microseconds of processor time of the service for each cycle:',
      ['round', 'with', 'without', 'with, us', 'without, us'],
      rows,
    );
    report.line({
      number: 22,
      what: 'processor time of a cycle without metrics',
      against: 'with them',
      value: median(used.without) / median(used.with),
      atLeast: 1 - MOST_LOSS,
    });
    await fillQueues(url, queues, jobs);
    const { ms, bytes } = await scrapeMs(replica);
    report.table('A scrape:', ['queues', 'jobs', 'ms', 'bytes'], [[queues, jobs, ms.toFixed(1), bytes]]);
    report.line({
      number: 22,
      what: 'scrapes in the time that they may take',
      against: `${SCRAPE_MS} ms of processor time`,
      value: SCRAPE_MS / ms,
      atLeast: 1,
    });
  },
);
