// #38: 100 enqueues a second that each replace the job of one unique key: the rows that they write, and a neighbour beside
// them. On the other side, each of as many enqueues has a key of its own.
//   node bench/debounce.mjs [--rate 100] [--seconds 30] [--rounds 3]
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { jobText, leaseOf } from './lib/jobs.mjs';
import { paced, pacedTrouble } from './lib/paced.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

/** A backend tells its counts when it commits, at most once a second, and the rest when it has been idle for 10 s. */
const COUNTED_AFTER_MS = 11_000;

const COUNTS = `
  select relname as table, n_tup_ins as inserted, n_tup_upd as updated, n_tup_hot_upd as hot, n_tup_del as deleted
  from pg_stat_user_tables
  where schemaname = 'dibs'`;

/** The rows that each table got and lost while `work` ran. */
async function rowsOf(url, work) {
  await sleep(COUNTED_AFTER_MS);
  const before = new Map((await query(url, COUNTS)).map((row) => [row.table, row]));
  const result = await work();
  await sleep(COUNTED_AFTER_MS);
  const rows = (await query(url, COUNTS)).map(({ table, ...counts }) => ({
    table,
    ...Object.fromEntries(
      Object.entries(counts).map(([name, count]) => [name, count - (before.get(table)?.[name] ?? 0)]),
    ),
  }));
  return { ...result, rows: rows.filter(({ updated, deleted }) => updated > 0 || deleted > 0) };
}

await benchmark(
  {
    name: 'debounce',
    title: 'Enqueues that replace the job of one key',
    full: { rate: 100, seconds: 30, rounds: 5, connections: 16 },
    short: { seconds: 5, rounds: 3 },
    maxSeconds: 1800,
  },
  async ({ options: { rate, seconds, rounds, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_debounce');
    const { url: base } = await startReplica(url);
    const debounced = client(base, connections);
    const neighbour = client(base, connections);

    let n = 0;
    async function enqueue(unique_key) {
      const wish = { unique_key, on_duplicate: 'replace', delay_seconds: 1000, payload: ++n };
      const { status } = await debounced.post('/jobs', jobText('debounced', wish));
      if (status !== 200 && status !== 201) throw new Error(`POST /jobs: ${status}`);
    }
    const sides = {
      distinct: () => enqueue(`key ${n}`),
      debounce: () => enqueue('one'),
    };

    async function cycle() {
      const started = performance.now();
      await neighbour.post('/jobs', jobText('neighbour'));
      const { body } = await neighbour.post('/jobs/claim', { queues: ['neighbour'] });
      if (body.jobs.length > 0) await neighbour.post('/jobs/settle', { acks: body.jobs.map(leaseOf) });
      return performance.now() - started;
    }
    async function neighbours() {
      const took = [];
      const ran = await paced({ rate: 50, seconds }, async () => took.push(await cycle()));
      return { p50: p50(took), p99: p99(took), trouble: pacedTrouble(ran) };
    }

    const rows = [];
    const found = { distinct: [], debounce: [] };
    await neighbours();
    for (let round = 1; round <= rounds; round++)
      for (const [name, work] of Object.entries(sides)) {
        await settle(url);
        let end;
        const until = new Promise((resolve) => (end = resolve));
        const running = paced({ rate, until }, work);
        const cycles = await neighbours();
        end();
        const trouble = [cycles.trouble, pacedTrouble(await running)].filter(Boolean).join('; ');
        found[name].push(cycles.p99);
        rows.push([round, name, cycles.p50, cycles.p99, trouble]);
      }
    report.table(
      `A cycle of a neighbour, ms, beside ${rate} enqueues a second with a key each, or that replace one job:`,
      ['round', 'beside', 'p50', 'p99', ''],
      rows,
    );

    const { launched, rows: written } = await rowsOf(url, () => paced({ rate, seconds }, sides.debounce));
    report.table(
      `Rows that ${launched} such enqueues wrote:`,
      ['table', 'inserted', 'updated', 'of these HOT', 'deleted'],
      written.map(({ table, inserted, updated, hot, deleted }) => [table, inserted, updated, hot, deleted]),
    );
    const jobs = written.find(({ table }) => table === 'jobs');
    report.line({
      number: 38,
      what: 'dead rows of jobs',
      against: 'an enqueue that replaces',
      value: (jobs.updated + jobs.deleted) / launched,
      atMost: 1,
    });
    report.line({
      number: 38,
      what: `a neighbour's cycle, p99: ${median(found.debounce).toFixed(2)} ms`,
      against: `beside a key each: ${median(found.distinct).toFixed(2)} ms`,
      value: median(found.debounce) / median(found.distinct),
      atMost: 1.2,
    });
  },
);
