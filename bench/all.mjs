// Runs every benchmark: `npm run bench` the short forms, `npm run bench -- --full` the full ones. Writes
// bench/results/performance.md with the table of all lines, and the plots beside it.
// It leaves out bench/against.mjs, which needs another checkout, and bench/peers, which needs other packages.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeMachine } from './lib/machine.mjs';
import { linesTable } from './lib/report.mjs';

const ALL = [
  ...['cycle', 'http', 'batches', 'backlog', 'horizon', 'workers', 'replicas', 'wakeup', 'bulk', 'memory'],
  ...['queues', 'payloads', 'strategies', 'fairness', 'groups', 'features', 'overhead'],
  ...['soak', 'wal', 'pickup', 'lone'],
];
/** Benchmarks that are one of several that a command makes. */
const COMMANDS = { pickup: ['harness/run', '--rate', '300', '--workers', '32'] };
const HERE = fileURLToPath(new URL('.', import.meta.url));

const { values, positionals } = parseArgs({
  options: { full: { type: 'boolean', default: false }, out: { type: 'string', default: `${HERE}results` } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !ALL.includes(name));
if (unknown.length > 0)
  throw new Error(`no such benchmark: ${unknown.join(', ')}; there are ${ALL.join(', ')}`);

let current;
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    stopped = true;
    current?.kill(signal);
  });

/** Runs one benchmark in a process of its own. Returns its findings, or undefined when it failed. */
async function run(name) {
  const json = `${values.out}/${name}.json`;
  rmSync(json, { force: true });
  const [file, ...how] = COMMANDS[name] ?? [name];
  const args = [`${HERE}${file}.mjs`, ...how, '--json', json, ...(values.full ? [] : ['--short'])];
  current = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(current, 'exit');
  return code === 0 ? JSON.parse(readFileSync(json, 'utf8')) : undefined;
}

const started = performance.now();
mkdirSync(values.out, { recursive: true });
const machine = describeMachine();
const found = [];
const failed = [];
for (const name of positionals.length > 0 ? positionals : ALL) {
  if (stopped) break;
  const result = await run(name);
  if (result) found.push(result);
  else failed.push(name);
}

const plots = found.flatMap((result) => result.plots);
for (const { file, svg } of plots) writeFileSync(`${values.out}/${file}`, svg);
const text = [
  `Measured in ${values.full ? 'the full form' : 'the short form (`npm run bench`), whose figures are rough'}, in ` +
    `${Math.round((performance.now() - started) / 60_000)} minutes:`,
  Object.entries(machine)
    .map(([key, value]) => `- ${key}: ${value}`)
    .join('\n'),
  linesTable(found.flatMap((result) => result.lines)),
  plots.map(({ file }) => `![${file}](${file})`).join('\n'),
  ...found.map((result) => result.text.join('\n\n')),
].join('\n\n');
writeFileSync(`${values.out}/performance.md`, `${text}\n`);
process.stdout.write(`${linesTable(found.flatMap((result) => result.lines))}\n\nWritten to ${values.out}.\n`);
if (failed.length > 0) process.stderr.write(`Failed: ${failed.join(', ')}\n`);
if (failed.length > 0 || stopped) process.exitCode = 1;
