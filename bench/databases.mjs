// #35: three databases behind one replica, against one: a batch and a follow-up that cross, and a claim over six queues.
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const DATABASES = ['home', 'a', 'b'];
const queuesOf = (kind) => DATABASES.map((database) => `${kind}-${database}`);
const [X, Y] = [queuesOf('x'), queuesOf('y')];
const leasesOf = (jobs) => jobs.map(({ id, lease_token }) => ({ id, lease_token }));

/** Times in ms, each from the first request until the last job is with a worker. */
async function measure(url, count) {
  const http = client(url);
  const post = async (path, body) => (await http.post(path, body)).body;
  /** Claims until it has so many jobs. */
  async function claimAll(queues, count) {
    const jobs = [];
    while (jobs.length < count)
      jobs.push(
        ...(await post('/jobs/claim', { queues, limit: count - jobs.length, wait_seconds: 20 })).jobs,
      );
    return jobs;
  }
  const times = { batch: [], 'follow-up': [], claim: [] };
  async function timed(kind, work) {
    const began = performance.now();
    const done = await work();
    times[kind].push(performance.now() - began);
    return done;
  }
  for (let i = 0; i < count; i++) {
    const jobs = await timed('batch', async () => {
      await post('/jobs/batch', { jobs: X.map((queue) => ({ queue })) });
      return claimAll(X, X.length);
    });
    const [first, ...others] = jobs.toSorted((one, other) => X.indexOf(one.queue) - X.indexOf(other.queue));
    const next = await timed('follow-up', async () => {
      await post(`/jobs/${first.id}/ack`, { lease_token: first.lease_token, enqueue: [{ queue: Y[2] }] });
      return claimAll([Y[2]], 1);
    });
    await post('/jobs/settle', { acks: leasesOf([...others, ...next]) });
    for (const queue of [...X, ...Y]) await post('/jobs', { queue });
    const all = await timed('claim', () => claimAll([...X, ...Y], 6));
    await post('/jobs/settle', { acks: leasesOf(all) });
  }
  http.close();
  return times;
}

await benchmark(
  {
    name: 'databases',
    title: 'Three databases against one',
    full: { rounds: 5, count: 200 },
    short: { rounds: 3, count: 40 },
    maxSeconds: 900,
  },
  async ({ options: { rounds, count }, postgres, report }) => {
    const one = await startReplica(await postgres.database('dibs_one'));
    const three = await startReplica(await postgres.database('dibs_home'), {
      DATABASE_URL_A: await postgres.database('dibs_a'),
      DATABASE_URL_B: await postgres.database('dibs_b'),
    });
    const http = client(three.url);
    for (const queue of [...X, ...Y])
      await http.json('PUT', `/queues/${queue}`, { database: queue.slice(2) });
    http.close();
    const sides = { one: one.url, three: three.url };
    for (const url of Object.values(sides)) await measure(url, 20);

    const rows = [];
    const ratios = [];
    const arrived = { batch: [], 'follow-up': [] };
    for (let round = 1; round <= rounds; round++) {
      const found = {};
      for (const [side, url] of Object.entries(sides)) {
        found[side] = await measure(url, count);
        for (const [kind, times] of Object.entries(found[side]))
          rows.push([round, side, kind, p50(times), p99(times)]);
      }
      ratios.push(p50(found.three.claim) / p50(found.one.claim));
      for (const kind of Object.keys(arrived)) arrived[kind].push(p99(found.three[kind]));
    }
    report.table(
      `${count} of each, one after the other, ms:`,
      ['round', 'databases', 'what', 'p50', 'p99'],
      rows,
    );
    for (const [kind, times] of Object.entries(arrived))
      report.line({
        number: 35,
        what: `a ${kind} over three databases, until the last job is claimed, p99`,
        against: 'the request',
        value: median(times),
        unit: ' ms',
        atMost: 50,
      });
    report.line({
      number: 35,
      what: 'a claim over 6 queues in 3 databases, p50',
      against: '6 queues in 1',
      value: median(ratios),
      atMost: 1.5,
    });
  },
);
