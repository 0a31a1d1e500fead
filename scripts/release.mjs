// `npm run release -- 0.2.0 [--dry-run]`: sets the version, closes the changelog's "Unreleased", commits, tags and packs.
// `--dry-run` says what it would do, and changes nothing. Push the commit and the tag yourself: that is the release.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const HEAD = '## [Unreleased]\n';

/** The changelog with what is unreleased under a version of this day. @throws when nothing is unreleased */
export function released(changelog, version, day) {
  const [before, after] = changelog.split(HEAD);
  if (after === undefined) throw new Error('CHANGELOG.md has no "## [Unreleased]".');
  if (changelog.includes(`## [${version}]`)) throw new Error(`CHANGELOG.md has ${version} already.`);
  const [notes] = after.split(/^## \[/m);
  if (!/^- /m.test(notes)) throw new Error('CHANGELOG.md has nothing under "## [Unreleased]".');
  return `${before}${HEAD}\n## [${version}] - ${day}\n${after}`;
}

/** Why this version cannot be released from here, if so. */
export function obstacle(version, { tags, status, current }) {
  if (!VERSION.test(version ?? '')) return 'Usage: npm run release -- <version such as 0.2.0> [--dry-run]';
  if (tags.includes(`v${version}`)) return `There is a tag v${version} already.`;
  if (isNotAfter(version, current))
    return `${version} does not come after ${current}, the version of package.json.`;
  if (status.length > 0) return `There are changes that are not committed:\n${status.join('\n')}`;
  return undefined;
}

/** By the numbers alone. The version of package.json itself may be released, once. */
function isNotAfter(version, current) {
  const numbers = (text) => text.split('-')[0].split('.').map(Number);
  const [a, b] = [numbers(version), numbers(current)];
  const at = a.findIndex((number, i) => number !== b[i]);
  return at >= 0 && a[at] < b[at];
}

function main() {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)));
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false } },
  });
  const [version] = positionals;
  const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' });
  const lines = (text) => text.split('\n').filter(Boolean);
  const { version: current } = JSON.parse(readFileSync('package.json', 'utf8'));
  const why = obstacle(version, {
    tags: lines(run('git', 'tag')),
    status: lines(run('git', 'status', '--porcelain')),
    current,
  });
  if (why) throw new Error(why);
  const changelog = released(
    readFileSync('CHANGELOG.md', 'utf8'),
    version,
    new Date().toISOString().slice(0, 10),
  );

  const steps = [
    [
      `set the version ${version} in package.json and package-lock.json`,
      () => {
        run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version');
      },
    ],
    [
      'set it in the worker libraries',
      () => {
        const set = (file, from, to) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
        run(
          'npm',
          'version',
          version,
          '--no-git-tag-version',
          '--allow-same-version',
          '--prefix',
          'clients/typescript',
        );
        set('deploy/helm/Chart.yaml', /^appVersion: ".*"$/m, `appVersion: "${version}"`);
        set('clients/python/pyproject.toml', /^version = ".*"$/m, `version = "${version}"`);
      },
    ],
    ['renew what is generated from it', () => run('npm', 'run', 'generate')],
    [
      `put what is unreleased under ${version} in CHANGELOG.md`,
      () => writeFileSync('CHANGELOG.md', changelog),
    ],
    ['check types, lint, rules and generated files', () => run('npm', 'run', 'check')],
    [
      `commit, and tag v${version}`,
      () => {
        run('git', 'commit', '--all', '--message', `Release ${version}`);
        run('git', 'tag', '--annotate', `v${version}`, '--message', `Dibs ${version}`);
      },
    ],
    ['pack the package', () => run('npm', 'pack')],
    ['pack the worker libraries', () => run('npm', 'run', 'package')],
  ];
  for (const [what, act] of steps) {
    console.log(`${values['dry-run'] ? 'would ' : ''}${what}`);
    if (!values['dry-run']) act();
  }
  const pack = run('npm', 'pack', '--dry-run', '--json', '--ignore-scripts');
  const [{ filename, files, size }] = JSON.parse(pack);
  console.log(`${filename}: ${files.length} files, ${Math.round(size / 1024)} KiB`);
  console.log(
    values['dry-run'] ? 'Nothing was changed.' : `Now: git push --follow-tags, and npm publish ${filename}`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    main();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
