// #33: what idle replicas cost: transactions and processor time a second.
//   node bench/idle.mjs [--main /path/to/other/dist/main.js] [--settle 45] [--seconds 30] [--replicas 1,3,10]
//     [--databases empty,ready,far] [--claims none,waiting] [--statements 5]
// `--statements 5` prints the 5 statements that were sent most often. `--settle 330` measures replicas that sleep.
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, serverCpu } from './lib/cpu.mjs';
import { client } from './lib/http.mjs';
import { query, serverPid } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';

const QUEUES = 1000;
const JOBS = 10_000;
/** A claim waits this long. Then it is sent again. */
const WAIT_SECONDS = 60;
/** PostgreSQL may count what a session did only when that session has been idle for 10 s. */
const REPORT_MS = 11_000;

/** For how many seconds the jobs of a database wait, if there are any. */
const DATABASES = { empty: undefined, ready: 0, far: 24 * 3600 };

/** 10,000 jobs in 1,000 queues. */
const FILL = `
  select dibs.enqueue('q' || i % ${QUEUES}, '{}', delay_seconds => $1::float8)
  from generate_series(1, ${JOBS}) i
`;

/** Has a claim wait at each replica for a queue of its own, until the returned function is called. */
async function waitAt(replicas) {
  let ended = false;
  const clients = replicas.map(({ url }) => client(url));
  for (const [i, http] of clients.entries()) {
    // All replicas are awake again by that, and a busy machine may take longer than a request may wait.
    while ((await http.call('PUT', `/queues/idle${i}`, {})).status === 503);
    void (async () => {
      while (!ended) await http.post('/jobs/claim', { queues: [`idle${i}`], wait_seconds: WAIT_SECONDS });
    })().catch(() => undefined);
  }
  return () => {
    ended = true;
    for (const http of clients) http.close();
  };
}

async function transactions(url) {
  await sleep(REPORT_MS);
  const [row] = await query(
    url,
    `select xact_commit + xact_rollback as transactions from pg_stat_database where datname = current_database()`,
  );
  return Number(row.transactions);
}

/** How often each statement ran, by the name of its file. */
async function statementsOf(url) {
  const rows = await query(
    url,
    `select coalesce(substring(query from '^\\s*--[^\\n]*'), left(query, 100)) as text, sum(calls)::float8 as calls
     from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
     group by 1`,
  );
  return new Map(rows.map(({ text, calls }) => [text.replaceAll(/\s+/g, ' '), calls]));
}

/** Prints the statements that ran most often between two looks. */
function printStatements(before, after, took, most) {
  const rates = [...after].map(([text, calls]) => [text, (calls - (before.get(text) ?? 0)) / took]);
  rates.sort(([, a], [, b]) => b - a);
  for (const [text, rate] of rates.slice(0, most))
    process.stdout.write(`  ${rate.toFixed(2)} ${text.slice(0, 120)}\n`);
}

/** What replicas use in a second, from now on. */
async function measure(url, server, replicas, { seconds, statements }) {
  const used = () => replicas.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
  const before = { transactions: await transactions(url), service: used(), database: serverCpu(server) };
  const ran = await statementsOf(url);
  const began = performance.now();
  await sleep(seconds * 1000);
  const took = (performance.now() - began + REPORT_MS) / 1000;
  // Of these, four are its own: each of the two connections that asked made two.
  const made = (await transactions(url)) - before.transactions - 4;
  const found = {
    transactions: made / took,
    service: ((used() - before.service) * 1000) / took,
    database: ((serverCpu(server) - before.database) * 1000) / took,
  };
  printStatements(ran, await statementsOf(url), took, statements);
  return found;
}

await benchmark(
  {
    name: 'idle',
    title: 'Idle replicas',
    full: {
      main: '',
      seconds: 30,
      settle: 45,
      replicas: [1, 3, 10],
      databases: 'empty,ready,far',
      claims: 'none,waiting',
      statements: 0,
    },
    short: { seconds: 10, settle: 15, replicas: [1, 3] },
    maxSeconds: 3600,
    // Autovacuum makes transactions of its own.
    settings: { shared_preload_libraries: 'pg_stat_statements', autovacuum: 'off' },
  },
  async ({
    options: { main, settle, replicas: numbers, databases, claims, ...options },
    postgres,
    report,
  }) => {
    const rows = [];
    for (const kind of databases.split(',')) {
      const url = await postgres.database(`dibs_idle_${kind}`);
      await query(url, 'create extension pg_stat_statements');
      const server = await serverPid(url);
      const replicas = [];
      for (const number of numbers) {
        while (replicas.length < number)
          replicas.push(await startReplica(url, {}, main === '' ? undefined : resolve(main)));
        if (kind !== 'empty' && number === numbers[0]) await query(url, FILL, [DATABASES[kind]]);
        for (const waiting of claims.split(',')) {
          const stop = waiting === 'waiting' ? await waitAt(replicas) : () => undefined;
          await sleep(settle * 1000);
          const found = await measure(url, server, replicas, options);
          stop();
          rows.push([kind, number, waiting, found.transactions, found.service, found.database]);
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
