// #18: claims while millions of index entries of jobs that are gone lie in their queue, because another transaction holds the
// xmin horizon: on a replica that served all the time, on replicas that start, and jobs that commit late. With `--keys 10`, all
// jobs have one of ten fairness keys.
import pg from 'pg';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, leaseOf } from './lib/jobs.mjs';
import { holdHorizon, query } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { p50, p99 } from './lib/stats.mjs';

const QUEUE = 'bench';
const CHUNK = 500_000;

const keyOf = (i, keys) => (keys > 0 ? `tenant-${i % keys}` : null);

/** Inserts ready jobs and deletes them, so that only their index entries are left. */
async function makeDead(url, count, keys) {
  const db = new pg.Client(url);
  await db.connect();
  const { rows } = await db.query('select id from dibs.queues where name = $1', [QUEUE]);
  const idOf = `('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
  for (let first = 1; first <= count; first += CHUNK) {
    const chunk = [rows[0].id, first, Math.min(count, first + CHUNK - 1)];
    await db.query(
      `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload, fairness_key)
       select $1, ${idOf}, 'ready', now(), 0, 5, 4, '{}', 'null', 'tenant-' || n % nullif($4::integer, 0)
       from generate_series($2::integer, $3::integer) n`,
      [...chunk, keys],
    );
    await db.query(
      `delete from dibs.jobs where queue_id = $1 and id between
         (select ${idOf} from (select $2::integer as n) as first) and (select ${idOf} from (select $3::integer as n) as last)`,
      chunk,
    );
  }
  await db.end();
}

/** Inserts a job in a transaction that stays open. The function commits it. */
async function openJob(url, text, key) {
  const db = new pg.Client(url);
  await db.connect();
  await db.query('begin');
  const { rows } = await db.query(text, [QUEUE, key]);
  return async () => {
    await db.query('commit');
    await db.end();
    return rows[0].id;
  };
}

/** The longest statement of Dibs that runs until the function is called, in ms, as sampled every 5 ms. */
async function longestStatement(url) {
  const db = new pg.Client(url);
  await db.connect();
  let longest = 0;
  let stopped = false;
  const sampling = (async () => {
    while (!stopped) {
      const { rows } = await db.query(
        `select max(extract(epoch from clock_timestamp() - query_start) * 1000)::double precision as ms
         from pg_stat_activity where application_name = 'dibs' and state = 'active'`,
      );
      longest = Math.max(longest, rows[0].ms ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await db.end();
  })();
  return async () => {
    stopped = true;
    await sampling;
    return longest;
  };
}

const textOf = (i, keys) => jobText(QUEUE, keys > 0 ? { fairness_key: keyOf(i, keys) } : {});

/** Enqueues, claims and acks one job after the other. Returns the times of the claims. */
async function cycles(base, count, keys) {
  const http = client(base);
  const times = [];
  for (let i = 0; i < count; i++) {
    await http.post('/jobs', textOf(i, keys));
    const { ms, body } = await http.post('/jobs/claim', { queues: [QUEUE] });
    if (body.jobs.length !== 1) throw new Error('a claim got nothing');
    times.push(ms);
    await http.post('/jobs/settle', { acks: body.jobs.map(leaseOf) });
  }
  http.close();
  return times;
}

/** The time of a claim in ms. */
async function oneClaim(base, wish = {}) {
  const http = client(base);
  const { ms, body } = await http.post('/jobs/claim', { queues: [QUEUE], ...wish });
  if (body.jobs.length > 0) await http.post('/jobs/settle', { acks: body.jobs.map(leaseOf) });
  http.close();
  return { ms, ids: body.jobs.map((job) => job.id) };
}

await benchmark(
  {
    name: 'deadEntries',
    title: 'Claims in a queue with dead index entries',
    full: { jobs: 20_000_000, claims: 1000, keys: 0 },
    short: { jobs: 500_000, claims: 200 },
    maxSeconds: 3600,
  },
  async ({ options: { jobs, claims, keys }, postgres, report }) => {
    const url = await postgres.database('dibs_dead');
    const warm = await startReplica(url);
    await cycles(warm.url, 100, keys);
    const rows = [];
    const note = (what, times, longest) =>
      rows.push([what, times.length, p50(times), p99(times), Math.max(...times), longest]);
    note('before', await cycles(warm.url, claims, keys), '');

    const release = await holdHorizon(url);
    const marked = await openJob(url, 'select dibs.enqueue($1, fairness_key => $2) as id', keyOf(0, keys));
    const bare = await openJob(
      url,
      `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload, fairness_key)
       select q.id, dibs.new_id(q.id), 'ready', now(), 0, 5, 4, '{}', 'null', $2 from dibs.queues q where q.name = $1
       returning id`,
      keyOf(0, keys),
    );
    const started = performance.now();
    await makeDead(url, jobs, keys);
    const [{ size }] = await query(
      url,
      `select pg_size_pretty(pg_database_size(current_database())) as size`,
    );
    report.say(
      `${jobs} dead entries in ${Math.round((performance.now() - started) / 1000)} s. The database: ${size}.`,
    );

    async function measure(what, work) {
      const longest = await longestStatement(url);
      const times = await work();
      note(what, times, await longest());
    }
    const first = async (replica) => {
      await fill(replica.url, 1, textOf(0, keys));
      const began = performance.now();
      while ((await oneClaim(replica.url, { wait_seconds: 60 })).ids.length === 0);
      return [performance.now() - began];
    };
    await measure('warm replica, no floor stored: first claim', () => first(warm));
    await measure('warm replica', () => cycles(warm.url, claims, keys));
    await measure('warm replica, empty queue', async () => {
      const times = [];
      for (let i = 0; i < claims; i++) times.push((await oneClaim(warm.url)).ms);
      return times;
    });
    // Enough jobs for the floor to be stored.
    await fill(warm.url, 12_000, (i) => textOf(i, keys));
    for (let i = 0; i < 12; i++) {
      await oneClaim(warm.url, { limit: 1000 });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const fresh = await startReplica(url);
    await measure('fresh replica: first claim', () => first(fresh));
    await measure('fresh replica', () => cycles(fresh.url, claims, keys));
    await fresh.stop();
    await query(url, 'delete from dibs.scan_floors');
    const bareReplica = await startReplica(url);
    await measure('fresh replica, no floor stored: first claim', () => first(bareReplica));
    await measure('fresh replica, no floor stored', () => cycles(bareReplica.url, claims, keys));
    await bareReplica.stop();
    report.table('Claims, ms:', ['', 'claims', 'p50', 'p99', 'max', 'longest statement of Dibs'], rows);

    for (const [what, count, , tail] of rows)
      if (count > 1)
        report.line({
          number: 18,
          what: `claim p99, ${jobs} dead entries${keys > 0 ? ` of ${keys} keys` : ''}: ${what}`,
          value: tail,
          unit: ' ms',
          atMost: 50,
        });

    for (const [what, commit] of [
      ['enqueued by dibs.enqueue', marked],
      ['inserted without a mark', bare],
    ]) {
      const id = await commit();
      const committed = performance.now();
      let ids = [];
      while (!ids.includes(id) && performance.now() < committed + 120_000)
        ({ ids } = await oneClaim(warm.url, { wait_seconds: 20 }));
      report.line({
        number: 18,
        what: `a late job, ${what}, is claimed after its commit, over ${jobs} dead entries`,
        value: (performance.now() - committed) / 1000,
        unit: ' s',
        ...(commit === marked && { atMost: 2 }),
      });
    }
    await release();
    if (warm.complaints.length > 0) report.say(`The log of the warm replica:\n${warm.complaints.join('\n')}`);
  },
);
