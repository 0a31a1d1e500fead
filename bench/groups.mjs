// #16: the cost of groups: jobs without a group, 100,000 groups of one job, and one group of 100,000 jobs
// against one short group. And 100,000 groups of three jobs, all of which may run at once, against one at once.
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, times } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const QUEUE = 'bench';
const STEPS = ['claim', 'ack', 'enqueue'];

await benchmark(
  {
    name: 'groups',
    title: 'Jobs in groups against jobs without a group',
    full: { rounds: 5, jobs: 100_000, few: 1000, cycles: 2000, connections: 16, together: 10_000 },
    short: { rounds: 3, cycles: 300, together: 2000 },
    maxSeconds: 3600,
  },
  async ({ options, postgres, report }) => {
    const { rounds, jobs, few, cycles, connections, together } = options;
    const oneGroup = () => ({ group: 'one' });
    const inThrees = (i) => ({ group: `customer ${i % jobs}` });
    // Each side has a database and a replica: in one table they would share their indexes.
    const sides = [
      { name: 'no groups', key: 'none', count: jobs, of: () => ({}) },
      { name: `${jobs} groups`, key: 'many', count: jobs, of: (i) => ({ group: `customer ${i}` }) },
      { name: `${jobs} groups of 3, one at once`, key: 'lined', count: 3 * jobs, of: inThrees },
      { name: `${jobs} groups of 3, 3 at once`, key: 'threes', count: 3 * jobs, of: inThrees, atOnce: 3 },
      { name: `one group of ${few}`, key: 'short', count: few, of: oneGroup },
      { name: `one group of ${jobs}`, key: 'long', count: jobs, of: oneGroup },
    ];
    for (const side of sides) {
      side.text = (i) => jobText(QUEUE, side.of(i));
      side.url = await postgres.database(`dibs_${side.key}`);
      side.base = (await startReplica(side.url)).url;
      side.next = side.count;
      side.found = { cycle: [], perSecond: [], ...Object.fromEntries(STEPS.map((step) => [step, []])) };
      if (side.atOnce) {
        const http = client(side.base);
        await http.json('PUT', `/queues/${QUEUE}`, { group_concurrency: side.atOnce });
        http.close();
      }
      const started = performance.now();
      await fill(side.base, side.count, side.text);
      side.filled = (side.count * 1000) / (performance.now() - started);
    }

    /** Claims a job, acks it and enqueues another one. Returns the time of each in ms. */
    async function cycle(side, http) {
      const claim = await http.post('/jobs/claim', { queues: [QUEUE] });
      const [job] = claim.body.jobs;
      if (!job) throw new Error(`nothing to claim with ${side.name}`);
      const ack = await http.post(`/jobs/${job.id}/ack`, { lease_token: job.lease_token });
      const enqueue = await http.post('/jobs', side.text(side.next++));
      return { claim: claim.ms, ack: ack.ms, enqueue: enqueue.ms };
    }

    const rows = [];
    for (let round = 1; round <= rounds; round++)
      for (const side of sides) {
        await settle(side.url);
        const alone = client(side.base);
        const seen = [];
        for (let i = 0; i < cycles; i++) seen.push(await cycle(side, alone));
        alone.close();
        for (const step of STEPS) side.found[step].push(p50(seen.map((one) => one[step])));
        const whole = seen.map((one) => one.claim + one.ack);
        side.found.cycle.push(p50(whole));
        // In one group, only one job can be worked at a time.
        if (side.of !== oneGroup) {
          const crowd = client(side.base, connections);
          const started = performance.now();
          await times(together, connections, () => cycle(side, crowd));
          side.found.perSecond.push((together * 1000) / (performance.now() - started));
          crowd.close();
        }
        const last = (name) => side.found[name].at(-1) ?? '';
        rows.push([round, side.name, ...STEPS.map(last), last('cycle'), p99(whole), last('perSecond')]);
      }

    report.table(
      `One after the other, ms, and cycles/s with ${connections} connections:`,
      ['round', 'with', ...STEPS.map((s) => `${s} p50`), 'claim+ack p50', 'claim+ack p99', 'cycles/s'],
      rows,
    );
    report.say(
      `Enqueued in batches of 1000: ${sides.map(({ name, filled }) => `${name} ${Math.round(filled)}/s`).join(', ')}.`,
    );
    const of = (key) => sides.find((side) => side.key === key);
    const compare = (what, a, b, measure, bound = {}, unit = ' ms') => {
      const [one, other] = [a, b].map((side) => median(side.found[measure]));
      report.line({
        number: 16,
        what: `${what} with ${a.name}: ${one.toFixed(2)}${unit}`,
        against: `with ${b.name}: ${other.toFixed(2)}${unit}`,
        value: one / other,
        ...bound,
      });
    };
    compare('claim p50', of('many'), of('none'), 'claim', { atMost: 1.2 });
    compare('claim p50', of('long'), of('none'), 'claim', { atMost: 1.2 });
    compare('claim+ack p50', of('long'), of('short'), 'cycle', { atMost: 1.2 });
    compare('claim+ack p50', of('many'), of('none'), 'cycle');
    compare('enqueue p50', of('many'), of('none'), 'enqueue');
    compare('cycles/s', of('many'), of('none'), 'perSecond', {}, '/s');
    compare('claim+ack p50', of('threes'), of('lined'), 'cycle', { atMost: 1.1 });
    compare('cycles/s', of('threes'), of('lined'), 'perSecond', { atLeast: 0.9 }, '/s');
  },
);
