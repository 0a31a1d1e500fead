// #8: two replicas against one, on one machine and one queue.
import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';

await benchmark(
  {
    name: 'replicas',
    title: 'Two replicas against one',
    full: { rounds: 5, seconds: 10, connections: [64, 128, 256] },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_replicas');
    const replicas = [await startReplica(url), await startReplica(url)];
    const job = jobText(QUEUE);
    await fill(replicas[0].url, READY, job);

    /** Two load generators with half of the connections each, on both sides: only the replicas differ. */
    async function load(targets, c, s) {
      const halves = await Promise.all(
        targets.map((target) => cycle(target.url, QUEUE, job, { connections: c / 2, seconds: s })),
      );
      const troubles = halves.map((half) => half.trouble).filter(Boolean);
      return { cycles: halves.reduce((sum, half) => sum + half.cycles, 0), trouble: troubles.join(', ') };
    }
    const sides = { one: [replicas[0], replicas[0]], two: replicas };
    for (const targets of Object.values(sides)) await load(targets, 64, 2);

    const found = {
      one: new Map(connections.map((c) => [c, []])),
      two: new Map(connections.map((c) => [c, []])),
    };
    const rows = [];
    for (let round = 1; round <= rounds; round++)
      for (const [side, targets] of Object.entries(sides)) {
        await settle(url);
        for (const c of connections) {
          const { cycles, trouble } = await load(targets, c, seconds);
          found[side].get(c).push(cycles);
          rows.push([round, side, c, cycles, trouble]);
        }
      }
    report.table('Cycles/s:', ['round', 'replicas', 'connections', 'cycles/s', 'notes'], rows);
    for (const c of connections) {
      const [one, two] = ['one', 'two'].map((side) => median(found[side].get(c)));
      report.line({
        number: 8,
        what: `cycles/s with 2 replicas at ${c} connections: ${Math.round(two)}/s`,
        against: `1 replica: ${Math.round(one)}/s`,
        value: two / one,
        atLeast: 0.95,
      });
    }
  },
);
