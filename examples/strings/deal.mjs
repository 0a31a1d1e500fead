import { spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { call } from '../support/service.mjs';

const LENGTH = 50;
const BATCH = 1000;
const program = fileURLToPath(new URL('worker.mjs', import.meta.url));

const letter = () => String.fromCharCode(97 + randomInt(26));
export const randomString = () => Array.from({ length: LENGTH }, letter).join('');

/** The number of times that the first letter comes again. */
export const priorityOf = (string) => string.split(string[0]).length - 2;

/** Enqueues strings in order, each with its place in that order. */
async function enqueue(url, queue, strings) {
  const jobs = strings.map((string, place) => ({
    queue,
    payload: { place, string },
    priority: priorityOf(string),
  }));
  for (let at = 0; at < jobs.length; at += BATCH)
    await call(url, 'POST', '/jobs/batch', { jobs: jobs.slice(at, at + BATCH) });
}

/** Starts a worker process and returns once it is about to claim. It calls `onDone` for each job done. */
async function startWorker(url, queue, name, onDone) {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, DIBS_URL: url, QUEUE: queue, WORKER: name },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const done = [];
  const lines = createInterface({ input: child.stdout });
  const ready = once(lines, 'line');
  const ended = once(child, 'close').then(([code, signal]) => {
    if (code !== 0) throw new Error(`worker ${name} ended with ${signal ?? code}`);
  });
  ended.catch(() => undefined);
  await Promise.race([ready, ended]);
  lines.on('line', (line) => {
    const [place, md5] = line.split(' ');
    done.push({ place: Number(place), md5 });
    onDone();
  });
  return { name, done, ended, stop: () => child.kill('SIGTERM') };
}

/**
 * Lets a number of workers hash the strings. Each worker is a process. The queue is paused until all strings
 * are in it and all workers wait. Returns the jobs that each worker did, in its order, and the seconds.
 * `unlessStopped` may end it early.
 */
export async function deal(url, strings, count, unlessStopped = (promise) => promise) {
  const queue = `strings-${randomUUID()}`;
  const workers = [];
  try {
    await call(url, 'POST', `/queues/${queue}/pause`);
    let left = strings.length;
    const allDone = new Promise((resolve) => {
      const onDone = () => --left === 0 && resolve();
      for (let n = 1; n <= count; n++) workers.push(startWorker(url, queue, String(n), onDone));
    });
    const crew = await Promise.all(workers);
    await enqueue(url, queue, strings);
    const started = performance.now();
    await call(url, 'POST', `/queues/${queue}/resume`);
    await unlessStopped(Promise.race([allDone, ...crew.map((worker) => worker.ended)]));
    const seconds = (performance.now() - started) / 1000;
    // Waits for the workers to end, so that a string done twice is seen.
    for (const worker of crew) worker.stop();
    await Promise.all(crew.map((worker) => worker.ended));
    return { seconds, workers: crew.map(({ name, done }) => ({ name, done })) };
  } finally {
    const started = (await Promise.allSettled(workers)).flatMap((outcome) => outcome.value ?? []);
    for (const worker of started) worker.stop();
    await Promise.allSettled(started.map((worker) => worker.ended));
    await call(url, 'DELETE', `/queues/${queue}?force=true`);
  }
}
