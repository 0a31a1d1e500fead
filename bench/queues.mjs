// #12: GET /queues with millions of jobs in 100 queues, alone and beside the cycle, and the rows it reads.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, PAYLOAD, READY } from './lib/jobs.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const SCANS = `
  select
    sum(seq_scan)::float8 as seq_scans,
    sum(seq_tup_read)::float8 as seq_rows,
    (select sum(idx_tup_read)::float8 from pg_stat_user_indexes where schemaname = 'dibs') as index_rows
  from pg_stat_user_tables
  where schemaname = 'dibs' and relname <> 'queues'
`;

/**
 * Writes whole batches of one queue. Every fifth batch is scheduled for tomorrow, so that jobs are in two
 * states. One statement writes a million jobs: over HTTP, ten millions take a quarter of an hour.
 */
const FILL = `
  insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload)
  select
    queue.id, (left(uuidv7()::text, 30) || lpad(to_hex(queue.id), 6, '0'))::uuid, kind.state::dibs.job_state,
    now() + case kind.state when 'ready' then interval '0' else interval '1 day' end,
    0, 5, $1, '{}', $2
  from generate_series($3::integer, $4::integer - 1) as i
  join dibs.queues queue on queue.name = 'queue.' || lpad((i / 1000 % $5::integer)::text, 4, '0')
  cross join lateral (
    select case when i / 1000 / $5::integer % 5 = 4 then 'scheduled' else 'ready' end as state
  ) as kind
  order by i
`;
const MILLION = 1_000_000;
/** The queue on which the cycle runs. */
const LOADED = 'queue.0000';

/** The reads of the tables of jobs until now. An idle backend reports its reads within two seconds. */
async function scans(url) {
  await sleep(2500);
  const [row] = await query(url, SCANS);
  return row;
}

await benchmark(
  {
    name: 'queues',
    title: 'GET /queues with very many jobs',
    full: { rounds: 5, jobs: 10_000_000, queues: 100, gets: 100, pause: 100, connections: 64 },
    short: { rounds: 3, jobs: 200_000, gets: 30 },
    maxSeconds: 2 * 3600,
  },
  async ({ options: { rounds, jobs, queues, gets, pause, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_queues');
    const { url: base, complaints } = await startReplica(url);
    const started = performance.now();
    const http = client(base);
    for (let i = 0; i < queues; i++)
      await http.json('PUT', `/queues/queue.${String(i).padStart(4, '0')}`, {});
    for (let from = 0; from < jobs; from += MILLION)
      await query(url, FILL, [PAYLOAD.length, PAYLOAD, from, Math.min(jobs, from + MILLION), queues]);
    const job = jobText(LOADED);
    await fill(base, READY, job);
    report.say(`${jobs} jobs written in ${Math.round((performance.now() - started) / 1000)} s.`);
    await settle(url);

    const path = `/queues?limit=${queues}`;
    const [first, second] = [await http.call('GET', path), await http.call('GET', path)];
    report.say(`The first GET took ${first.ms.toFixed(0)} ms, the second one ${second.ms.toFixed(1)} ms.`);

    async function poll() {
      const times = [];
      let failed = 0;
      for (let i = 0; i < gets; i++) {
        // One job now and then, as in production: GET /queues must not depend on tables that never change.
        await http.post('/jobs', job);
        const { status, ms, text } = await http.call('GET', path);
        times.push(ms);
        if (status !== 200 || JSON.parse(text).queues.length !== queues) failed++;
        await sleep(pause);
      }
      return { times, failed };
    }
    const load = () =>
      cycle(base, LOADED, job, { connections, seconds: Math.ceil((gets * (pause + 10)) / 1000) });

    const found = { alone: [], p99: [], loaded: [], loadedP99: [], cycles: [], cyclesBeside: [] };
    const rows = [];
    const before = await scans(url);
    for (let round = 1; round <= rounds; round++) {
      const alone = await poll();
      const { cycles, trouble: before } = await load();
      const [loaded, { cycles: cyclesBeside, trouble }] = await Promise.all([poll(), load()]);
      found.alone.push(p50(alone.times));
      found.p99.push(p99(alone.times));
      found.loaded.push(p50(loaded.times));
      found.loadedP99.push(p99(loaded.times));
      found.cycles.push(cycles);
      found.cyclesBeside.push(cyclesBeside);
      for (const [what, { times, failed }, rate, notes] of [
        ['alone', alone, cycles, before],
        ['beside the cycle', loaded, cyclesBeside, trouble],
      ])
        rows.push([round, what, p50(times), p99(times), Math.max(...times), failed, rate, notes]);
    }
    const after = await scans(url);
    const { body } = await http.json('GET', path).catch(() => ({ body: undefined }));
    http.close();

    report.table(
      'GET /queues, ms, alone and beside the cycle; cycles/s without it and beside it:',
      ['round', '', 'p50', 'p99', 'max', 'failed', 'cycles/s', 'notes'],
      rows,
    );
    const total = body?.queues.reduce((sum, { counts }) => sum + counts.ready + counts.scheduled, 0);
    const [{ n }] = await query(url, 'select count(*)::float8 as n from dibs.jobs');
    report.say(`The counts add up to ${total}; the table has ${n}.`);
    const delta = (name) => after[name] - before[name];
    report.say(
      `Meanwhile, with the cycles, the tables of jobs had ${delta('seq_scans')} sequential scans (${delta('seq_rows')} rows), and ` +
        `${delta('index_rows')} rows were read from their indexes.${complaints.length > 0 ? ` The replica logged: ${complaints[0]}` : ''}`,
    );
    report.line({
      number: 12,
      what: `GET /queues p50 with ${jobs} jobs in ${queues} queues (p99: ${median(found.p99).toFixed(1)} ms)`,
      value: median(found.alone),
      unit: ' ms',
      atMost: 20,
    });
    report.line({
      number: 12,
      what: `GET /queues p50 beside the cycle at ${connections} connections (p99: ${median(found.loadedP99).toFixed(1)} ms)`,
      value: median(found.loaded),
      unit: ' ms',
    });
    report.line({
      number: 12,
      what: `cycles/s beside a GET /queues every ${pause} ms: ${Math.round(median(found.cyclesBeside))}/s`,
      against: `without it: ${Math.round(median(found.cycles))}/s`,
      value: median(found.cyclesBeside) / median(found.cycles),
    });
    report.line({
      number: 12,
      what: 'rows read by sequential scans of the tables of jobs',
      value: delta('seq_rows'),
      atMost: 0,
    });
  },
);
