import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createEmptyDatabase, onServer } from '../support/database.ts';

let home: Awaited<ReturnType<typeof createEmptyDatabase>>;
let a: typeof home;
beforeAll(async () => {
  [home, a] = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
});
afterAll(async () => {
  await home.drop();
  await a.drop();
});

/** Runs a command of Dibs with both databases. */
async function dibs(...args: string[]) {
  const env = { ...process.env, DATABASE_URL: home.url, DATABASE_URL_A: a.url };
  const child = spawn(process.execPath, ['dist/main.js', ...args], { env });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.end();
  const [status] = await once(child, 'close');
  return { status, stdout, stderr };
}

test('dibs migrate migrates each database, and says what it does in which', async () => {
  const planned = await dibs('migrate', '--dry-run');
  expect(planned.stdout).toMatch(/^home: Would migrate: 0001_queues_and_jobs$/m);
  expect(planned.stdout).toMatch(/^a: Would migrate: 0001_queues_and_jobs$/m);
  const done = await dibs('migrate');
  expect(done).toMatchObject({ status: 0, stderr: '' });
  expect(done.stdout).toMatch(/^home: Migrated: 0001.*\na: Migrated: 0001.*\n$/);
  expect((await dibs('migrate')).stdout).toBe(
    'home: The database is up to date.\na: The database is up to date.\n',
  );
});

test('dibs doctor looks at each database', async () => {
  const { stdout } = await dibs('doctor');
  expect(stdout).toMatch(/^ok +home: /m);
  expect(stdout).toMatch(/^ok +a: /m);
  const { findings } = JSON.parse((await dibs('doctor', '--json')).stdout);
  expect(new Set(findings.map(({ database }: { database: string }) => database))).toEqual(
    new Set(['home', 'a']),
  );
});

test('dibs export and dibs import refuse a Dibs with several databases, in place of leaving some out', async () => {
  await onServer(
    home.url,
    `insert into dibs.databases (name, id) values ('home', gen_random_uuid()), ('a', gen_random_uuid())`,
  );
  const refused = 'knows one database, and this Dibs has 2. Use pg_dump and pg_restore for each of them.';
  const exported = await dibs('export', '-');
  expect(exported).toMatchObject({ status: 1, stdout: '' });
  expect(exported.stderr).toContain(`dibs export ${refused}`);
  const imported = await dibs('import', '-');
  expect(imported).toMatchObject({ status: 1, stdout: '' });
  expect(imported.stderr).toContain(`dibs import ${refused}`);
});
