// `npm run test:near`: runs the tests near what git says is changed, since the last commit or since a given one:
//   npm run test:near              what is not committed yet
//   npm run test:near -- main      what differs from main
// Near are: tests that changed, tests that import a changed file, and tests with its name. A statement is near to the
// files that use it, a fragment to the statements that include it, a schema to its routes, and a route to the tests that
// call it, where few do.

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
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

/** Most tests call the common routes. */
const FEW = 10;

/** The files that `file` imports, of this text. */
const importsOf = (file, text) =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) =>
    posix.join(posix.dirname(file), path),
  );

/** The tests that call a route of these files. */
function callersOf(files, { tests, sources }) {
  const urls = files.flatMap((file) =>
    [...(sources.get(file) ?? '').matchAll(/url: '([^':]+)/g)].map(([, url]) => `'${url}`),
  );
  return urls.flatMap((url) => {
    const callers = [...tests].filter(([, text]) => text.includes(url)).map(([file]) => file);
    return callers.length <= FEW ? callers : [];
  });
}

/** The tests near these files. Each map has the texts of files. */
export function near(changed, { tests, sources, sql }) {
  const statements = changed
    .filter((file) => /^sql\/.*\.sql$/.test(file))
    .flatMap((file) => statementsOf(file, sql));
  const uses = (text) => statements.some((name) => text.includes(`'${name}'`));
  const schemas = changed.filter((file) => file.startsWith('routes/schemas/'));
  const users = [...sources]
    .filter(([file, text]) => uses(text) || importsOf(file, text).some((path) => schemas.includes(path)))
    .map(([file]) => file);
  const files = new Set([...changed, ...users]);
  const names = new Set([...files].filter((file) => sources.has(file)).map((file) => basename(file, '.ts')));
  const found = [...tests]
    .filter(
      ([file, text]) =>
        files.has(file) ||
        names.has(basename(file, '.test.ts')) ||
        importsOf(file, text).some((path) => files.has(path)) ||
        uses(text),
    )
    .map(([file]) => file);
  return [...new Set([...found, ...callersOf([...files], { tests, sources })])].sort();
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
      ...filesIn('queuesFile', '.ts'),
      ...filesIn('commands', '.ts'),
    ]),
    sql: withTexts(filesIn('sql', '.sql')),
  });
  if (found.length === 0) {
    console.log(`No test is near the ${changed.length} changed files.`);
    return 0;
  }
  console.log(`Near the ${changed.length} changed files:\n  ${found.join('\n  ')}`);
  // Tests of commands and of whole processes run on dist/.
  const built = spawnSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' }).status ?? 1;
  if (built !== 0) return built;
  return spawnSync('npx', ['vitest', 'run', ...found], { stdio: 'inherit' }).status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  try {
    process.exitCode = main();
  } catch (error) {
    // Git has said itself what is wrong.
    if (error.status === undefined) throw error;
    process.exitCode = 2;
  }
