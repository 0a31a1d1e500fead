// The neutral client: one process for each load, the same loops for all sides. run.mjs starts it, and tells it the load.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { PAYLOAD } from '../lib/jobs.mjs';
import { paced } from '../lib/paced.mjs';
import { p50, p99 } from '../lib/stats.mjs';

/** So many failures in one load, and it ends. */
const MOST_FAILED = 100;
/** Connections that the jobs of a paced load are enqueued over. */
const PRODUCERS = 8;
/** What a paced load waits for its last jobs. */
const LATE_MS = 10_000;

/** The time, comparable between processes of this machine. */
const now = () => performance.timeOrigin + performance.now();

const tell = (message) => new Promise((sent) => process.send(message, sent));

/** Between the two marks, run.mjs reads the processor time of the server. */
async function measured(seconds, count) {
  const before = { count: count(), used: process.cpuUsage(), at: performance.now() };
  await tell({ mark: 'begin' });
  await sleep(seconds * 1000);
  const took = (performance.now() - before.at) / 1000;
  const { user, system } = process.cpuUsage(before.used);
  const done = count() - before.count;
  await tell({ mark: 'end', done, seconds: took, client: (user + system) / 1e6 });
}

/** Each connection does `step` again and again. The first failures are told with what was found. */
async function closedLoop(connections, { warm, seconds }, step, count) {
  const failures = [];
  let isOver = false;
  const hands = Array.from({ length: connections }, async (_, i) => {
    while (!isOver && failures.length < MOST_FAILED)
      try {
        await step(i);
      } catch (error) {
        if (!isOver) failures.push(error.message);
      }
  });
  await sleep(warm * 1000);
  await measured(seconds, count);
  isOver = true;
  // A step that waits for a job may wait for longer than anybody wants to.
  await Promise.race([Promise.all(hands), sleep(1000)]);
  return failures.length > 0 ? `${failures.length} failed (${failures[0]})` : '';
}

const LOADS = {
  async enqueue(side, { address, connections, ...load }) {
    const client = await side.connect(address, { queue: 'enqueued', connections });
    let done = 0;
    const step = async (i) => {
      await client.enqueue(i);
      done++;
    };
    return { trouble: await closedLoop(connections, load, step, () => done) };
  },

  async cycle(side, { address, connections, size, variant, ...load }) {
    const queue = `cycles-${connections}-${size}`;
    const client = await side.connect(address, { queue, connections, size, variant, cycles: true });
    return {
      trouble: await closedLoop(
        connections,
        load,
        (i) => client.cycle(i),
        () => client.finished,
      ),
    };
  },

  /** Jobs at a steady rate. Each carries the time at which it was due to be enqueued. */
  async pickup(side, { address, rate, places, warm, seconds }) {
    const client = await side.connect(address, { queue: 'pickup', connections: PRODUCERS });
    const took = [];
    let [received, measuredFrom] = [0, Number.POSITIVE_INFINITY];
    await client.work({
      places,
      onJob({ at }) {
        received++;
        if (at >= measuredFrom) took.push(now() - at);
      },
    });
    const free = Array.from({ length: PRODUCERS }, (_, i) => i);
    const waiting = [];
    const enqueue = async () => {
      const at = now();
      const i = free.pop() ?? (await new Promise((resolve) => waiting.push(resolve)));
      try {
        await client.enqueueOne(i, `${PAYLOAD.slice(0, -1)},"at":${at}}`);
      } finally {
        const next = waiting.shift();
        if (next) next(i);
        else free.push(i);
      }
    };
    const load = paced({ rate, seconds: warm + seconds }, enqueue);
    await sleep(warm * 1000);
    measuredFrom = now();
    await measured(seconds, () => received);
    const { launched, failed, error } = await load;
    for (const until = now() + LATE_MS; received < launched && now() < until; ) await sleep(50);
    const lost = launched - failed - received;
    const trouble = [
      failed > 0 && `${failed} failed (${error.message})`,
      lost > 0 && `${lost} not picked up`,
    ];
    return { p50: p50(took), p99: p99(took), trouble: trouble.filter(Boolean).join(', ') };
  },

  /** Takes jobs and never finishes one: it will be killed. */
  async hold(side, { address, queue, jobs }) {
    const client = await side.connect(address, { queue, connections: 1, size: jobs, spread: true });
    await client.enqueue(0);
    let held = 0;
    const all = new Promise((resolve, reject) => {
      const onJob = () => {
        if (++held === jobs) resolve();
        return new Promise(() => undefined);
      };
      client.work({ places: jobs, mayDie: true, onJob }).catch(reject);
    });
    await all;
    await tell({ mark: 'holds' });
    await new Promise(() => undefined);
  },

  /** Works, and tells when it had the first job and the last one. */
  async take(side, { address, queue, jobs, waitsForGo }) {
    const client = await side.connect(address, { queue, connections: 1 });
    const at = [];
    const go = waitsForGo ? once(process, 'message') : undefined;
    const all = new Promise((resolve, reject) => {
      const work = () =>
        client.work({
          places: jobs,
          mayDie: true,
          onJob() {
            at.push(now());
            if (at.length === jobs) resolve();
          },
        });
      (go ? go.then(work) : work()).catch(reject);
    });
    await tell({ mark: 'waits' });
    await all;
    return { first: at[0], last: at.at(-1) };
  },
};

process.once('message', async ({ side, load, ...options }) => {
  try {
    const { default: it } = await import(`./sides/${side}.mjs`);
    await tell({ found: await LOADS[load](it, options) });
    process.exit();
  } catch (error) {
    await tell({ failed: error?.stack ?? String(error) });
    process.exit(1);
  }
});
