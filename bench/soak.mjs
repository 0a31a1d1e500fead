// #29: an hour with everything on, half of it while another transaction holds the xmin horizon: does anything grow?
//   node bench/soak.mjs
//   node bench/soak.mjs --load plain --rate 500 --seconds 620 --window 20 --hold 0,620
import { benchmark } from './lib/bench.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { startCollector } from './lib/collector.mjs';
import { cpuSecondsOf, serverCpu } from './lib/cpu.mjs';
import { createLoad, everyKind, plainKind, QUEUES, SCHEDULE } from './lib/everything.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText } from './lib/jobs.mjs';
import { paced } from './lib/paced.mjs';
import { holdHorizon, query, serverPid, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const MB = 1e6;
const MINUTE = 60;

const wait = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** The tables and their indexes, in MB. */
const SIZES = `
  select
    sum(pg_table_size(relid)) filter (where relname = 'jobs') / ${MB} as jobs,
    sum(pg_indexes_size(relid)) filter (where relname = 'jobs') / ${MB} as indexes,
    sum(pg_total_relation_size(relid)) filter (where relname <> 'jobs') / ${MB} as others,
    sum(n_dead_tup) filter (where relname = 'jobs') as dead
  from pg_stat_user_tables
  where schemaname = 'dibs'`;

const LARGEST = `
  select relname as table, pg_table_size(relid) / ${MB} as mb, pg_indexes_size(relid) / ${MB} as indexes
  from pg_stat_user_tables
  where schemaname = 'dibs'
  order by pg_total_relation_size(relid) desc
  limit 8`;

async function createKeys(base) {
  const http = client(base);
  const { key: admin } = (await http.post('/keys', { name: 'admin', scopes: ['admin'] })).body;
  http.close();
  const asAdmin = client(base, 4, undefined, admin);
  const scopes = ['produce', 'consume'];
  const { key } = (await asAdmin.post('/keys', { name: 'load', scopes, queues: Object.keys(QUEUES) })).body;
  return { asAdmin, key };
}

/** Reads what a monitor and an open dashboard read. */
function look(asAdmin, isOver) {
  const every = async (seconds, path) => {
    while (!isOver()) {
      const { status } = await asAdmin.call('GET', path);
      if (status !== 200) throw new Error(`GET ${path}: ${status}`);
      await wait(seconds);
    }
  };
  return [every(2, '/overview'), every(5, '/queues'), every(15, '/metrics')];
}

await benchmark(
  {
    name: 'soak',
    title: 'Everything on, for long',
    full: {
      load: 'everything',
      seconds: 3600,
      window: 60,
      hold: [900, 2700],
      workers: 32,
      rate: 0,
      ready: 2000,
      warm: 10,
    },
    short: { seconds: 40, window: 10, hold: [10, 30], warm: 2 },
    maxSeconds: 3 * 3600,
  },
  async ({
    options: { load: kind, seconds, window, hold, workers, rate, ready, warm },
    postgres,
    report,
  }) => {
    const url = await postgres.database('dibs_soak');
    const server = await serverPid(url);
    const isPlain = kind === 'plain';
    const traces = isPlain ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: await startCollector() };
    const replica = await startReplica(url, traces);
    await fill(replica.url, rate ? 0 : ready, jobText('plain', { headers: {} }));
    const { asAdmin, key } = await createKeys(replica.url);
    for (const [queue, config] of Object.entries(QUEUES))
      await asAdmin.json('PUT', `/queues/${queue}`, config);

    const http = client(replica.url, workers + 256, undefined, key);
    const load = createLoad(http, isPlain ? plainKind : everyKind);
    if (!isPlain) await asAdmin.json('PUT', '/schedules/soak', SCHEDULE);
    let over = false;
    const isOver = () => over;
    const failed = [];
    const watched = (promises) =>
      promises.map((promise) => promise.catch((error) => failed.push(error.message)));
    await settle(url);
    const looking = watched(look(asAdmin, isOver));
    let end;
    const until = new Promise((done) => {
      end = done;
    });
    const producing = rate ? paced({ rate, until }, load.enqueue) : undefined;
    // Without a rate, the backlog stays level: a job is enqueued for each that is done.
    const refill = () => load.counts.enqueued < load.counts.acked + workers && load.enqueue();
    const working = watched(
      Array.from({ length: workers }, () => load.work(isOver, rate ? undefined : refill)),
    );
    atEnd(() => {
      over = true;
    });

    await wait(warm);
    load.takeTimes();
    const windows = [];
    let release;
    for (let at = 0; at < seconds && failed.length === 0; at += window) {
      if (!release && at >= hold[0] && at < hold[1]) release = await holdHorizon(url);
      if (release && at >= hold[1]) release = await release();
      const before = {
        acked: load.counts.acked,
        postgres: serverCpu(server),
        dibs: cpuSecondsOf(replica.pid),
      };
      const started = performance.now();
      await wait(window);
      const jobs = load.counts.acked - before.acked;
      const { enqueue, settle: settles } = load.takeTimes();
      const [size] = await query(url, SIZES);
      const of = (used) => (used * 1e6) / jobs;
      windows.push({
        at,
        held: release ? 'held' : '',
        rate: (jobs * 1000) / (performance.now() - started),
        p50: p50(settles),
        p99: p99(settles),
        enqueueP99: p99(enqueue),
        postgres: of(serverCpu(server) - before.postgres),
        dibs: of(cpuSecondsOf(replica.pid) - before.dibs),
        memory: replica.memory(),
        ...Object.fromEntries(Object.entries(size).map(([name, value]) => [name, Number(value)])),
      });
      const last = windows.at(-1);
      process.stdout.write(
        `${Object.values(last)
          .map((v) => (typeof v === 'number' ? Math.round(v) : v))
          .join(' ')}\n`,
      );
    }
    over = true;
    end();
    await release?.();
    await Promise.all([...working, ...looking]);
    const { skipped = 0, failed: notEnqueued = 0 } = (await producing) ?? {};
    http.close();

    report.table(
      `${kind}, ${workers} workers${rate ? `, ${rate} jobs a second` : ''}:`,
      [
        'from second',
        'horizon',
        'jobs/s',
        'settle with claim p50, ms',
        'p99',
        'enqueue p99, ms',
        'CPU of PostgreSQL a job, µs',
        'of Dibs',
        'memory of Dibs, MB',
        'jobs, MB',
        'their indexes, MB',
        'other tables, MB',
        'dead rows of jobs',
      ],
      windows.map((w) => Object.values(w)),
    );
    const largest = await query(url, LARGEST);
    report.table(
      'At the end:',
      ['table', 'MB', 'indexes, MB'],
      largest.map((t) => [t.table, Number(t.mb), Number(t.indexes)]),
    );

    const { body } = await asAdmin.json('GET', '/queues');
    const finished = new Set(['completed', 'cancelled']);
    const left = body.queues
      .filter(({ name }) => name !== SCHEDULE.job.queue)
      .reduce(
        (sum, { counts }) =>
          sum +
          Object.entries(counts).reduce((all, [state, count]) => all + (finished.has(state) ? 0 : count), 0),
        0,
      );
    const filled = rate ? 0 : ready;
    const lost = filled + load.counts.enqueued - load.counts.acked - left;
    asAdmin.close();
    report.say(
      [
        `${load.counts.enqueued + filled} enqueued, ${load.counts.acked} acked, ${left} left. Jobs of the schedule: ${load.counts.ticks}.`,
        `Refused or failed: ${failed.length + notEnqueued}, not sent: ${skipped}.`,
        ...failed.slice(0, 3),
        ...replica.complaints.slice(0, 5),
      ].join('\n'),
    );
    const first = windows[0];
    const lasts = windows.slice(-5);
    const of = (name) => median(lasts.map((w) => w[name]));
    const late = windows.filter((w) => w.at >= seconds - 10 * MINUTE);
    const lines = [
      ['jobs that are neither acked nor there', lost, 0],
      ['jobs/s of the first window, against the last', first.rate / of('rate'), 1.1],
      ['p99 of settle with claim in the last windows, against the first', of('p99') / first.p99, 1.1],
      [
        'CPU of PostgreSQL a job in the last windows, against the first',
        of('postgres') / first.postgres,
        1.1,
      ],
      [
        'size of jobs with its indexes at the end, against ten minutes before',
        (of('jobs') + of('indexes')) / (late[0].jobs + late[0].indexes),
        1.1,
      ],
    ];
    for (const [what, value, atMost] of lines) report.line({ number: 29, what, value, atMost });
    if (failed.length > 0) throw new Error('the load did not go through');
    await replica.stop();
  },
);
