import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asRole, createEmptyDatabase, onServer, SERVING_ROLE } from '../support/database.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

type Created = Awaited<ReturnType<typeof createEmptyDatabase>>;
let [home, a, b]: Created[] = [];
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
const urlOf = (database: Created | undefined) => (database as Created).url;
beforeAll(async () => {
  directory = await temporaryDirectory();
  [home, a, b] = await Promise.all([1, 2, 3].map(createEmptyDatabase));
});
afterAll(async () => {
  for (const database of [home, a, b]) await database?.drop();
  await directory.remove();
});

/** Runs a command of Dibs with the databases. */
async function dibs(args: string[], more: Record<string, string> = {}) {
  const env = {
    ...process.env,
    DATABASE_URL: urlOf(home),
    DATABASE_URL_A: urlOf(a),
    DATABASE_URL_B: urlOf(b),
    ...more,
  };
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

interface Found {
  check: string;
  level: string;
  found: string;
  database: string;
}

async function doctor(more: Record<string, string> = {}) {
  const { stdout, status } = await dibs(['doctor', '--json'], more);
  const { findings } = JSON.parse(stdout) as { findings: Found[] };
  const of = (database: string, check: string) =>
    findings.filter((finding) => finding.database === database && finding.check === check);
  return { status, findings, of };
}

test('dibs migrate migrates each database, and says what it does in which', async () => {
  const planned = await dibs(['migrate', '--dry-run']);
  for (const name of ['home', 'a', 'b'])
    expect(planned.stdout).toMatch(new RegExp(`^${name}: Would migrate: 0001_queues_and_jobs$`, 'm'));
  const done = await dibs(['migrate']);
  expect(done).toMatchObject({ status: 0, stderr: '' });
  expect(done.stdout).toMatch(/^home: Migrated: 0001.*\na: Migrated: 0001.*\nb: Migrated: 0001.*\n$/);
  expect((await dibs(['migrate'])).stdout).toBe(
    ['home', 'a', 'b'].map((name) => `${name}: The database is up to date.\n`).join(''),
  );
});

test('dibs migrate --grant-serve gives a role what it needs in each database: it serves from all of them', async () => {
  const { stdout } = await dibs(['migrate', '--grant-serve', SERVING_ROLE]);
  for (const name of ['home', 'a', 'b']) expect(stdout).toContain(`${name}: ${SERVING_ROLE} may serve.\n`);
  const service = await startService({
    databaseUrl: urlOf(home),
    others: { a: urlOf(a), b: urlOf(b) },
  });
  for (const database of ['home', 'a', 'b']) {
    expect(await service.call('PUT', `/queues/in-${database}`, { database })).toMatchObject({ status: 200 });
    expect(await service.call('POST', '/jobs', { queue: `in-${database}` })).toMatchObject({ status: 201 });
  }
  const batch = { jobs: ['home', 'a', 'b'].map((database) => ({ queue: `in-${database}` })) };
  expect(await service.call('POST', '/jobs/batch', batch)).toMatchObject({ status: 201 });
  await until(async () => (await onServer(urlOf(home), 'select from dibs.relay')).length === 0);
  await service.stop();
  // A busy machine may not answer now and then. A privilege that is missing is told as that.
  expect(service.errors.filter((error) => /permission denied/.test(String((error as Error).cause)))).toEqual(
    [],
  );
  const asServing = Object.fromEntries(
    [
      ['DATABASE_URL', home],
      ['DATABASE_URL_A', a],
      ['DATABASE_URL_B', b],
    ].map(([name, database]) => [name, asRole(urlOf(database as Created), SERVING_ROLE)]),
  );
  const found = await doctor(asServing);
  for (const name of ['home', 'a', 'b'])
    expect(found.of(name, 'privileges')).toMatchObject([{ level: 'ok' }]);
  expect(await dibs(['export', join(directory.path, 'serving')], asServing)).toMatchObject({ status: 0 });
});

test('dibs doctor makes each of its checks at each database, and looks at all together', async () => {
  const { findings, of } = await doctor();
  const checksOf = (name: string) =>
    new Set(findings.filter(({ database }) => database === name).map(({ check }) => check));
  for (const check of [
    'pooler',
    'version',
    'writes',
    'fsync',
    'schema',
    'horizon',
    'claim_plan',
    'places',
    'relay',
  ])
    for (const name of ['home', 'a', 'b']) expect(checksOf(name), name).toContain(check);
  expect(of('home', 'same_version')).toMatchObject([{ level: 'ok' }]);
  for (const name of ['a', 'b']) {
    expect(of(name, 'identity')).toMatchObject([{ level: 'ok' }]);
    expect(of(name, 'places')).toMatchObject([
      { level: 'ok', found: '1 queues are here, each in its place.' },
    ]);
  }
});

test('dibs doctor finds queues out of their place, and jobs that do not arrive', async () => {
  await onServer(urlOf(a), "insert into dibs.queues (id, name) values (700, 'lost')");
  const [queue] = await onServer<{ id: number }>(urlOf(b), 'select id from dibs.queues');
  await onServer(urlOf(a), "insert into dibs.queues (id, name) values ($1, 'in-b')", [queue?.id]);
  await onServer(
    urlOf(home),
    "insert into dibs.placements (queue_id, name, database) values (800, 'later', 'b')",
  );
  await onServer(
    urlOf(home),
    `insert into dibs.relay (id, queue_id, queue, moved, bytes, created_at)
     values (gen_random_uuid(), $1, 'in-b', '{}', 2, now() - interval '5 minutes')`,
    [queue?.id],
  );
  const { status, of } = await doctor();
  expect(status).toBe(4);
  expect(of('a', 'places')).toMatchObject([
    { level: 'warning', found: `Queues are here, and their place is another database: in-b (${queue?.id}).` },
    { level: 'problem', found: 'Queues are here that have no place: lost (700).' },
  ]);
  expect(of('b', 'places')).toMatchObject([
    {
      level: 'ok',
      found: '1 queues are here, each in its place. 1 more have their place here, and are not created yet.',
    },
  ]);
  expect(of('home', 'relay')).toMatchObject([
    {
      level: 'warning',
      found: expect.stringMatching(/^1 jobs wait here .*, the oldest for 5\.\d minutes\.$/),
    },
  ]);
  await onServer(urlOf(home), 'delete from dibs.relay');
  await onServer(urlOf(a), "delete from dibs.queues where name in ('lost', 'in-b')");
});

test('dibs doctor finds queues whose number or name home gives to others', async () => {
  await onServer(urlOf(a), "insert into dibs.queues (id, name) values (701, 'number'), (702, 'name')");
  await onServer(
    urlOf(home),
    "insert into dibs.placements (queue_id, name, database) values (701, 'other', 'a'), (703, 'name', 'home')",
  );
  const { status, of } = await doctor();
  expect(status).toBe(4);
  expect(of('a', 'places')).toMatchObject([
    {
      level: 'problem',
      found:
        'Queues are here, and home gives their numbers or their names to other queues: name (702), number (701).',
    },
  ]);
  await onServer(urlOf(home), "delete from dibs.placements where name in ('other', 'name')");
  await onServer(urlOf(a), "delete from dibs.queues where name in ('number', 'name')");
});

test('dibs doctor finds a database that is away, one that is another one, and one that is not named', async () => {
  const away = await doctor({ DATABASE_URL_B: 'postgres://127.0.0.1:1/dibs' });
  expect(away.status).toBe(4);
  expect(away.of('b', 'reachable')).toMatchObject([
    { level: 'problem', found: expect.stringContaining('ECONNREFUSED') },
  ]);
  expect(away.of('a', 'places')).toMatchObject([{ level: 'ok' }]);
  const swapped = await doctor({ DATABASE_URL_A: urlOf(b), DATABASE_URL_B: urlOf(a) });
  expect(swapped.of('a', 'identity')).toMatchObject([
    { level: 'problem', found: expect.stringContaining('DATABASE_URL_A leads to the database "b"') },
  ]);
  const lacks = await doctor({ DATABASE_URL_B: '' });
  expect(lacks.of('home', 'identity')).toMatchObject([
    { level: 'problem', found: expect.stringContaining('DATABASE_URL_B is not set') },
  ]);
});

test('dibs export and dibs import take several databases, as one', async () => {
  const file = join(directory.path, 'all');
  const exported = await dibs(['export', file]);
  expect(exported).toMatchObject({ status: 0, stdout: '' });
  expect(exported.stderr).toMatch(/Exported 6 jobs, \d+ lines in all, in /);
  const others: Created[] = await Promise.all([1, 2].map(createEmptyDatabase));
  const into = { DATABASE_URL: urlOf(others[0]), DATABASE_URL_A: urlOf(others[1]), DATABASE_URL_B: '' };
  expect(await dibs(['import', file], into)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--create'),
  });
  expect(await dibs(['import', file, '--create'], into)).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/Imported 6 jobs in /),
  });
  for (const database of others)
    expect(
      (await onServer<{ n: number }>(database.url, 'select count(*)::integer as n from dibs.queues'))[0]?.n,
    ).toBeGreaterThan(0);
  expect(await dibs(['export', '-'], { ...into, DATABASE_URL_A: '' })).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('This Dibs has the database "a", and DATABASE_URL_A is not set.'),
  });
  for (const database of others) await database.drop();
});
