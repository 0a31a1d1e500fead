// #22: the processor time of a scrape. What counting costs each request is measured by overhead.mjs.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf } from './lib/cpu.mjs';
import { startReplica } from './lib/service.mjs';

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
    title: 'What a scrape costs',
    full: { queues: 10_000, jobs: 10_000_000 },
    short: { jobs: 200_000 },
    maxSeconds: 3600,
  },
  async ({ options: { queues, jobs }, postgres, report }) => {
    const url = await postgres.database('dibs_metrics');
    const replica = await startReplica(url);
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
