import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, onServer, openClient, urlOf } from '../support/database.ts';
import { complaintsIn, ended, http, startReplica } from '../support/replica.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

describe('a start that waiting cannot mend ends with one line that says why', () => {
  const changed = (change: (url: URL) => void) => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };

  test('a database that is not there', async () => {
    const { code, said } = await ended({ DATABASE_URL: urlOf(database.url, 'no_such_database') });
    expect(code).toBe(1);
    expect(said).toMatch(/^dibs: .*database "no_such_database" does not exist \(SQLSTATE 3D000\)\.\n$/);
  });

  test('a role that is not there, or a wrong password', async () => {
    const { code, said } = await ended({
      DATABASE_URL: changed((url) => {
        url.username = 'nobody_here';
      }),
    });
    expect(code).toBe(1);
    expect(said).toMatch(/^dibs: .*\(SQLSTATE 28...\)\.\n$/);
  });

  test('a database for LISTEN that is not there, and one to migrate', async () => {
    const missing = urlOf(database.url, 'no_such_database');
    const listening = await ended({ DATABASE_URL: database.url, DATABASE_LISTEN_URL: missing });
    expect(listening.code).toBe(1);
    expect(listening.said).toMatch(/^dibs: .*DATABASE_LISTEN_URL.*\(SQLSTATE 3D000\)\.\n$/);
    const migrating = await ended({ DATABASE_URL: missing }, 'migrate');
    expect(migrating.code).toBe(1);
    expect(migrating.said).toMatch(/^dibs: .*\(SQLSTATE 3D000\)\.\n$/);
  });

  test('a database in another encoding', async () => {
    const ascii = `${new URL(database.url).pathname.slice(1)}_ascii`;
    const onPostgres = (sql: string) => onServer(urlOf(database.url, 'postgres'), sql);
    await onPostgres(`create database ${ascii} encoding 'SQL_ASCII' locale 'C' template template0`);
    const { code, said } = await ended({ DATABASE_URL: urlOf(database.url, ascii) });
    await onPostgres(`drop database ${ascii} with (force)`);
    expect(code).toBe(1);
    expect(said).toBe('dibs: Dibs needs a database in UTF8, but this one is in SQL_ASCII.\n');
  });

  test('a DATA_DIR that cannot be made, or is a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dibs-'));
    const file = join(folder, 'file');
    writeFileSync(file, '');
    for (const dataDir of [file, join(file, 'below')]) {
      const { code, said } = await ended({ DATA_DIR: dataDir });
      expect(said).toMatch(/^dibs: DATA_DIR \S+ can't be created: .*Set DATABASE_URL .*\n$/);
      expect(code).toBe(1);
    }
    rmSync(folder, { recursive: true });
  });

  test('a port that somebody else has', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const { code, said } = await ended({ DATABASE_URL: database.url, PORT: `${port}` });
    other.close();
    expect(code).toBe(1);
    expect(said).toMatch(
      new RegExp(`^dibs: Dibs cannot listen on HOST=127.0.0.1 PORT=${port}: .*EADDRINUSE.*\\n$`),
    );
  });
});

test('what may pass is retried, and its cause is logged once, not for each call', async () => {
  const replica = await startReplica({ DATABASE_URL: database.url });
  const name = new URL(database.url).pathname.slice(1);
  const onPostgres = (sql: string) => onServer(urlOf(database.url, 'postgres'), sql);
  await until(async () => {
    await onPostgres(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    return onPostgres(`alter database ${name} rename to ${name}_away`).then(
      () => true,
      () => false,
    );
  });
  await until(async () => (await http(replica.url, 'POST', '/jobs', {})).status === 503);
  const answers = await Promise.all(Array.from({ length: 40 }, () => http(replica.url, 'POST', '/jobs', {})));
  expect(answers.filter(({ status }) => status !== 503)).toEqual([]);
  await sleep(500);
  const warnings = complaintsIn(replica.lines);
  expect(warnings.filter((line) => /the database cannot serve.*SQLSTATE 3D000/.test(line)).length).toBe(1);
  expect(warnings.length).toBeLessThan(8);
  await onPostgres(`alter database ${name}_away rename to ${name}`);
  await until(async () => (await http(replica.url, 'POST', '/jobs', {})).status === 201);
  await until(() => replica.lines.some((line) => line.includes('the database serves again')));
  await replica.end('SIGTERM');
});

test('a start with a mistyped host waits, and the log says why', async () => {
  const url = new URL(database.url);
  url.hostname = 'no-such-host.invalid';
  const { DATABASE_URL: _, ...inherited } = process.env;
  const env = { ...inherited, PORT: '0', DATABASE_URL: url.href };
  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await until(() => /the database cannot serve: getaddrinfo (ENOTFOUND|EAI_AGAIN)/.test(said));
  expect(child.exitCode).toBeNull();
  child.kill('SIGTERM');
  await once(child, 'close');
});

test('a full disk is 503, and the log says what it is', async () => {
  const replica = await startReplica({ DATABASE_URL: database.url });
  await onServer(
    database.url,
    `create function full_disk() returns trigger language plpgsql as $$
       begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$`,
  );
  await onServer(
    database.url,
    'create trigger full_disk before insert on dibs.jobs for each row execute function full_disk()',
  );
  const refused = await http(replica.url, 'POST', '/jobs', {});
  await onServer(database.url, 'drop function full_disk cascade');
  expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable', outcome: 'not_done' } });
  expect(replica.lines.filter((line) => line.includes('SQLSTATE 53100'))).toHaveLength(1);
  expect((await http(replica.url, 'POST', '/jobs', {})).status).toBe(201);
  await replica.end('SIGTERM');
});

describe('/readyz is 503 and says why when an enqueue would not work', () => {
  let service: Service;
  let admin: pg.Client;
  beforeAll(async () => {
    service = await startService();
    admin = await openClient(service.databaseUrl);
  });
  afterAll(async () => {
    await admin.end();
    await service.stop();
  });
  const name = () => new URL(service.databaseUrl).pathname.slice(1);
  const reconnect = () =>
    onServer(
      service.databaseUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'dibs' and datname = current_database()`,
    );
  const notReady = (detail: RegExp) =>
    until(async () => {
      const { status, body } = await service.call('GET', '/readyz');
      return status === 503 && detail.test(body.detail);
    });
  const ready = () => until(async () => (await service.call('GET', '/readyz')).status === 200);

  test('as the database is read-only', async () => {
    await admin.query(`alter database ${name()} set default_transaction_read_only = on`);
    await reconnect();
    await notReady(/read-only/);
    expect((await service.call('POST', '/jobs', {})).status).toBe(503);
    await admin.query('set default_transaction_read_only = off');
    await admin.query(`alter database ${name()} reset default_transaction_read_only`);
    await reconnect();
    await ready();
  });

  test('as dibs.jobs is missing, which is no bug in Dibs', async () => {
    await admin.query('alter table dibs.jobs rename to away');
    await notReady(/no table dibs\.jobs/);
    expect((await service.call('POST', '/jobs', {})).status).toBe(503);
    await admin.query('alter table dibs.away rename to jobs');
    await ready();
  });
});
