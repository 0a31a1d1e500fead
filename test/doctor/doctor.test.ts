import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../bench/lib/ports.mjs';
import { examine } from '../../src/doctor/examine.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { type EmbeddedPostgres, startEmbedded } from '../../src/embedded/index.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { asRole, onServer, openClient, urlOf } from '../support/database.ts';
import { filledDataDir } from '../support/postgres.ts';
import { until } from '../support/until.ts';

/*
 * Each finding is caused on a server of this file's own, found, and gone again when its cause is gone.
 */

let directory: Awaited<ReturnType<typeof filledDataDir>>;
let server: EmbeddedPostgres;
let url: string;
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  directory = await filledDataDir();
  // PgBouncer, which is not root, reads its configuration there.
  chmodSync(directory.path, 0o755);
  server = await startEmbedded({
    dataDir: directory.path,
    log: () => undefined,
    settings: { max_prepared_transactions: '5', wal_sender_timeout: '0' },
  });
  url = server.url;
  for (const role of ['server', 'stranger'])
    await onServer(url, `create role dibs_${role} login password 'dibs_${role}'`);
  await migrate(url, { serve: ['dibs_server'], produce: [] });
});
afterAll(async () => {
  await server?.stop();
  await directory.remove();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

type Options = Partial<Parameters<typeof examine>[0]>;
const doctor = (options: Options = {}) => examine({ url, poolSize: 10, isEmbedded: true, ...options });

async function levelOf(check: string, options?: Options): Promise<Finding['level'] | undefined> {
  return (await doctor(options)).find((finding) => finding.check === check)?.level;
}

/** The findings of a check that are not fine. Each says what it means and what to do. */
async function badOf(check: string, options?: Options): Promise<Finding[]> {
  const bad = (await doctor(options)).filter((finding) => finding.check === check && finding.level !== 'ok');
  for (const { meaning, advice } of bad) expect([meaning, advice].map(Boolean)).toEqual([true, true]);
  return bad;
}

/** Runs statements, and their opposites when the test has ended. */
async function cause(text: string, back: string, at = url): Promise<void> {
  await onServer(at, text);
  undo.push(() => onServer(at, back));
}

function withParameter(name: string, value: string): string {
  const at = new URL(url);
  at.searchParams.set(name, value);
  return at.href;
}

async function setting(name: string, value: string): Promise<void> {
  const reload = async (text: string) => {
    const before = await onServer(url, `show ${name}`);
    await onServer(url, text);
    await onServer(url, 'select pg_reload_conf()');
    await until(async () => JSON.stringify(await onServer(url, `show ${name}`)) !== JSON.stringify(before));
  };
  await reload(`alter system set ${name} = ${value}`);
  undo.push(() => reload(`alter system reset ${name}`));
}

async function client(at = url): Promise<pg.Client> {
  const opened = await openClient(at);
  undo.push(() => opened.end());
  return opened;
}

test('a database that is as it should be: every check is fine', async () => {
  const findings = await doctor();
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
  expect(findings.map(({ check }) => check)).toEqual([
    'pooler',
    'listen',
    'version',
    'encoding',
    'writes',
    'fsync',
    'full_page_writes',
    'synchronous_commit',
    'autovacuum',
    'statement_timeout',
    'idle_session_timeout',
    'idle_in_transaction_session_timeout',
    'connections',
    'clock',
    'role',
    'sight',
    'horizon',
    'replication_slots',
    'privileges',
    'schema',
    'commit_latency',
    'dead_rows',
    'indexes',
    'claim_plan',
    'queue_numbers',
  ]);
});

describe('settings', () => {
  test.each(['fsync', 'full_page_writes', 'autovacuum'])('%s = off', async (name) => {
    await setting(name, 'off');
    expect(await levelOf(name)).toBe('problem');
  });

  test('synchronous_commit = off of the role, or of the database, counts as much', async () => {
    await cause(
      'alter role postgres set synchronous_commit = off',
      'alter role postgres reset synchronous_commit',
    );
    expect(await levelOf('synchronous_commit')).toBe('warning');
  });

  test.each(['statement_timeout', 'idle_session_timeout'])('%s of the role', async (name) => {
    await cause(`alter role postgres set ${name} = '20s'`, `alter role postgres reset ${name}`);
    expect(await levelOf(name)).toBe('warning');
  });

  test('idle_in_transaction_session_timeout is missing, unless nobody else uses the server', async () => {
    const name = 'idle_in_transaction_session_timeout';
    expect(await levelOf(name, { isEmbedded: false })).toBe('warning');
    await cause(`alter role postgres set ${name} = '20s'`, `alter role postgres reset ${name}`);
    expect(await levelOf(name, { isEmbedded: false })).toBe('ok');
  });

  test('transactions are read-only: what needs writes is not tried', async () => {
    await cause(
      'alter database dibs set default_transaction_read_only = on',
      'begin read write; alter database dibs reset default_transaction_read_only; commit',
    );
    const findings = await doctor();
    expect(findings.find(({ check }) => check === 'writes')?.level).toBe('problem');
    expect(findings.some(({ check }) => check === 'commit_latency')).toBe(false);
  });

  test('another encoding than UTF8', async () => {
    await cause(
      "create database latin encoding 'LATIN1' locale 'C' template template0",
      'drop database latin with (force)',
    );
    expect(await levelOf('encoding', { url: urlOf(url, 'latin') })).toBe('problem');
  });

  test('a version that Dibs is not tested on, or is too old', async () => {
    // The server is what it is. A view before the catalog says otherwise.
    await onServer(url, 'create schema fake');
    undo.push(() => onServer(url, 'drop schema fake cascade'));
    await cause(
      'alter role postgres set search_path = fake, pg_catalog, public',
      'alter role postgres reset search_path',
    );
    for (const [number, level] of [
      ['990000', 'warning'],
      ['130009', 'problem'],
    ] as const) {
      await onServer(
        url,
        `create or replace view fake.pg_settings as
         select name, case name when 'server_version_num' then '${number}' else setting end as setting, reset_val
         from pg_catalog.pg_settings`,
      );
      expect(await levelOf('version')).toBe(level);
    }
  });
});

describe('connections', () => {
  test('a pool that does not fit at all', async () => {
    expect(await levelOf('connections', { poolSize: 500 })).toBe('problem');
    await cause('alter database dibs connection limit 8', 'alter database dibs connection limit -1');
    const [bad] = await badOf('connections');
    expect(bad).toMatchObject({ level: 'problem', found: expect.stringContaining('the database') });
  });

  test('a limit of the role, and one that leaves no room for another replica', async () => {
    const at = asRole(url, 'dibs_server');
    await cause('alter role dibs_server connection limit 8', 'alter role dibs_server connection limit -1');
    expect(await badOf('connections', { url: at })).toMatchObject([
      { level: 'problem', found: expect.stringContaining('the role') },
    ]);
    await onServer(url, 'alter role dibs_server connection limit 14');
    expect(await levelOf('connections', { url: at })).toBe('ok');
    for (let i = 0; i < 6; i++) await client(at);
    expect(await levelOf('connections', { url: at })).toBe('warning');
  });
});

describe('the role', () => {
  test('a superuser, and a role that does not see the transactions of others', async () => {
    expect(await levelOf('role', { isEmbedded: false })).toBe('warning');
    const serving = { url: asRole(url, 'dibs_server'), isEmbedded: false };
    expect(await levelOf('role', serving)).toBe('ok');
    expect(await levelOf('sight', serving)).toBe('warning');
    await cause('grant pg_read_all_stats to dibs_server', 'revoke pg_read_all_stats from dibs_server');
    expect(await levelOf('sight', serving)).toBe('ok');
  });

  test('a serving role may look at all the rest', async () => {
    const findings = await doctor({ url: asRole(url, 'dibs_server') });
    expect(findings.filter(({ level }) => level !== 'ok').map(({ check }) => check)).toEqual(['sight']);
  });

  test('privileges that are missing are named', async () => {
    const serving = { url: asRole(url, 'dibs_server') };
    await cause('revoke update on dibs.jobs from dibs_server', 'grant update on dibs.jobs to dibs_server');
    const [bad] = await badOf('privileges', serving);
    expect(bad).toMatchObject({
      level: 'problem',
      found: expect.stringContaining('update on table dibs.jobs'),
    });
    expect(await levelOf('privileges', { url: asRole(url, 'dibs_stranger') })).toBe('problem');
  });
});

describe('the schema', () => {
  test('there is none', async () => {
    await cause('create database bare template template0', 'drop database bare with (force)');
    expect(await badOf('schema', { url: urlOf(url, 'bare') })).toMatchObject([
      { level: 'problem', advice: expect.stringContaining('dibs migrate') },
    ]);
  });

  test('it is behind, or ahead, or lacks a function', async () => {
    const [last] = await onServer<{ version: number; name: string }>(
      url,
      'select * from dibs.migrations order by version desc limit 1',
    );
    const { version, name } = last as { version: number; name: string };
    await onServer(url, 'delete from dibs.migrations where version = $1', [version]);
    undo.push(() => onServer(url, 'insert into dibs.migrations values ($1, $2)', [version, name]));
    expect(await badOf('schema')).toMatchObject([
      { level: 'problem', advice: expect.stringContaining('migrate') },
    ]);
    await cause(
      "insert into dibs.migrations values (900, 'new')",
      'delete from dibs.migrations where version = 900',
    );
    expect(await badOf('schema')).toMatchObject([{ advice: expect.stringContaining('that Dibs') }]);
    await onServer(url, 'delete from dibs.migrations where version = 900');
    await undo.splice(0, 1)[0]?.();
    await cause(
      "update dibs.functions set name = 'x' where name = 'capacity'",
      "update dibs.functions set name = 'capacity' where name = 'x'",
    );
    expect(await badOf('schema')).toMatchObject([{ found: expect.stringContaining('capacity') }]);
  });
});

describe('the horizon', () => {
  const strict = { thresholds: { heldSeconds: 0.05 } };

  /** Looks until the holder is as old as the threshold says. */
  const held = (options: Options = strict) =>
    until(async () => {
      const bad = await badOf('horizon', options);
      return bad.length > 0 && bad;
    });

  test('a forgotten transaction: who, where, since when, and how to end it', async () => {
    const forgotten = await client(withParameter('application_name', 'console'));
    await forgotten.query('begin isolation level repeatable read');
    const [{ pid }] = (await forgotten.query('select pg_backend_pid() as pid')).rows;
    const [bad] = await held();
    expect(bad?.found).toMatch(
      new RegExp(
        `transaction of postgres \\(process ${pid}, console, idle in transaction, database dibs\\) is open for`,
      ),
    );
    expect(bad?.advice).toContain(`pg_terminate_backend(${pid})`);
    expect(await levelOf('horizon')).toBe('ok');
    await until(async () => (await levelOf('horizon', { thresholds: { heldSeconds: 0.001 } })) === 'problem');
    await forgotten.query('rollback');
    expect(await levelOf('horizon', strict)).toBe('ok');
  });

  test('a writer in another database counts, a reader there does not', async () => {
    const other = await client(urlOf(url, 'postgres'));
    await other.query('begin isolation level repeatable read');
    await other.query('select 1');
    expect(await levelOf('horizon', { thresholds: { heldSeconds: 0 } })).toBe('ok');
    await other.query('select pg_current_xact_id()');
    expect((await held())[0]?.found).toContain('database postgres');
  });

  test('a prepared transaction', async () => {
    const preparing = await client();
    await preparing.query('begin');
    await preparing.query('select pg_current_xact_id()');
    await preparing.query("prepare transaction 'left over'");
    undo.push(() => onServer(url, "rollback prepared 'left over'"));
    const [bad] = await held();
    expect(bad?.found).toContain('The prepared transaction "left over" of postgres');
  });

  test('a standby that holds it by feedback, and the slot that it leaves behind', async () => {
    await onServer(url, "select pg_create_physical_replication_slot('standby', true)");
    undo.push(() => onServer(url, "select pg_drop_replication_slot('standby')"));
    const [bad] = await badOf('replication_slots');
    expect(bad).toMatchObject({ level: 'warning', found: expect.stringContaining('slot standby') });

    // A standby's part of the protocol: it streams, and sends its feedback with the oldest transaction that it needs.
    const standby = await openClient({ connectionString: url, replication: 'true' } as pg.ClientConfig);
    const { connection } = standby as unknown as {
      connection: pg.Connection & { sendCopyFromChunk(it: Buffer): void };
    };
    const [at] = await onServer<{ lsn: string; xmin: string }>(
      url,
      'select pg_current_wal_lsn() as lsn, pg_snapshot_xmin(pg_current_snapshot()) as xmin',
    );
    const streaming = once(connection, 'replicationStart');
    standby.query(`START_REPLICATION SLOT standby PHYSICAL ${at?.lsn}`).catch(() => undefined);
    await streaming;
    const feedback = Buffer.alloc(25);
    feedback.write('h');
    feedback.writeInt32BE(Number(at?.xmin), 9);
    connection.sendCopyFromChunk(feedback);
    for (let i = 0; i < 20; i++) await onServer(url, 'select pg_current_xact_id()');
    const byAge = { thresholds: { heldSeconds: 3600, heldTransactions: 10 } };
    expect((await held(byAge))[0]?.found).toMatch(
      /slot standby \(active\) holds the horizon for \d+ transactions/,
    );
    (connection as unknown as { stream: { destroy(): void } }).stream.destroy();
    expect(
      await until(async () => (await held(byAge)).find(({ found }) => found.includes('standby (inactive)'))),
    ).toMatchObject({ advice: expect.stringContaining('pg_drop_replication_slot') });
    expect(await levelOf('replication_slots')).toBe('warning');
  });
});

describe('tables and indexes', () => {
  const thresholds = { deadRows: 2000, indexBytes: 300_000 };

  test('dead rows that nobody clears, and an index that is mostly empty', async () => {
    await cause('create database large template template0', 'drop database large with (force)');
    const large = urlOf(url, 'large');
    await migrate(large);
    await onServer(large, 'alter table dibs.jobs set (autovacuum_enabled = off)');
    expect(await badOf('dead_rows', { url: large })).toMatchObject([
      { level: 'problem', found: expect.stringContaining('dibs.jobs') },
    ]);
    await onServer(large, "insert into dibs.queues (name) values ('full')");
    await onServer(
      large,
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
       select q.id, gen_random_uuid(), 'ready', now(), 5, 4, 0, '{}', 'null'
       from dibs.queues q, generate_series(1, 15000) where q.name = 'full'`,
    );
    await onServer(large, 'analyze dibs.jobs');
    expect(await badOf('indexes', { url: large, thresholds })).toEqual([]);
    await onServer(large, 'delete from dibs.jobs');
    const dead = () => badOf('dead_rows', { url: large, thresholds });
    const found = await until(async () => (await dead()).find(({ level }) => level === 'warning'));
    expect(found.found).toMatch(/dibs\.jobs has \d+ dead rows beside 0 live ones/);
    await onServer(large, 'vacuum analyze dibs.jobs');
    const names = (await badOf('indexes', { url: large, thresholds })).map(
      ({ found }) => /dibs\.(\w+)/.exec(found)?.[1],
    );
    expect(names).toContain('jobs_ready');
    await onServer(large, 'reindex table dibs.jobs');
    expect(await badOf('indexes', { url: large, thresholds })).toEqual([]);
  });

  test('an index that is not valid, and a claim that does not find its index', async () => {
    const set = (valid: boolean) =>
      `update pg_index set indisvalid = ${valid} where indexrelid = 'dibs.jobs_ready'::regclass`;
    await cause(set(false), set(true));
    expect(await badOf('indexes')).toMatchObject([
      { level: 'problem', found: expect.stringContaining('jobs_ready') },
    ]);
    const bad = await badOf('claim_plan');
    expect(bad.map(({ found }) => /A (\w+) claim/.exec(found)?.[1])).toEqual(
      expect.arrayContaining(['plain', 'limited']),
    );
    expect(bad[0]?.level).toBe('problem');
  });

  test('a setting of the planner that keeps claims from their indexes', async () => {
    await cause(
      'alter role dibs_server set enable_indexscan = off',
      'alter role dibs_server reset enable_indexscan',
    );
    const bad = await badOf('claim_plan', { url: asRole(url, 'dibs_server') });
    expect(bad).not.toEqual([]);
  });
});

test('numbers of queues that are nearly used up, unless enough can be used again', async () => {
  const given = (share: number) => `select setval('dibs.queue_ids', ${Math.round(share * 16_777_215)})`;
  await cause(given(0.85), given(1e-6));
  const [scarce] = await badOf('queue_numbers');
  expect(scarce).toMatchObject({
    level: 'warning',
    found: expect.stringMatching(/^14,260,633 of 16,777,215/),
  });
  await onServer(url, given(0.99));
  expect(await levelOf('queue_numbers')).toBe('problem');
  await onServer(url, given(0.8001));
  await cause(
    `insert into dibs.free_queue_ids select n, now() - interval '32 days' from generate_series(1, 20000) n`,
    'delete from dibs.free_queue_ids',
  );
  expect(await levelOf('queue_numbers')).toBe('ok');
});

test('commits that are slow', async () => {
  await setting('commit_siblings', '0');
  await setting('commit_delay', '60000');
  const [bad] = await badOf('commit_latency');
  expect(bad).toMatchObject({ level: 'warning', found: expect.stringMatching(/^A commit takes \d+\.\d ms/) });
});

test('a clock that is an hour off', async () => {
  await onServer(url, 'create schema fake');
  undo.push(() => onServer(url, 'drop schema fake cascade'));
  await onServer(
    url,
    `create function fake.clock_timestamp() returns timestamptz language sql volatile
     as $$ select pg_catalog.clock_timestamp() + interval '1 hour' $$`,
  );
  await cause(
    'alter role postgres set search_path = fake, pg_catalog, public',
    'alter role postgres reset search_path',
  );
  const [bad] = await badOf('clock');
  expect(bad?.found).toMatch(/^The database's clock is 60 minutes ahead/);
});

/** Debian's PgBouncer refuses to run as root. */
async function bouncer(mode: string): Promise<string> {
  const port = await freePort();
  const to = new URL(url);
  const file = join(directory.path, `${mode}.ini`);
  writeFileSync(
    file,
    `[databases]
dibs = host=127.0.0.1 port=${to.port} user=postgres password=${decodeURIComponent(to.password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
ignore_startup_parameters = extra_float_digits
`,
    { mode: 0o644 },
  );
  const asUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  const child: ChildProcess = spawn('pgbouncer', ['-q', file], { stdio: 'ignore', ...asUser });
  undo.push(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  to.port = String(port);
  await until(() => onServer(to.href, 'select 1').catch(() => false));
  return to.href;
}

const has = (name: string) =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, name)));

describe.skipIf(!has('pgbouncer'))('a pooler', () => {
  test('in session mode is fine', async () => {
    const findings = await doctor({ url: await bouncer('session') });
    expect(findings.find(({ check }) => check === 'pooler')?.found).toContain('in session mode');
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
  });

  test('in transaction mode: prepared statements and LISTEN', async () => {
    const at = await bouncer('transaction');
    const [bad] = await badOf('pooler', { url: at });
    // From 1.21 on, PgBouncer keeps the prepared statements of its clients apart.
    if (bad)
      expect(bad).toMatchObject({
        level: 'problem',
        advice: expect.stringContaining('max_prepared_statements'),
      });
    expect(await levelOf('listen', { url: at })).toBe('warning');
    expect(await levelOf('listen', { url: at, listenUrl: url })).toBe('ok');
    expect(await levelOf('claim_plan', { url: at })).toBe('ok');
  });

  test('in statement mode: Dibs cannot serve, and nothing more is looked at', async () => {
    const findings = await doctor({ url: await bouncer('statement') });
    expect(findings).toMatchObject([{ check: 'pooler', level: 'problem' }]);
  });
});

describe('dibs doctor', () => {
  async function dibs(env: Record<string, string>, ...args: string[]) {
    const { DATABASE_URL: _, ...inherited } = process.env;
    const child = spawn(process.execPath, ['dist/main.js', 'doctor', ...args], {
      env: { ...inherited, ...env },
    });
    const said = { out: '', err: '' };
    child.stdout.on('data', (chunk) => {
      said.out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      said.err += chunk;
    });
    const [status] = await once(child, 'close');
    return { status, ...said };
  }

  test('ends with 0, 3 or 4 by what is worst, with 1 without a database, and with 2 for a wrong command line', async () => {
    expect(await dibs({ DATA_DIR: directory.path })).toMatchObject({
      status: 0,
      out: expect.stringContaining('0 problems'),
    });
    const env = { DATABASE_URL: asRole(url, 'dibs_server') };
    const warned = await dibs(env);
    expect(warned).toMatchObject({ status: 3, err: '' });
    expect(warned.out).toMatch(/^warning {2}sight: .+\n {9}.+\n {9}To do: /m);
    await cause('revoke delete on dibs.jobs from dibs_server', 'grant delete on dibs.jobs to dibs_server');
    const json = await dibs(env, '--json');
    expect(json.status).toBe(4);
    const { worst, findings } = JSON.parse(json.out);
    expect(worst).toBe('problem');
    expect(findings.find(({ check }: Finding) => check === 'privileges')).toMatchObject({ level: 'problem' });

    expect(await dibs({ DATABASE_URL: 'postgres://127.0.0.1:1/x' })).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(/^dibs: .*ECONNREFUSED.*\n$/),
    });
    expect(await dibs({ DATA_DIR: join(directory.path, 'nothing') })).toMatchObject({ status: 1 });
    for (const args of [['x'], ['--held-seconds', 'soon'], ['--nonsense']])
      expect(await dibs(env, ...args)).toMatchObject({
        status: 2,
        err: expect.stringMatching(/^dibs: .*\nAdd --help to see what it takes\.\n$/),
      });
  });
});
