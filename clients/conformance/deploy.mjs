// The promise that is too large for a test: many workers, replaced in a rolling deploy under load; then Dibs is killed (kill -9) and
// started again. Needs `npm run build`.
//   node clients/conformance/deploy.mjs [workers, 100] [jobs a second, 60]
// It fails when a job began twice in the deploy, when a worker ended by itself, or when jobs are not finished at 95 % of the rate at
// which they come within 5 seconds after Dibs is ready again. It does not look at charged attempts.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../bench/lib/ports.mjs';

const [workers = 100, rate = 60] = process.argv.slice(2).map(Number);
const QUEUE = 'deploy';
const DRIVERS = 4;
const folder = await mkdtemp(join(tmpdir(), 'dibs-deploy-'));

const port = await freePort();
const url = `http://127.0.0.1:${port}`;

async function startDibs() {
  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    env: { ...process.env, PORT: String(port), DATA_DIR: folder, LOG_LEVEL: 'error', DATABASE_URL: '' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error('dibs serve has ended');
    if (
      await fetch(`${url}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      )
    )
      return child;
    await sleep(50);
  }
}

async function call(method, path, body) {
  for (;;) {
    try {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
      if (answer.status < 300) return await answer.json();
    } catch {}
    await sleep(100);
  }
}

const starts = new Map();
const finished = [];
let failed = 0;
const alive = new Set();
const waiters = new Map();

function startDriver() {
  const child = spawn(process.execPath, ['clients/conformance/drivers/typescript.mjs'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { event, as, id } = JSON.parse(line);
    if (event === 'started') starts.set(id, (starts.get(id) ?? 0) + 1);
    if (event === 'finished') finished.push(performance.now());
    if (event !== 'stopped' && event !== 'failed') return;
    if (event === 'failed' || !waiters.has(as)) failed++;
    alive.delete(as);
    waiters.get(as)?.();
  });
  return child;
}
const drivers = Array.from({ length: DRIVERS }, startDriver);
const say = (as, command) =>
  drivers[Number(as.slice(1)) % DRIVERS].stdin.write(`${JSON.stringify({ as, ...command })}\n`);
let count = 0;
function startWorker() {
  const as = `w${++count}`;
  alive.add(as);
  say(as, {
    do: 'start',
    url,
    queues: [QUEUE],
    concurrency: 2,
    lease_seconds: 10,
    wait_seconds: 20,
    stop_seconds: 20,
  });
  return as;
}
const stopWorker = (as) =>
  new Promise((resolve) => {
    waiters.set(as, resolve);
    say(as, { do: 'stop' });
  });

let dibs = await startDibs();
const problems = [];
try {
  await call('PUT', `/queues/${QUEUE}`, { retention_seconds: 3600 });
  let isLoaded = true;
  const enqueuedAt = [];
  const load = (async () => {
    while (isLoaded) {
      const jobs = Array.from({ length: Math.ceil(rate / 5) }, () => ({
        queue: QUEUE,
        payload: { ms: 300 },
      }));
      await call('POST', '/jobs/batch', { jobs });
      for (const _ of jobs) enqueuedAt.push(performance.now());
      await sleep(200);
    }
  })();
  const olds = Array.from({ length: workers }, startWorker);
  await sleep(5000);

  for (let at = 0; at < olds.length; at += 10) {
    for (let i = 0; i < 10; i++) startWorker();
    await Promise.all(olds.slice(at, at + 10).map(stopWorker));
  }
  const twice = [...starts.values()].filter((times) => times > 1).length;
  console.log(`deploy: ${workers} workers replaced, ${starts.size} jobs, ${twice} began twice`);
  if (twice > 0) problems.push('the deploy ran jobs twice');

  await sleep(4000);
  const within = (times, from, to) => times.filter((at) => at >= from && at < to).length;
  const before = within(finished, performance.now() - 4000, performance.now()) / 4;
  dibs.kill('SIGKILL');
  await once(dibs, 'exit');
  await sleep(2000);
  dibs = await startDibs();
  const ready = performance.now();
  await sleep(9000);
  // What comes in sets the rate: there are places enough. A window of 3 s evens out the batches.
  let back;
  for (let ms = 0; ms <= 6000 && back === undefined; ms += 100) {
    const window = [ready + ms, ready + ms + 3000];
    const came = within(enqueuedAt, ...window);
    if (came > 0 && within(finished, ...window) >= came * 0.95) back = ms;
  }
  console.log(
    `restart: ${before.toFixed(0)} jobs/s before, at 95 % ${back === undefined ? 'not' : `${back} ms`} after it was ready`,
  );
  if (back === undefined || back > 5000) problems.push('the rate came back too late');
  isLoaded = false;
  await load;
  for (let left; left !== 0; await sleep(200)) {
    const { counts } = await call('GET', `/queues/${QUEUE}`);
    left = counts.ready + counts.leased + counts.scheduled;
  }
  console.log(
    `end: ${enqueuedAt.length} jobs enqueued, all completed, ${failed} workers ended by themselves`,
  );
  if (failed > 0) problems.push('workers ended by themselves');
} finally {
  for (const driver of drivers) driver.kill();
  dibs.kill('SIGTERM');
  await once(dibs, 'exit');
  await rm(folder, { recursive: true, force: true });
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
