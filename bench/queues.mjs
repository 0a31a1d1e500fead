// #12: GET /queues with millions of jobs in a hundred queues, and what it reads of the tables.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText } from './lib/jobs.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const SCANS = `
  select
    sum(seq_scan)::float8 as seq_scans,
    sum(seq_tup_read)::float8 as seq_rows,
    (select sum(idx_tup_read)::float8 from pg_stat_user_indexes where schemaname = 'dibs') as index_rows
  from pg_stat_user_tables
  where schemaname = 'dibs' and relname <> 'queues'
`;

/** Reads of the tables of jobs so far; backends report theirs within a second or two, once idle. */
async function scans(url) {
  await sleep(2500);
  const [row] = await query(url, SCANS);
  return row;
}

await benchmark(
  {
    name: 'queues',
    title: 'GET /queues with very many jobs',
    full: { rounds: 5, jobs: 10_000_000, queues: 100, gets: 100, pause: 100 },
    short: { rounds: 3, jobs: 200_000, gets: 30 },
    maxSeconds: 2 * 3600,
  },
  async ({ options: { rounds, jobs, queues, gets, pause }, postgres, report }) => {
    const url = await postgres.database('dibs_queues');
    const { url: base, complaints } = await startReplica(url);
    const started = performance.now();
    // Whole batches of one queue; every fifth batch is scheduled for tomorrow, so that not all are in one state.
    await fill(base, jobs, (i) => {
      const batch = Math.floor(i / 1000);
      const later = Math.floor(batch / queues) % 5 === 4 ? { delay_seconds: 86_400 } : {};
      return jobText(`queue.${String(batch % queues).padStart(4, '0')}`, later);
    });
    report.say(`${jobs} jobs enqueued in ${Math.round((performance.now() - started) / 1000)} s.`);
    await settle(url);

    const http = client(base);
    const path = `/queues?limit=${queues}`;
    const found = { p50: [], p99: [] };
    const rows = [];
    const before = await scans(url);
    for (let round = 1; round <= rounds; round++) {
      const times = [];
      let failed = 0;
      for (let i = 0; i < gets; i++) {
        // One job now and then, as in life: nothing may rest on the tables standing still.
        await http.post('/jobs', jobText('queue.0000'));
        const { status, ms, text } = await http.call('GET', path);
        times.push(ms);
        if (status !== 200 || JSON.parse(text).queues.length !== queues) failed++;
        await sleep(pause);
      }
      found.p50.push(p50(times));
      found.p99.push(p99(times));
      rows.push([round, p50(times), p99(times), times[0], Math.max(...times), failed]);
    }
    const after = await scans(url);
    const { body } = await http.json('GET', path).catch(() => ({ body: undefined }));
    http.close();

    report.table('GET /queues, ms:', ['round', 'p50', 'p99', 'first', 'max', 'failed'], rows);
    const total = body?.queues.reduce((sum, { counts }) => sum + counts.ready + counts.scheduled, 0);
    report.say(`The counts add up to ${total} of ${jobs + rounds * gets}.`);
    const delta = (name) => after[name] - before[name];
    report.say(
      `Meanwhile the tables of jobs saw ${delta('seq_scans')} sequential scans (${delta('seq_rows')} rows), and ` +
        `${delta('index_rows')} rows were read from their indexes, ${Math.round(delta('index_rows') / (rounds * gets))} ` +
        `for each request.${complaints.length > 0 ? ` The replica complained: ${complaints[0]}` : ''}`,
    );
    report.line({
      number: 12,
      what: `GET /queues p50 with ${jobs} jobs in ${queues} queues (p99: ${median(found.p99).toFixed(1)} ms)`,
      value: median(found.p50),
      unit: ' ms',
      atMost: 20,
    });
    report.line({
      number: 12,
      what: 'sequential scans of a table of jobs by it and the sweeper, rows read',
      value: delta('seq_rows'),
      atMost: 0,
    });
  },
);
