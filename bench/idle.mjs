// #33: what idle replicas cost: transactions, statements and processor time a second.
//   node bench/idle.mjs [--main /path/to/other/dist/main.js] [--settle 15] [--seconds 20] [--replicas 1,3,10]
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, serverCpu } from './lib/cpu.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, times } from './lib/jobs.mjs';
import { query, serverPid } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';

const QUEUES = 1000;
const JOBS = 10_000;
const HOUR_SECONDS = 3600;
/** A claim waits this long. Then it is sent again. */
const WAIT_SECONDS = 60;
/** PostgreSQL tells what a session did when it is idle for a second, at the latest. */
const REPORT_MS = 1500;

/** 10,000 jobs in 1,000 queues: half of them ready, half of them not before an hour from now. */
async function fillQueues(url) {
  const http = client(url, 4);
  await times(QUEUES, 4, (i) => http.post('/jobs', jobText(`q${i}`)));
  http.close();
  await fill(url, JOBS - QUEUES, (i) =>
    jobText(`q${i % QUEUES}`, i % 2 === 0 ? { delay_seconds: HOUR_SECONDS } : {}),
  );
}

/** Has a claim wait at each replica for a queue of its own, until the returned function is called. */
function waitAt(replicas) {
  let ended = false;
  const clients = replicas.map(({ url }) => client(url));
  for (const [i, http] of clients.entries())
    void (async () => {
      while (!ended) await http.post('/jobs/claim', { queues: [`idle${i}`], wait_seconds: WAIT_SECONDS });
    })().catch(() => undefined);
  return () => {
    ended = true;
    for (const http of clients) http.close();
  };
}

async function counts(url) {
  await sleep(REPORT_MS);
  const [row] = await query(
    url,
    `select xact_commit + xact_rollback as transactions from pg_stat_database where datname = current_database()`,
  );
  return Number(row.transactions);
}

/** What replicas use in a second, from now on. */
async function measure(url, server, replicas, seconds) {
  const used = () => replicas.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
  const before = { transactions: await counts(url), service: used(), database: serverCpu(server) };
  const began = performance.now();
  await sleep(seconds * 1000);
  const took = (performance.now() - began + REPORT_MS) / 1000;
  // The connection that asks makes two transactions itself.
  const transactions = (await counts(url)) - before.transactions - 2;
  return {
    transactions: transactions / took,
    service: ((used() - before.service) * 1000) / took,
    database: ((serverCpu(server) - before.database) * 1000) / took,
  };
}

await benchmark(
  {
    name: 'idle',
    title: 'Idle replicas',
    full: { main: '', seconds: 20, settle: 15, replicas: [1, 3, 10] },
    short: { seconds: 10, settle: 10, replicas: [1, 3] },
    maxSeconds: 3600,
  },
  async ({ options: { main, seconds, settle, replicas: numbers }, postgres, report }) => {
    const rows = [];
    for (const kind of ['empty', 'filled']) {
      const url = await postgres.database(`dibs_idle_${kind}`);
      const server = await serverPid(url);
      const replicas = [];
      for (const number of numbers) {
        while (replicas.length < number)
          replicas.push(await startReplica(url, {}, main === '' ? undefined : resolve(main)));
        if (kind === 'filled' && number === numbers[0]) await fillQueues(replicas[0].url);
        for (const claims of ['none', 'waiting']) {
          const stop = claims === 'waiting' ? waitAt(replicas) : () => undefined;
          await sleep(settle * 1000);
          const found = await measure(url, server, replicas, seconds);
          stop();
          rows.push([kind, number, claims, found.transactions, found.service, found.database]);
          process.stdout.write(`${rows.at(-1).join(' ')}\n`);
        }
      }
      for (const replica of replicas) await replica.stop();
    }
    report.table(
      'In a second, over all replicas:',
      ['database', 'replicas', 'claims', 'transactions', 'CPU of Dibs (ms)', 'CPU of PostgreSQL (ms)'],
      rows,
    );
  },
);
