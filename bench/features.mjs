// #26: what careful users turn on, against the plain requests that do the same work, at 64 connections.
//   node bench/features.mjs [--only once,unique,groups,...] [--rounds N] [--seconds N]
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { client } from './lib/http.mjs';
import { drain, fill, jobText, leaseOf, READY } from './lib/jobs.mjs';
import { serverPid, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { trouble, wrk } from './lib/wrk.mjs';

/** The load of follow-ups claims far ahead. */
const LEASED_AHEAD = 20_000;
/** Enough jobs of one batch that none of the runs comes to its end. */
const IN_BATCH = 200_000;

const LEASED_AHEAD_QUEUES = new Set(['together', 'apart']);

/** A prefix that no other run has. */
let runs = 0;
const prefix = () => `${(++runs).toString().padStart(4, '0')}-`;

/** What wrk did, and the CPU time that Dibs and PostgreSQL took for each thing done, in microseconds. */
async function measured({ base, pid, server, connections, seconds }, script, args, doneOf, threads) {
  const before = { dibs: cpuSecondsOf(pid), postgres: postgresCpu(server) };
  const result = await wrk(base, { script, connections, seconds, args, threads });
  const done = doneOf(result);
  return {
    rate: done / result.seconds,
    trouble: trouble(result),
    dibs: ((cpuSecondsOf(pid) - before.dibs) * 1e6) / done,
    postgres: (usedSince(before.postgres, postgresCpu(server)) * 1e6) / done,
  };
}

/** Enqueues with something of their own in each request. Takes the jobs out again, so that the tables stay small. */
async function varied(load, queue, headers, more) {
  const args = [prefix(), headers, jobText(queue, more)];
  const result = await measured(load, 'varied', args, ({ requests, not_2xx }) => requests - not_2xx);
  await drain(load.base, queue, {
    each: (jobs, http) => http.post('/jobs/settle', { acks: jobs.map(leaseOf) }),
  });
  return result;
}

const NO_KEY = 'X-Nothing: #\r\n';

const ackAndEnqueue = (load, queue, requests, next = queue) =>
  measured(load, 'follow-ups', [queue, jobText(next), requests], ({ acked, enqueued }) =>
    requests === 'one' ? acked : Math.min(acked, enqueued),
  );

const acked = (result) => result.acked;

/** Cycles of three requests. The queue has jobs before it begins, so that every claim finds one. */
const cycle = (load, queue, more) => measured(load, 'cycle', [queue, jobText(queue, more), prefix()], acked);

/** Jobs whose producers wait for their ends, as many as there are connections, and as many workers. */
const awaited = (load, queue) =>
  measured(
    { ...load, connections: 2 * load.connections },
    'awaited',
    [queue, jobText(queue)],
    ({ finished }) => finished,
    2,
  );

const byHundreds = (load, queue, more) =>
  measured({ ...load, connections: 8 }, 'batches', [queue, jobText(queue, more), '100'], acked);

const groupCycle = (load, queue) => cycle(load, queue, { group: '#' });

const cycles = (what, queue, atLeast, { more, config } = {}) => ({
  what,
  filled: ['cycle', queue],
  more,
  config,
  against: { name: 'cycles', run: (load) => cycle(load, 'cycle') },
  run: (load) => cycle(load, queue, more),
  atLeast,
});

const plain = { name: 'plain', run: (load) => varied(load, 'plain', NO_KEY) };

/**
 * Each pair has its row in the table of aims, its two sides and the ratio that is wanted. Its queues are `filled` before,
 * those of the feature with the fields `more` and all with those of `both`. The queue of the feature has this `config`.
 */
const PAIRS = {
  once: {
    row: 6,
    what: 'enqueues with an Idempotency-Key',
    against: plain,
    run: (load) => varied(load, 'once', 'Idempotency-Key: #\r\n'),
    atLeast: 0.6,
  },
  unique: {
    row: 7,
    what: 'enqueues with unique keys, all distinct',
    against: plain,
    run: (load) => varied(load, 'unique', '', { unique_key: '#' }),
    atLeast: 0.7,
  },
  replace: {
    row: 7,
    what: 'enqueues that replace the job of one key',
    against: { name: 'with unique keys', run: (load) => varied(load, 'unique', '', { unique_key: '#' }) },
    run: (load) =>
      varied(load, 'replace', '', {
        unique_key: 'one',
        on_duplicate: 'replace',
        delay_seconds: 1000,
        payload: '"#"',
      }),
    atLeast: 0.6,
  },
  groups: {
    row: 8,
    what: 'enqueues into groups, all distinct',
    against: plain,
    run: (load) => varied(load, 'groups', '', { group: '#' }),
    atLeast: 0.75,
  },
  groupCycle: {
    row: 8,
    ...cycles('cycles of groups, all distinct', 'groupCycle', 0.75, { more: { group: '#' } }),
  },
  groupsOfFour: {
    row: 8,
    what: 'cycles of groups with group_concurrency 4',
    filled: ['groupsOfOne', 'groupsOfFour'],
    both: { group: '#' },
    config: { group_concurrency: 4 },
    against: { name: 'cycles of groups of one', run: (load) => groupCycle(load, 'groupsOfOne') },
    run: (load) => groupCycle(load, 'groupsOfFour'),
    atLeast: 0.9,
  },
  batchEnqueue: {
    row: 12,
    what: 'enqueues into one batch',
    batch: 'open',
    against: plain,
    run: (load, { more }) => varied(load, 'batchEnqueue', NO_KEY, more),
    atLeast: 0.8,
  },
  batchFinish: {
    row: 12,
    what: 'cycles that finish the jobs of one closed batch',
    batch: 'closed',
    filled: ['alone', 'batchFinish'],
    count: IN_BATCH,
    against: { name: 'cycles', run: (load) => cycle(load, 'alone') },
    run: (load) => cycle(load, 'batchFinish'),
    atLeast: 0.8,
  },
  followUps: {
    row: 9,
    what: 'acks with one follow-up',
    filled: ['together', 'apart'],
    against: { name: 'an ack and an enqueue', run: (load) => ackAndEnqueue(load, 'apart', 'two') },
    run: (load) => ackAndEnqueue(load, 'together', 'one'),
    atLeast: 0.7,
  },
  awaited: {
    row: 10,
    what: 'jobs with Prefer: wait',
    filled: ['cycle'],
    against: { name: 'cycles', run: (load) => cycle(load, 'cycle') },
    run: (load) => awaited(load, 'awaited'),
    atLeast: 0.8,
  },
  maxLeased: {
    row: 11,
    ...cycles('cycles with max_leased', 'maxLeased', 0.8, { config: { max_leased: 100_000 } }),
  },
  rateLimit: {
    row: 11,
    ...cycles('cycles with a rate_limit', 'rateLimit', 0.8, {
      config: { rate_limit: { jobs: 1_000_000_000, per_seconds: 60 } },
    }),
  },
  fairness: {
    row: 11,
    what: 'jobs with 10 fairness keys, by 100',
    filled: ['hundreds', 'fair'],
    more: { fairness_key: '#' },
    against: { name: 'jobs without, by 100', run: (load) => byHundreds(load, 'hundreds') },
    run: (load) => byHundreds(load, 'fair', { fairness_key: '#' }),
    atLeast: 0.8,
  },
};

/** Configures and fills the queues of a pair. The last one is that of the feature. Its jobs are in one batch, where it has one. */
async function prepare(base, pair) {
  const { filled = [], batch } = pair;
  const feature = filled.at(-1);
  const batches = client(base);
  const { id } = batch === undefined ? {} : (await batches.post('/batches', { queue: 'batch' })).body;
  if (id !== undefined) pair.more = { batch: id };
  await fillAll(base, pair, feature);
  if (batch === 'closed') await batches.post(`/batches/${id}/close`, {});
  batches.close();
}

async function fillAll(base, { filled = [], both, more, config, count }, feature) {
  if (config) {
    const http = client(base);
    await http.call('PUT', `/queues/${feature}`, JSON.stringify(config));
    http.close();
  }
  for (const queue of filled) {
    const text = jobText(queue, { ...both, ...(queue === feature ? more : {}) });
    const isVaried = text.includes('#');
    const job = isVaried ? (i) => text.replace('#', feature === 'fair' ? i % 10 : `first-${i}`) : text;
    await fill(base, count ?? (LEASED_AHEAD_QUEUES.has(queue) ? LEASED_AHEAD : READY), job);
  }
}

const CPU = ['Dibs: plain, µs', 'feature', 'PostgreSQL: plain, µs', 'feature'];

await benchmark(
  {
    name: 'features',
    title: 'Features against plain requests',
    full: { only: Object.keys(PAIRS).join(), rounds: 5, seconds: 5, connections: 64, build: '' },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { only, rounds, seconds, connections, build }, postgres, report }) => {
    const pairs = only.split(',').map((name) => ({ name, ...PAIRS[name] }));
    const url = await postgres.database('dibs_features');
    const replica = await startReplica(url, {}, build === '' ? undefined : build);
    const server = await serverPid(url);
    const load = { base: replica.url, pid: replica.pid, server, connections, seconds };
    for (const pair of pairs) await prepare(replica.url, pair);
    await settle(url);
    for (const pair of pairs)
      for (const one of [pair.against.run, pair.run, pair.against.run, pair.run])
        await one({ ...load, seconds: 2 }, pair).catch(() => undefined);

    const found = pairs.map(() => ({ plain: [], feature: [], ratio: [], dibs: [], postgres: [], cpu: [] }));
    for (let round = 1; round <= rounds; round++) {
      const rows = [];
      for (const [i, pair] of pairs.entries()) {
        const { what, against, run } = pair;
        const sides = [
          ['plain', against.run],
          ['feature', run],
        ];
        const notes = [];
        const cpu = {};
        for (const [side, work] of round % 2 ? sides : sides.toReversed()) {
          await settle(url);
          const result = await work(load, pair);
          found[i][side].push(result.rate);
          cpu[side] = result;
          if (result.trouble) notes.push(`${side}: ${result.trouble}`);
        }
        const [feature, other] = [found[i].feature.at(-1), found[i].plain.at(-1)];
        found[i].ratio.push(feature / other);
        for (const part of ['dibs', 'postgres']) found[i][part].push(cpu.feature[part] / cpu.plain[part]);
        const both = ({ dibs, postgres }) => dibs + postgres;
        found[i].cpu.push(both(cpu.plain) / both(cpu.feature));
        const used = ['dibs', 'postgres'].flatMap((part) => [cpu.plain[part], cpu.feature[part]]);
        rows.push([what, other, feature, feature / other, ...used, notes.join('; ')]);
      }
      report.table(`Round ${round}:`, ['', 'plain', 'feature', 'feature/plain', ...CPU, 'notes'], rows);
    }
    report.table(
      'Medians of the ratios. Rates and processor time as the table of aims has them: 1 is as fast as plain. The processor time ' +
        'of both together for each thing done is disturbed less by a busy machine:',
      ['row', 'what', 'against', 'rate', 'by processor time', 'at least', 'CPU of Dibs', 'CPU of PostgreSQL'],
      pairs.map(({ row, what, against, atLeast }, i) => [
        row,
        what,
        against.name,
        ...[found[i].ratio, found[i].cpu].map(median),
        atLeast,
        ...[found[i].dibs, found[i].postgres].map(median),
      ]),
    );
    for (const [i, { what, against, atLeast }] of pairs.entries())
      report.line({
        number: 26,
        what: `${what}, /s: ${Math.round(median(found[i].feature))}`,
        against: `${against.name}: ${Math.round(median(found[i].plain))}`,
        value: median(found[i].ratio),
        atLeast,
      });
    if (replica.complaints.length > 0) report.say(replica.complaints.slice(0, 5).join('\n'));
  },
);
