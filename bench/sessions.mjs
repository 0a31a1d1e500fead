// #37: what sessions cost, and how soon the jobs of a killed worker are with another one. How fast many are resumed when
// their replica stops.
//   node bench/sessions.mjs [--sessions 5000] [--seconds 30] [--settle 45] [--kills 20] [--resumed 2500]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { client } from './lib/http.mjs';
import { query, serverPid } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';

const HELD_JOBS = 10;
const LEASE_SECONDS = 30;

/** Opens a session, or resumes one, and reads its lines until `close`. `over` resolves when there are no more. */
function hold(base, body = {}) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request(`${base}/sessions`, { method: 'POST', agent: false, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`POST /sessions: ${response.statusCode}`));
      const over = new Promise((end) => response.on('error', () => undefined).once('close', end));
      const opened = (line) => resolve({ id: JSON.parse(line).session, over, close: () => sent.destroy() });
      response.once('data', opened).resume();
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

/** The replica of many sessions stops, and each client resumes its own at another one, at once. */
async function resumeAll(from, to, count) {
  const held = [];
  while (held.length < count)
    held.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, count - held.length) }, () =>
          hold(from.url, { resume_seconds: 60 }),
        ),
      )),
    );
  const stoppedAt = performance.now();
  const stopped = from.stop();
  const resumed = await Promise.all(
    held.map(async ({ id, over }) => {
      await over;
      return hold(to.url, { session: id });
    }),
  );
  const ms = performance.now() - stoppedAt;
  await stopped;
  for (const one of resumed) one.close();
  return ms;
}

/** Each connection that asks makes two transactions. */
async function transactions(url) {
  const [row] = await query(
    url,
    'select xact_commit + xact_rollback as made from pg_stat_database where datname = current_database()',
  );
  return Number(row.made);
}

/** What the replicas do in a second while nobody asks them anything. */
async function rest(url, server, replicas, seconds) {
  const used = () => replicas.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0);
  const before = { made: await transactions(url), dibs: used(), postgres: postgresCpu(server) };
  await sleep(seconds * 1000);
  const made = (await transactions(url)) - before.made - 2;
  const dibs = used() - before.dibs;
  const postgres = usedSince(before.postgres, postgresCpu(server));
  return { made: made / seconds, dibs: (dibs * 1000) / seconds, postgres: (postgres * 1000) / seconds };
}

/** A process that holds a session with leases, and another claim that waits. Returns how long after SIGKILL that has the first job. */
async function kill(base, i) {
  const http = client(base, 2);
  const queue = `killed${i}`;
  const jobs = Array.from({ length: HELD_JOBS }, () => ({ queue, payload: i }));
  await http.post('/jobs/batch', { jobs });
  const holder = spawn(
    'curl',
    [
      '-sSN',
      '-X',
      'POST',
      `${base}/sessions`,
      '-H',
      'content-type: application/json',
      '-d',
      '{"resume_seconds": 0}',
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [line] = await once(createInterface({ input: holder.stdout }), 'line');
  const { session } = JSON.parse(line);
  const claim = { queues: [queue], limit: HELD_JOBS, lease_seconds: LEASE_SECONDS };
  const held = await http.post('/jobs/claim', { ...claim, session });
  if (held.body.jobs.length !== HELD_JOBS) throw new Error(`claimed ${held.body.jobs.length} jobs`);
  const waiting = http.post('/jobs/claim', { ...claim, wait_seconds: 60 });
  await sleep(500);
  const killedAt = performance.now();
  holder.kill('SIGKILL');
  const got = await waiting;
  http.close();
  if (got.body.jobs.length === 0) throw new Error('the jobs did not come back');
  return got.at - killedAt;
}

await benchmark(
  {
    name: 'sessions',
    title: 'Sessions',
    full: { sessions: 5000, seconds: 30, settle: 45, kills: 20, resumed: 2500, replicas: 2 },
    short: { sessions: 500, seconds: 10, settle: 20, kills: 5, resumed: 500 },
    maxSeconds: 900,
  },
  async ({ options: { sessions, seconds, settle, kills, resumed, replicas: count }, postgres, report }) => {
    const url = await postgres.database('dibs_sessions');
    const replicas = [];
    for (let i = 0; i < count; i++) replicas.push(await startReplica(url, { MAX_CONNECTIONS: '10000' }));
    const server = await serverPid(url);

    const rows = [];
    const measured = async (what) => {
      await sleep(settle * 1000);
      const { made, dibs, postgres } = await rest(url, server, replicas, seconds);
      rows.push([what, made, dibs, postgres]);
      return made;
    };
    const before = await measured('no session');
    const held = [];
    const open = async (total) => {
      while (held.length < total)
        held.push(
          ...(await Promise.all(
            Array.from({ length: Math.min(50, total - held.length) }, (_, i) =>
              hold(replicas[i % count].url),
            ),
          )),
        );
    };
    await open(count);
    await measured('one session at each replica');
    await open(sessions);
    const made = await measured(`${sessions} sessions`);
    for (const one of held) one.close();
    report.table(
      `${count} replicas that nobody asks anything: transactions a second of all of them, and processor time in ms a second:`,
      ['', 'transactions', 'Dibs', 'PostgreSQL'],
      rows,
    );
    await sleep(5000);

    const took = [];
    for (let i = 0; i < kills; i++) took.push(await kill(replicas[i % count].url, i));
    const longest = Math.max(...took);
    report.say(
      `A worker with ${HELD_JOBS} leases of ${LEASE_SECONDS} s is killed, ${kills} times: another one has the first job after ` +
        `${median(took).toFixed(0)} ms (median), ${longest.toFixed(0)} ms (longest).`,
    );
    const ms = await resumeAll(replicas[0], replicas[1], resumed);
    report.say(
      `A replica with ${resumed} sessions stops. Its clients have resumed all of them at another one after ${ms.toFixed(0)} ms: ` +
        `${((resumed * 1000) / ms).toFixed(0)} a second.`,
    );
    report.line({
      number: 37,
      what: `${sessions} sessions at ${count} replicas, transactions a second and replica`,
      against: 'no session',
      value: (made - before) / count,
      atMost: 1.1,
    });
    report.line({
      number: 37,
      what: 'a killed worker: its jobs elsewhere, longest, ms',
      against: 'wanted',
      value: longest,
      atMost: 200,
    });
  },
);
