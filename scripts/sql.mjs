// `npm run sql claim/plain` prints sql/claim/plain.sql as it is sent: with its fragments, and its parameters as $1, $2, ...
// `npm run sql claim/plain -- --plan` also prints its plan, on a database with 10,000 jobs, and the rows of each node.

import { parseArgs } from 'node:util';
import pg from 'pg';
import { withMigrated } from './migrated.mjs';
import { importSource } from './source.mjs';
import { statementNames } from './statementTypes.mjs';

const JOBS = 10_000;

const { values, positionals } = parseArgs({ options: { plan: { type: 'boolean' } }, allowPositionals: true });
const [name = ''] = positionals;

async function plan(client, text) {
  const { makeJobs, parametersOf, STATEMENTS } = await importSource('test/support/jobs.ts');
  const { outline, prepare } = await importSource('test/support/plans.ts');
  const made = await makeJobs(client, { jobs: JOBS });
  await client.query('vacuum analyze');
  if (STATEMENTS[name]) {
    const mode = STATEMENTS[name].planned ? 'custom' : 'generic';
    const { run } = await prepare(client, name, mode);
    return `The ${mode} plan, with parameters of test/support/jobs.ts:\n${outline(await run(parametersOf(name, made, 1)))}`;
  }
  const { rows } = await client.query(`explain (generic_plan) ${text}`);
  const lines = rows.map((row) => row['QUERY PLAN']).join('\n');
  return `The generic plan (test/support/jobs.ts has no parameters for it):\n${lines}`;
}

const names = statementNames();
if (names.includes(name)) {
  const { planned } = await importSource('src/postgres/statements.ts');
  const { text, parameters } = planned(name);
  console.log([...parameters.map((parameter, i) => `-- $${i + 1} ${parameter}`), text].join('\n'));
  if (values.plan)
    await withMigrated(async (url) => {
      const client = new pg.Client(url);
      await client.connect();
      try {
        console.log(`\n${await plan(client, text)}`);
      } finally {
        await client.end();
      }
    });
} else {
  const like = names.filter((other) => other.includes(name));
  console.error(
    `There is no statement "${name}". ${like.length > 0 ? 'There are:' : 'All are:'}\n${(like.length > 0 ? like : names).join('\n')}`,
  );
  process.exitCode = 1;
}
