// Dibs over HTTP beside other queues for Node, each at its best documented settings, on one machine and one
// PostgreSQL: enqueues/s and drained jobs/s, one at a time and in batches, and wake-up.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { benchmark } from '../lib/bench.mjs';
import { barChart } from '../lib/plot.mjs';
import { median, p50, p99 } from '../lib/stats.mjs';
import { redisVersion } from './redis.mjs';
import { sidesOn } from './sides.mjs';

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));
const SIZES = [1, 100, 1000];
/** Jobs for each second of a round: more than any side drains. A side that drains all ends early. */
const PER_SECOND = { 1: 20_000, 100: 50_000 };

const MEASURES = [
  { name: 'enqueue/s', plot: 'Enqueues/s, one job a call', of: (found) => found.enqueue[1] },
  { name: 'enqueue/s, by 100', of: (found) => found.enqueue[100] },
  { name: 'enqueue/s, by 1,000', of: (found) => found.enqueue[1000] },
  { name: 'drained/s', plot: 'Jobs/s drained one at a time', of: (found) => found.drain[1] },
  { name: 'drained/s, by 100', plot: 'Jobs/s drained in batches', of: (found) => found.drain[100] },
];
const MS = [
  { name: 'wake-up p50, ms', of: p50 },
  { name: 'wake-up p99, ms', of: p99 },
];

const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), 'utf8')).version;
const medianOf = (values) => (values.length > 0 ? median(values) : undefined);

await benchmark(
  {
    name: 'peers/run',
    title: 'Dibs beside others',
    full: { rounds: 5, seconds: 2, wakes: 40 },
    short: { rounds: 2, seconds: 1, wakes: 10 },
    maxSeconds: 1500,
  },
  async ({ options: { rounds, seconds, wakes }, postgres, report }) => {
    const sides = sidesOn(postgres).map((side) => ({ ...side, found: [] }));
    const redis = await redisVersion();
    const backlog = Object.fromEntries(
      Object.entries(PER_SECOND).map(([size, rate]) => [size, Math.round(rate * (seconds + 0.5))]),
    );
    const rows = [];
    for (let round = 0; round < rounds; round++)
      // Each round begins with a different side.
      for (let i = 0; i < sides.length; i++) {
        const side = sides[(round + i) % sides.length];
        const found = await side.round({ seconds, backlog, wakes, sizes: SIZES });
        side.found.push(found);
        const { wake = [], notes = [] } = found;
        const times = wake.length > 0 ? MS.map(({ of }) => of(wake)) : ['', ''];
        rows.push([
          round + 1,
          side.label,
          ...MEASURES.map(({ of }) => of(found)),
          ...times,
          notes.join('; '),
        ]);
        process.stderr.write(`round ${round + 1}: ${side.label}\n`);
      }

    report.found.sides = sides.map(({ name, found }) => ({ name, rounds: found }));

    const columns = [...MEASURES, ...MS].map(({ name }) => name);
    report.table('Every round:', ['round', 'who', ...columns, 'notes'], rows);

    for (const side of sides) {
      side.rates = MEASURES.map(({ of }) =>
        medianOf(side.found.map(of).filter((value) => value !== undefined)),
      );
      // One round has too few times for a p99, so this takes the times of all rounds together.
      const all = side.found.flatMap(({ wake }) => wake ?? []);
      side.times = MS.map(({ of }) => (all.length > 0 ? of(all) : undefined));
    }
    report.table(
      `Medians of ${rounds} rounds of ${seconds} s, and wake-ups of all rounds together:`,
      ['who', ...columns, 'durability'],
      sides.map(({ name, rates, times, durability }) => [name, ...rates, ...times, durability]),
    );
    report.table(
      'How each ran:',
      ['who', 'version', 'settings'],
      sides.map((side) => [
        side.name,
        side.package
          ? `${versionOf(side.package)}${side.name.includes('Redis') ? `, Redis ${redis}` : ''}`
          : '',
        side.settings,
      ]),
    );

    const best = (among, i) =>
      among.filter((side) => side.rates[i]).toSorted((a, b) => b.rates[i] - a.rates[i])[0];
    report.table(
      'The best of Dibs over HTTP against the best of the others that are as durable:',
      ['measure', 'Dibs', 'others', 'ratio'],
      MEASURES.map(({ name }, i) => {
        const ours = best(
          sides.filter(({ isDibs }) => isDibs),
          i,
        );
        const theirs = best(
          sides.filter(({ isDibs, isDurable }) => !isDibs && isDurable),
          i,
        );
        const named = ({ label, rates }) => `${Math.round(rates[i]).toLocaleString('en-US')} (${label})`;
        return [name, named(ours), named(theirs), (ours.rates[i] / theirs.rates[i]).toFixed(2)];
      }),
    );

    for (const [i, { plot, name }] of MEASURES.entries())
      if (plot) {
        const bars = sides.filter(({ rates }) => rates[i]).map(({ label, rates }) => [label, rates[i]]);
        report.plot(`peers-${name.replaceAll(/\W+/g, '-')}.svg`, barChart({ title: plot, bars }));
      }
    mkdirSync(RESULTS, { recursive: true });
    for (const { file, svg } of report.found.plots) writeFileSync(`${RESULTS}${file}`, svg);
    const plots = report.found.plots.map(({ file }) => `![${file}](${file})`);
    writeFileSync(`${RESULTS}peers.md`, `${[...report.found.text, ...plots].join('\n\n')}\n`);
  },
);
