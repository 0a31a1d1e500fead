// `npm run dev`: builds Dibs and runs it, and does both again whenever a source changes. Arguments go to `dibs serve`.
// A source that does not compile leaves the Dibs that runs as it is.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

const SOURCES = [
  'main.ts',
  'serve.ts',
  'commands',
  'src',
  'routes',
  'queuesFile',
  'sql',
  'web',
  'clients/typescript/src',
];
/** Editors write a file in several steps, and branches change many files at once. */
const QUIET_MS = 200;

const say = (line) => process.stderr.write(`dev: ${line}\n`);
const build = () => spawnSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' }).status === 0;

let dibs;
let timer;
let working = Promise.resolve();

async function stop() {
  if (!dibs || dibs.exitCode !== null || dibs.signalCode !== null) return;
  dibs.kill('SIGTERM');
  await once(dibs, 'exit');
}

async function restart() {
  if (!build()) return say('this does not compile. Dibs goes on as it was.');
  await stop();
  dibs = spawn(process.execPath, ['dist/main.js', 'serve', ...process.argv.slice(2)], { stdio: 'inherit' });
  return undefined;
}

function changed() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    working = working.then(restart);
  }, QUIET_MS);
}

for (const source of SOURCES) watch(source, { recursive: true }, changed);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await stop();
    process.exit(0);
  });

say(`watches ${SOURCES.join(', ')}`);
await restart();
