import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { createLogger } from '../../src/logger.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { filledDataDir } from '../support/postgres.ts';
import { http, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** What must never be in a log. */
const SECRET = 'hunter2';

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const secretsIn = (lines: string[]) => lines.filter((line) => line.includes(SECRET));

/** The log line about an error. */
function lineOf(error: unknown): string {
  let line = '';
  const write = (text: string) => {
    line += text;
  };
  createLogger('info', { write }).error(error as Error, 'it failed');
  return line;
}

/** Statements that PostgreSQL refuses with an error that quotes the secret. */
const QUOTING: [string, string, string, string[]][] = [
  ['a unique key', '23505', 'insert into kept (key) values ($1)', [SECRET]],
  ['a check', '23514', 'insert into kept (checked) values ($1)', [SECRET]],
  ['a column that is not null', '23502', 'insert into kept (checked, needed) values ($1, null)', [SECRET]],
  ['a foreign key', '23503', 'insert into referring values ($1)', [SECRET]],
  ['a JSON text', '22P02', 'select $1::json', [`{"a": ${SECRET}}`]],
  ['a UUID', '22P02', 'select $1::uuid', [SECRET]],
  ['a number', '22P02', 'select $1::integer', [SECRET]],
  ['a date', '22007', 'select $1::date', [SECRET]],
  ['an exception of a function', 'P0001', 'select shout($1)', [SECRET]],
  [
    'a line in the message that looks like a stack',
    'P0001',
    'select shout($1)',
    [`x\n    at ${SECRET} (file:1:1)`],
  ],
];

describe('what PostgreSQL quotes of a row or a parameter is not logged', () => {
  let client: pg.Client;
  beforeAll(async () => {
    client = await openClient(database.url);
    await client.query(`
      create table kept (key text unique, checked text check (checked <> '${SECRET}'), needed text not null default '');
      create table referring (key text references kept (key));
      create function shout(text) returns void language plpgsql as $$begin raise exception 'so: %', $1 using detail = $1, hint = $1; end$$;
      alter table kept drop constraint kept_checked_check;
      insert into kept values ('${SECRET}');
      alter table kept add constraint kept_checked_check check (checked <> '${SECRET}') not valid;
    `);
  });
  afterAll(() => client.end());

  test.each(QUOTING)('of %s', async (what, code, text, values) => {
    const given = what === 'a foreign key' ? [`${SECRET} too`] : values;
    const statement = what.startsWith('a column') ? text.replace('$1', `'x' || $1`) : text;
    const error = await client.query(statement, given).then(
      () => undefined,
      (error) => error,
    );
    // The driver's error has it: the test would show nothing otherwise.
    expect(JSON.stringify({ ...error, message: error?.message })).toContain(SECRET);
    const line = lineOf(error);
    expect(line).not.toContain(SECRET);
    // What helps to find the bug is there.
    expect(JSON.parse(line).err).toMatchObject({ code, severity: 'ERROR', routine: expect.any(String) });
    expect(JSON.parse(line).err.stack).toMatch(/\n {4}at /);
    // Also as the cause of another error, and among several.
    expect(lineOf(new Error('above', { cause: error }))).not.toContain(SECRET);
    expect(lineOf(new AggregateError([error], 'several'))).not.toContain(SECRET);
  });

  test('of what Node quotes: a URL, a JSON text', () => {
    for (const fail of [() => new URL(`${SECRET}://:`), () => JSON.parse(`{"a":${SECRET}}`)]) {
      let error: unknown;
      try {
        fail();
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeDefined();
      expect(lineOf(error)).not.toContain(SECRET);
    }
  });
});

test('a request that fails by a bug leaves an error in the log, without what it carried', async () => {
  const { url, drop } = await createDatabase();
  await onServer(url, `alter table dibs.jobs add constraint mine check (payload::text !~ '${SECRET}')`);
  await onServer(
    url,
    `create function public.shout() returns trigger language plpgsql as $$begin
       if new.last_error ~ '${SECRET}' then raise exception 'bad row: %', new; end if; return new; end$$;
     create trigger mine before update on dibs.jobs for each row execute function public.shout()`,
  );
  const replica = await startReplica({ DATABASE_URL: url, LOG_LEVEL: 'trace' });
  const auth = { authorization: `Bearer ${SECRET}`, cookie: SECRET, 'x-api-key': SECRET };
  const post = (path: string, body: object) => http(replica.url, 'POST', path, body, { headers: auth });
  const refused = await post('/jobs', {
    queue: 'q',
    payload: { password: SECRET },
    headers: { token: SECRET },
  });
  expect(refused.status).toBe(500);
  expect(refused.text).not.toContain(SECRET);
  await post('/jobs', { queue: 'q', headers: { token: SECRET }, unique_key: SECRET });
  const [job] = (await post('/jobs/claim', { queues: ['q'], worker: SECRET })).body.jobs;
  const nacked = await post(`/jobs/${job.id}/nack`, { lease_token: job.lease_token, error: SECRET });
  expect(nacked.status).toBe(500);
  await http(replica.url, 'GET', `/jobs?queue=q&unique_key=${SECRET}&cursor=${SECRET}`);
  await replica.end('SIGTERM');
  await drop();
  expect(secretsIn(replica.lines)).toEqual([]);
  const errors = replica.lines.filter((line) => line.includes('"level":50')).map((line) => JSON.parse(line));
  expect(errors.map(({ err }) => err.code)).toEqual(expect.arrayContaining(['23514', 'P0001']));
  expect(errors.map(({ reqId }) => reqId)).toContain(refused.headers.get('x-request-id'));
});

test('the log of the embedded PostgreSQL shows no statements, details or values', async () => {
  const directory = await filledDataDir();
  const lines: string[] = [];
  const server = await startEmbedded({ dataDir: directory.path, log: (line) => lines.push(line) });
  try {
    const client = await openClient(server.url);
    await client.query('create table kept (key text unique)');
    await client.query('insert into kept values ($1)', [SECRET]);
    for (const [text, values] of [
      ['insert into kept values ($1)', [SECRET]],
      [`insert into kept values ('${SECRET}')`, []],
      ['select $1::uuid', [`${SECRET}\n${SECRET}`]],
      [`do $$begin raise exception '${SECRET}'; end$$`, []],
      [`select * from no_such_table where key = '${SECRET}'`, []],
    ] as const)
      await client.query(text, [...values]).catch(() => undefined);
    await client.end();
    await until(() => lines.some((line) => line.includes('no_such_table')));
  } finally {
    await server.stop();
    await directory.remove();
  }
  expect(secretsIn(lines)).toEqual([]);
  const codes = lines.flatMap((line) => /^\[\d+ (\w{5})\] ERROR: {2}\S/.exec(line)?.[1] ?? []);
  expect(codes).toEqual(['23505', '23505', '22P02', 'P0001', '42P01']);
});

describe('the password of DATABASE_URL is not logged', () => {
  const { host, pathname } = { host: '127.0.0.1:1', pathname: '/dibs' };
  const urls: [string, () => string][] = [
    ['is wrong', () => Object.assign(new URL(database.url), { password: SECRET }).href],
    ['leads to no server', () => `postgres://app:${SECRET}@${host}${pathname}`],
    ['leads to no host', () => `postgres://app:${SECRET}@no-such-host.invalid${pathname}`],
    ['has a broken escape', () => `postgres://app:${SECRET}%zz@${host}${pathname}`],
    ['has a mark that ends the host', () => `postgres://app:${SECRET}#x@${host}${pathname}`],
    ['is no URL', () => `postgres://app:${SECRET}@[${host}`],
    ['is of another scheme', () => `mysql://app:${SECRET}@${host}${pathname}`],
    ['has it in the query', () => `postgres://app@${host}${pathname}?password=${SECRET}`],
    ['has an unknown SSL mode', () => `postgres://app:${SECRET}@${host}${pathname}?sslmode=nonsense`],
    [
      'names a certificate that is not there',
      () => `postgres://app:${SECRET}@${host}${pathname}?sslrootcert=/none`,
    ],
  ];
  test.each(urls)('when the URL %s', async (_, url) => {
    const env = { ...process.env, DATABASE_URL: url(), PORT: '0', LOG_LEVEL: 'trace' };
    const migrated = spawnSync(process.execPath, ['dist/main.js', 'migrate'], { env, encoding: 'utf8' });
    expect(migrated.stdout + migrated.stderr).not.toContain(SECRET);
    expect(migrated.stderr).toMatch(/^dibs: /);
    expect(migrated.status).toBe(1);
    const served = spawn(process.execPath, ['dist/main.js', 'serve'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [served.stdout, served.stderr])
      stream.on('data', (chunk) => {
        said += chunk;
      });
    const closed = once(served, 'close');
    // It ends with a reason, or tries again and says why.
    await until(() => said.includes('\n'));
    served.kill('SIGTERM');
    await closed;
    expect(said).not.toContain(SECRET);
  });
});

test('an error that nobody caught ends the process with its stack, and without its fields', () => {
  // As soon as main.ts listens for such errors.
  const script = `setInterval(() => {
    if (process.listenerCount('uncaughtException') === 0) return;
    throw Object.assign(new Error('a bug'), { detail: 'hunter' + 2, severity: 'ERROR', code: '23505' });
  }, 10)`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(script)}`, 'dist/main.js', 'serve'],
    { env: { ...process.env, DATABASE_URL: database.url, PORT: '0' }, encoding: 'utf8' },
  );
  expect(stderr).toMatch(/^dibs: Error: a bug\n {4}at /);
  expect(stderr).not.toContain(SECRET);
  expect(status).toBe(1);
});
