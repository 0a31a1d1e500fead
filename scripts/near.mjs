// `npm run test:near`: runs the tests near what git says is changed, since the last commit or since a given one:
//   npm run test:near              what is not committed yet
//   npm run test:near -- main      what differs from main
// Near are: tests that changed, tests that import a changed file, and tests with its name. A statement is near to the
// files that use it, a fragment to the statements that include it.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
const filesIn = (folder, ending) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`);

/** The statements of a changed file of sql/: itself, or those that include it. */
function statementsOf(file, sql) {
  const name = file.slice('sql/'.length);
  const users = [...sql].filter(([, text]) => text.includes(`-- include ${name}`));
  return [name.slice(0, -'.sql'.length), ...users.flatMap(([user]) => statementsOf(user, sql))];
}

/** The tests near these files. `read` gives the text of a file. */
export function near(changed, { tests, sources, sql }) {
  const statements = changed
    .filter((file) => /^sql\/.*\.sql$/.test(file))
    .flatMap((file) => statementsOf(file, sql));
  const uses = (text) => statements.some((name) => text.includes(`'${name}'`));
  const files = new Set([...changed, ...[...sources].filter(([, text]) => uses(text)).map(([file]) => file)]);
  const names = new Set(
    [...files].filter((file) => sources.has(file)).map((file) => basename(file).replace(/\.ts$/, '')),
  );
  const imports = (file, text) =>
    [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].some(([, path]) =>
      files.has(posix.join(posix.dirname(file), path)),
    );
  return [...tests]
    .filter(
      ([file, text]) =>
        files.has(file) ||
        names.has(basename(file).replace(/\.test\.ts$/, '')) ||
        imports(file, text) ||
        uses(text),
    )
    .map(([file]) => file)
    .sort();
}

const withTexts = (files) => new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));

function main() {
  process.chdir(fileURLToPath(new URL('..', import.meta.url)));
  const [since = 'HEAD'] = process.argv.slice(2);
  const changed = [
    ...git('diff', '--name-only', '--no-renames', since),
    ...git('ls-files', '--others', '--exclude-standard'),
  ];
  const found = near(changed, {
    tests: withTexts(filesIn('test', '.test.ts')),
    sources: withTexts([
      ...filesIn('src', '.ts'),
      ...filesIn('routes', '.ts'),
      ...filesIn('commands', '.ts'),
    ]),
    sql: withTexts(filesIn('sql', '.sql')),
  }).filter((file) => existsSync(file));
  if (found.length === 0) {
    console.log(`No test is near the ${changed.length} changed files.`);
    return 0;
  }
  console.log(`Near the ${changed.length} changed files:\n  ${found.join('\n  ')}`);
  return spawnSync('npx', ['vitest', 'run', ...found], { stdio: 'inherit' }).status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  try {
    process.exitCode = main();
  } catch {
    // Git has said what is wrong.
    process.exitCode = 2;
  }
