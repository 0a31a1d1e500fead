// `npm run package`: the worker libraries as they are installed, in `packages/`: a tarball for npm, a wheel for pip, and a folder
// that Go takes as a module proxy. All have the version of Dibs. The Go module is packed as it is committed.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const OUT = resolve('packages');
const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

function check(file, pattern) {
  const [, found] = pattern.exec(readFileSync(file, 'utf8')) ?? [];
  if (found !== version) throw new Error(`${file} says version ${found}, and package.json ${version}.`);
}

function packTypeScript() {
  check('clients/typescript/package.json', /"version": "([^"]+)"/);
  run('npm', 'pack', './clients/typescript', '--pack-destination', OUT);
}

/** From a copy: setuptools leaves folders behind where it builds. */
function packPython() {
  check('clients/python/pyproject.toml', /^version = "([^"]+)"/m);
  const folder = mkdtempSync(join(tmpdir(), 'dibs-wheel-'));
  try {
    cpSync('clients/python', folder, { recursive: true });
    run('python3', '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', OUT, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function packGo() {
  const [, path] = /^module (\S+)$/m.exec(readFileSync('clients/go/go.mod', 'utf8'));
  const folder = join(OUT, 'go', path, '@v');
  mkdirSync(folder, { recursive: true });
  const file = (name) => join(folder, name);
  writeFileSync(file('list'), `v${version}\n`);
  writeFileSync(file(`v${version}.info`), JSON.stringify({ Version: `v${version}` }));
  cpSync('clients/go/go.mod', file(`v${version}.mod`));
  const prefix = `--prefix=${path}@v${version}/`;
  run('git', 'archive', '--format=zip', prefix, '-o', file(`v${version}.zip`), 'HEAD:clients/go');
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT);
packTypeScript();
packPython();
packGo();
process.stdout.write(`The worker libraries ${version} are in ${OUT}.\n`);
