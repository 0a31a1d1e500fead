// Builds dist/ from main.ts, serve.ts, commands, src, routes, queuesFile, the TypeScript client, sql and web. Several builds in one
// clone may run at once, and replicas may run from dist/ meanwhile:
// - It builds only what is stale. dist/.stamp says which sources dist/ was built from, and which files it has.
// - It builds into a folder of its own, and then moves the files into dist/ one by one. At each moment every file is
//   there, the old one or the new one.
// - The others wait for the build that came first, and then find that nothing is stale.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

const SOURCES = [
  'main.ts',
  'serve.ts',
  'commands',
  'src',
  'routes',
  'queuesFile',
  'clients/typescript/src',
  'sql',
  'web',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'scripts/build.mjs',
];
/** The tools, and the packages that the dashboard carries along. */
const PACKAGES = ['typescript', 'vite', 'preact', 'uplot'];
const STAMP = 'dist/.stamp';
const LOCK = '.building.lock';
/** No build takes longer. The holder of an older lock is gone, and another process has its number. */
const LONGEST_MS = 300_000;
/** The folder of this build. It stands beside dist/, so that source maps find the sources from it. */
const OWN = `.building-${process.pid}`;

/** The files under a path, as paths relative to it. */
const filesUnder = (path) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort();

function sourcesHash() {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    const files = statSync(source).isDirectory()
      ? filesUnder(source).map((file) => join(source, file))
      : [source];
    for (const file of files) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  }
  for (const name of PACKAGES) hash.update(readFileSync(`node_modules/${name}/package.json`));
  return hash.digest('hex');
}

const read = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Takes the lock, or waits until the build that has it ends. A build that was killed does not hold the others up. */
async function lock() {
  for (;;) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = Number(read(LOCK));
    const heldMs = Date.now() - (statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    // When two see this at once, both may build. That costs time, and breaks nothing.
    if ((holder > 0 && !isAlive(holder)) || heldMs > LONGEST_MS) rmSync(LOCK, { force: true });
    await sleep(50);
  }
}

/** Whether dist/ was built from these sources, and lacks no file. */
function isBuilt(sources) {
  const [built, ...files] = (read(STAMP) ?? '').split('\n');
  return built === sources && files.every((file) => existsSync(join('dist', file)));
}

/**
 * Moves the files of a folder into dist/, and deletes those of dist/ that it has not. The stamp is gone meanwhile. Returns
 * the files.
 */
function moveIntoPlace(folder) {
  mkdirSync('dist', { recursive: true });
  rmSync(STAMP, { force: true });
  const files = filesUnder(folder);
  for (const file of files) {
    const to = join('dist', file);
    if (existsSync(to) && readFileSync(to).equals(readFileSync(join(folder, file)))) continue;
    mkdirSync(dirname(to), { recursive: true });
    renameSync(join(folder, file), to);
  }
  const wanted = new Set(files);
  for (const file of filesUnder('dist')) if (!wanted.has(file)) rmSync(join('dist', file), { force: true });
  return files;
}

const run = (...args) =>
  spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status ?? 1;

/** The dashboard, with its files compressed as browsers take them, and with the licences of what it carries along. */
function buildDashboard(folder) {
  const status = run(
    'node_modules/vite/bin/vite.js',
    'build',
    'web',
    '--outDir',
    resolve(folder),
    '--logLevel',
    'warn',
  );
  if (status !== 0) return status;
  const assets = join(folder, 'dashboard');
  for (const file of filesUnder(assets))
    writeFileSync(join(assets, `${file}.gz`), gzipSync(readFileSync(join(assets, file)), { level: 9 }));
  const licences = ['preact', 'uplot', 'croner'].map((name) => {
    const text = readFileSync(`node_modules/${name}/LICENSE`, 'utf8').trim();
    return `${name}\n\n${text}\n`;
  });
  writeFileSync(join(folder, 'licences.txt'), licences.join('\n'));
  return 0;
}

function build(sources) {
  rmSync(OWN, { recursive: true, force: true });
  const tsc = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', OWN],
    { stdio: 'inherit' },
  );
  if (tsc.status !== 0) return tsc.status ?? 1;
  // The built code reads its statements from ../sql.
  cpSync('sql', join(OWN, 'sql'), { recursive: true });
  const dashboard = buildDashboard(join(OWN, 'web'));
  if (dashboard !== 0) return dashboard;
  // `npm link` makes it executable once; a new one must be, too.
  chmodSync(join(OWN, 'main.js'), 0o755);
  const files = moveIntoPlace(OWN);
  writeFileSync(STAMP, [sources, ...files].join('\n'));
  return 0;
}

if (!isBuilt(sourcesHash())) {
  await lock();
  try {
    const sources = sourcesHash();
    if (!isBuilt(sources)) {
      if (process.stderr.isTTY) process.stderr.write('Building Dibs. It takes some seconds, once.\n');
      process.exitCode = build(sources);
    }
  } finally {
    rmSync(OWN, { recursive: true, force: true });
    rmSync(LOCK, { force: true });
    for (const left of readdirSync('.'))
      if (/^\.building-\d+$/.test(left) && !isAlive(Number(left.slice('.building-'.length))))
        rmSync(left, { recursive: true, force: true });
  }
}
