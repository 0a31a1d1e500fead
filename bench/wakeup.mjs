// #9: from an enqueue to the answer of a waiting claim, idle system, against a request to a bare route.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { jobText } from './lib/jobs.mjs';
import { startBare, startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const QUEUE = 'bench';
/** A random pause between claim and enqueue: long enough that the claim waits and the system is idle. */
const PAUSE_MS = [60, 120];

const pause = () => sleep(PAUSE_MS[0] + Math.random() * (PAUSE_MS[1] - PAUSE_MS[0]));

/** Times in ms from an enqueue at one replica to the answer of a claim that waits at another or the same. */
async function wakeUps(producerUrl, consumerUrl, count) {
  const producer = client(producerUrl);
  const consumer = client(consumerUrl);
  const job = jobText(QUEUE);
  const times = [];
  for (let i = 0; i < count; i++) {
    const waiting = consumer.post('/jobs/claim', { queues: [QUEUE], wait_seconds: 20 });
    await pause();
    const sent = performance.now();
    const enqueued = producer.post('/jobs', job);
    const { at, body } = await waiting;
    times.push(at - sent);
    await enqueued;
    const [{ id, lease_token }] = body.jobs;
    await consumer.post(`/jobs/${id}/ack`, { lease_token });
  }
  producer.close();
  consumer.close();
  return times;
}

async function roundTrips(url, count) {
  const http = client(url);
  const times = [];
  for (let i = 0; i < count; i++) {
    await pause();
    times.push((await http.post('/jobs', jobText(QUEUE))).ms);
  }
  http.close();
  return times;
}

await benchmark(
  {
    name: 'wakeup',
    title: 'Waking a waiting claim',
    full: { rounds: 5, count: 200 },
    short: { rounds: 3, count: 40 },
    maxSeconds: 1800,
  },
  async ({ options: { rounds, count }, postgres, report }) => {
    const url = await postgres.database('dibs_wakeup');
    const [here, there] = [await startReplica(url), await startReplica(url)];
    const bare = await startBare();
    const sides = {
      'bare round trip': () => roundTrips(bare.url, count),
      'same replica': () => wakeUps(here.url, here.url, count),
      'other replica': () => wakeUps(there.url, here.url, count),
    };
    await wakeUps(there.url, here.url, 20);
    await wakeUps(here.url, here.url, 20);

    const found = Object.fromEntries(Object.keys(sides).map((side) => [side, { p50: [], p99: [] }]));
    const rows = [];
    for (let round = 1; round <= rounds; round++)
      for (const [side, measure] of Object.entries(sides)) {
        const times = await measure();
        found[side].p50.push(p50(times));
        found[side].p99.push(p99(times));
        rows.push([round, side, p50(times), p99(times), Math.max(...times)]);
      }
    report.table(`${count} of each, one after the other, ms:`, ['round', 'what', 'p50', 'p99', 'max'], rows);
    const bounds = { 'same replica': { p50: 2, p99: 10 }, 'other replica': { p50: 5, p99: 25 } };
    for (const [side, bound] of Object.entries(bounds))
      for (const q of ['p50', 'p99'])
        report.line({
          number: 9,
          what: `wake-up ${q}, ${side}, beyond a bare round trip`,
          against: `a bare route: ${median(found['bare round trip'][q]).toFixed(2)} ms`,
          value: median(found[side][q]) - median(found['bare round trip'][q]),
          unit: ' ms',
          atMost: bound[q],
        });
  },
);
