// #26: what careful users turn on, against the plain requests that do the same work, at 64 connections.
//   node bench/features.mjs [--only once,followUps,unique,groups] [--rounds N] [--seconds N]
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf, parentOf, postgresCpu, usedSince } from './lib/cpu.mjs';
import { drain, fill, jobText, leaseOf } from './lib/jobs.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { trouble, wrk } from './lib/wrk.mjs';

const LEASED_AHEAD = 20_000;

/** A prefix that no other run has. */
let runs = 0;
const prefix = () => `${(++runs).toString().padStart(4, '0')}-`;

/** What wrk did, and the CPU time that Dibs and PostgreSQL took for each thing done, in microseconds. */
async function measured({ base, pid, server, connections, seconds }, script, args, doneOf) {
  const before = { dibs: cpuSecondsOf(pid), postgres: postgresCpu(server) };
  const result = await wrk(base, { script, connections, seconds, args });
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
  const body = headers ? jobText(queue) : jobText(queue, more);
  const args = [prefix(), headers, body];
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

const plain = { name: 'plain', run: (load) => varied(load, 'plain', NO_KEY) };

/** Each pair has a name, its two sides and the ratio that is wanted. */
const PAIRS = {
  once: {
    what: 'enqueues/s with an Idempotency-Key',
    against: plain,
    run: (load) => varied(load, 'once', 'Idempotency-Key: #\r\n'),
    atLeast: 0.6,
  },
  followUps: {
    what: 'acks/s with one follow-up',
    filled: ['together', 'apart'],
    against: { name: 'an ack and an enqueue', run: (load) => ackAndEnqueue(load, 'apart', 'two') },
    run: (load) => ackAndEnqueue(load, 'together', 'one'),
    atLeast: 0.7,
  },
  unique: {
    what: 'enqueues/s with unique keys, all distinct',
    against: plain,
    run: (load) => varied(load, 'unique', '', { unique_key: '#' }),
    atLeast: 0.7,
  },
  groups: {
    what: 'enqueues/s into groups, all distinct',
    against: plain,
    run: (load) => varied(load, 'groups', '', { group: '#' }),
    atLeast: 0.75,
  },
};

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
    const [checkpointer] = await query(
      url,
      `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
    );
    const server = parentOf(checkpointer.pid);
    const load = { base: replica.url, pid: replica.pid, server, connections, seconds };
    for (const { filled = [] } of pairs)
      for (const queue of filled) await fill(replica.url, LEASED_AHEAD, jobText(queue));
    await settle(url);
    for (const { run, against } of pairs)
      for (const one of [against.run, run, against.run, run])
        await one({ ...load, seconds: 2 }).catch(() => undefined);

    const found = pairs.map(() => ({ plain: [], feature: [], ratio: [], dibs: [], postgres: [] }));
    for (let round = 1; round <= rounds; round++) {
      const rows = [];
      for (const [i, { what, against, run }] of pairs.entries()) {
        const sides = [
          ['plain', against.run],
          ['feature', run],
        ];
        const notes = [];
        const cpu = {};
        for (const [side, work] of round % 2 ? sides : sides.toReversed()) {
          await settle(url);
          const result = await work(load);
          found[i][side].push(result.rate);
          cpu[side] = result;
          if (result.trouble) notes.push(`${side}: ${result.trouble}`);
        }
        const [feature, other] = [found[i].feature.at(-1), found[i].plain.at(-1)];
        found[i].ratio.push(feature / other);
        for (const part of ['dibs', 'postgres']) found[i][part].push(cpu.feature[part] / cpu.plain[part]);
        const used = ['dibs', 'postgres'].flatMap((part) => [cpu.plain[part], cpu.feature[part]]);
        rows.push([what, other, feature, feature / other, ...used, notes.join('; ')]);
      }
      report.table(`Round ${round}:`, ['', 'plain', 'feature', 'feature/plain', ...CPU, 'notes'], rows);
    }
    report.table(
      'Medians of the ratios. CPU time for each thing done, which a busy machine disturbs less, as feature/plain:',
      ['', 'rate', 'CPU of Dibs', 'CPU of PostgreSQL'],
      pairs.map(({ what }, i) => [what, ...[found[i].ratio, found[i].dibs, found[i].postgres].map(median)]),
    );
    for (const [i, { what, against, atLeast }] of pairs.entries())
      report.line({
        number: 26,
        what: `${what}: ${Math.round(median(found[i].feature))}`,
        against: `${against.name}: ${Math.round(median(found[i].plain))}`,
        value: median(found[i].ratio),
        atLeast,
      });
    if (replica.complaints.length > 0) report.say(replica.complaints.slice(0, 5).join('\n'));
  },
);
