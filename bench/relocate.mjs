// #36: a queue moves to another database: jobs a second, how long its calls waited, and what neighbours in both databases felt.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText } from './lib/jobs.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p99 } from './lib/stats.mjs';

const DATABASES = { home: 'a', a: 'home' };
const MOVED = 'moved';
const neighbourIn = (database) => `beside-${database}`;

/** Repeats a cycle in the queue of a neighbour until it is stopped. Returns times of whole cycles in ms. */
function cycles(url, queue) {
  const http = client(url);
  const times = [];
  let isStopped = false;
  const ended = (async () => {
    while (!isStopped) {
      const began = performance.now();
      await http.post('/jobs', { queue });
      const { body } = await http.post('/jobs/claim', { queues: [queue], wait_seconds: 20 });
      const [{ id, lease_token }] = body.jobs;
      await http.post(`/jobs/${id}/ack`, { lease_token });
      times.push(performance.now() - began);
      await sleep(5);
    }
    http.close();
    return times;
  })();
  return () => {
    isStopped = true;
    return ended;
  };
}

/** The cycles of all neighbours while something is done. */
async function beside(url, work) {
  const stops = Object.keys(DATABASES).map((database) => cycles(url, neighbourIn(database)));
  const done = await work();
  return { done, times: await Promise.all(stops.map((stop) => stop())) };
}

/** Enqueues into the queue that moves, again and again. Returns the longest time between two that went well, in seconds. */
function probe(url) {
  const http = client(url);
  let isStopped = false;
  const ended = (async () => {
    let longest = 0;
    for (let last = performance.now(); !isStopped; await sleep(20)) {
      const { status } = await http.call('POST', '/jobs', { queue: MOVED });
      if (status !== 201) continue;
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    http.close();
    return longest / 1000;
  })();
  return () => {
    isStopped = true;
    return ended;
  };
}

async function relocate(http, to) {
  const began = performance.now();
  let { body } = await http.post(`/queues/${MOVED}/relocate`, { to });
  while (body.state === 'running') {
    await sleep(50);
    ({ body } = await http.json('GET', `/operations/${body.id}`));
  }
  if (body.state !== 'done') throw new Error(`the relocation: ${body.state}, ${body.error}`);
  return { ...body, seconds: (performance.now() - began) / 1000 };
}

await benchmark(
  {
    name: 'relocate',
    title: 'A queue that moves to another database',
    full: { rounds: 3, jobs: 1_000_000 },
    short: { rounds: 1, jobs: 50_000 },
    maxSeconds: 1800,
  },
  async ({ options: { rounds, jobs }, postgres, report }) => {
    const { url } = await startReplica(await postgres.database('dibs_home'), {
      DATABASE_URL_A: await postgres.database('dibs_a'),
    });
    const http = client(url);
    await http.json('PUT', `/queues/${MOVED}`, { database: 'home' });
    for (const database of Object.keys(DATABASES))
      await http.json('PUT', `/queues/${neighbourIn(database)}`, { database });
    await fill(url, jobs, jobText(MOVED));

    const found = { rate: [], told: [], slower: [] };
    const rows = [];
    let from = 'home';
    for (let round = 1; round <= rounds; round++) {
      const alone = await beside(url, () => sleep(5000));
      const stop = probe(url);
      const { done: moved, times } = await beside(url, () => relocate(http, DATABASES[from]));
      const held = await stop();
      from = DATABASES[from];
      const slower = times.map((some, i) => p99(some) / p99(alone.times[i]));
      found.rate.push(moved.matched / held);
      found.told.push(moved.hold_seconds / held);
      found.slower.push(Math.max(...slower));
      rows.push([round, moved.matched, moved.seconds, held, moved.hold_seconds, ...slower]);
    }
    http.close();
    report.table(
      'Seconds of the whole, without an answered enqueue, and told before; neighbours beside it against alone, p99:',
      ['round', 'jobs', 'seconds', 'held', 'told', ...Object.keys(DATABASES)],
      rows,
    );
    report.line({
      number: 36,
      what: 'jobs a second while calls for the queue wait',
      against: '1 s',
      value: median(found.rate),
      atLeast: 20_000,
    });
    report.line({
      number: 36,
      what: 'how long calls wait, as a dry run tells it',
      against: 'the longest time between two enqueues',
      value: median(found.told),
      atLeast: 1,
    });
    report.line({
      number: 36,
      what: 'a cycle in another queue of the two databases, p99',
      against: 'without a relocation',
      value: median(found.slower),
      atMost: 3,
    });
  },
);
