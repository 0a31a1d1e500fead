// #41: three servers, and one of them is killed: the calls for queues of the other two, against before.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { jobText } from './lib/jobs.mjs';
import { serverPid, startPostgres } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { p50, p99 } from './lib/stats.mjs';

const KEPT = ['home', 'a'];
const PAUSE_MS = 10;

/** One client that enqueues, claims and acks jobs of a queue until it is stopped. The time of each call, and those that failed. */
function neighbour(base, queue) {
  const http = client(base, 1);
  const found = { times: [], failures: 0 };
  let going = true;
  async function timed(path, body) {
    const { status, ms, text } = await http.call('POST', path, body);
    found.times.push(ms);
    if (status >= 300) found.failures++;
    return status < 300 ? JSON.parse(text || '{}') : {};
  }
  async function run() {
    while (going) {
      await timed('/jobs', jobText(queue));
      const { jobs = [] } = await timed('/jobs/claim', { queues: [queue] });
      for (const { id, lease_token } of jobs) await timed(`/jobs/${id}/ack`, { lease_token });
      await sleep(PAUSE_MS);
    }
    http.close();
  }
  const done = run();
  return async () => {
    going = false;
    await done;
    return found;
  };
}

/** Those who go on asking for the queue of the lost database. */
function others(base, queue, count) {
  let going = true;
  const http = client(base, count);
  const run = async () => {
    while (going) {
      await http.call('POST', '/jobs', jobText(queue)).catch(() => undefined);
      await sleep(PAUSE_MS);
    }
  };
  const done = Promise.all(Array.from({ length: count }, run));
  return async () => {
    going = false;
    await done;
    http.close();
  };
}

await benchmark(
  {
    name: 'lostDatabase',
    title: 'One of three databases is killed',
    full: { seconds: 20, clients: 8 },
    short: { seconds: 5 },
    maxSeconds: 600,
  },
  async ({ options: { seconds, clients }, postgres, report }) => {
    const [a, b] = [await startPostgres(), await startPostgres()];
    const urls = { A: await a.database('dibs_a'), B: await b.database('dibs_b') };
    const replica = await startReplica(await postgres.database('dibs_home'), {
      DATABASE_URL_A: urls.A,
      DATABASE_URL_B: urls.B,
    });
    const http = client(replica.url);
    for (const database of [...KEPT, 'b']) await http.json('PUT', `/queues/${database}.lost`, { database });
    http.close();

    /** The calls of all neighbours, for so long. */
    async function during() {
      const ends = KEPT.map((database) => neighbour(replica.url, `${database}.lost`));
      await sleep(seconds * 1000);
      const found = await Promise.all(ends.map((end) => end()));
      return {
        times: found.flatMap(({ times }) => times),
        failures: found.reduce((sum, { failures }) => sum + failures, 0),
      };
    }

    const stop = others(replica.url, 'b.lost', clients);
    await during();
    const before = await during();
    process.kill(await serverPid(urls.B), 'SIGQUIT');
    const after = await during();
    await stop();

    report.table(
      `Calls for queues of two databases, ${seconds} s each, ms:`,
      ['', 'calls', 'p50', 'p99', 'failed'],
      Object.entries({ before, 'from the kill on': after }).map(([when, { times, failures }]) => [
        when,
        times.length,
        p50(times),
        p99(times),
        failures,
      ]),
    );
    report.line({
      number: 41,
      what: 'calls for other queues from the kill on, p99',
      against: 'before',
      value: p99(after.times) / p99(before.times),
      atMost: 1.3,
    });
    report.line({ number: 41, what: 'of them refused or failed', value: after.failures, atMost: 0 });
  },
);
