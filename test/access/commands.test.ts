import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { KEY_PATTERN, newKey, newKeyId, typoIn } from '../../src/access/keyFormat.ts';
import { createDatabase, createEmptyDatabase, onServer } from '../support/database.ts';
import { bearer, withTypo } from '../support/keys.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => directory.remove());

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function database(create = createDatabase): Promise<string> {
  const { url, drop } = await create();
  undo.push(drop);
  return url;
}

async function replica(env: Record<string, string>): Promise<Replica> {
  const started = await startReplica(env);
  undo.push(() => started.end('SIGTERM'));
  return started;
}

async function dibs(env: Record<string, string>, ...args: string[]) {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const child = spawn(process.execPath, ['dist/main.js', ...args], {
    env: { ...inherited, PORT: '0', ...env },
  });
  const out: string[] = [];
  const err: string[] = [];
  child.stdout.on('data', (chunk) => out.push(String(chunk)));
  child.stderr.on('data', (chunk) => err.push(String(chunk)));
  const [status] = await once(child, 'close');
  return { status, stdout: out.join(''), stderr: err.join('') };
}

const look = async (at: Replica, key?: string) =>
  (await http(at.url, 'GET', '/keys', undefined, { headers: key === undefined ? {} : bearer(key) })).status;

describe('dibs keys', () => {
  test('create prints the key alone on standard output, and it works', async () => {
    const DATABASE_URL = await database();
    const service = await replica({ DATABASE_URL });
    const made = await dibs({ DATABASE_URL }, 'keys', 'create', 'admin', '--scope', 'admin');
    expect(made).toMatchObject({ status: 0, stderr: '' });
    expect(made.stdout.trim()).toMatch(KEY_PATTERN);
    expect(made.stdout).toBe(`${made.stdout.trim()}\n`);
    expect(await look(service, made.stdout.trim())).toBe(200);
    expect(await look(service)).toBe(401);
  });

  test('list, rotate and revoke find a key by name or id, and --json prints JSON', async () => {
    const DATABASE_URL = await database();
    const keys = (...args: string[]) => dibs({ DATABASE_URL }, 'keys', ...args);
    const service = await replica({ DATABASE_URL });
    const admin = (await keys('create', 'admin', '--scope', 'admin')).stdout.trim();
    const options = ['--scope', 'produce', '--scope', 'read', '--queue', 'mail.*', '--queue', 'sms'];
    const created = await keys('create', 'mailer', ...options, '--expires-in-seconds', '3600', '--json');
    const made = JSON.parse(created.stdout);
    expect(made).toMatchObject({ name: 'mailer', scopes: ['produce', 'read'], queues: ['mail.*', 'sms'] });
    expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(3_600_000);

    const { stdout } = await keys('list');
    expect(stdout).toMatch(/^NAME +ID +SCOPES +QUEUES +LAST USED\n/);
    expect(stdout).toMatch(
      new RegExp(`^mailer +${made.id} +produce,read +mail\\.\\*,sms +never +ends `, 'm'),
    );
    const listed = JSON.parse((await keys('list', '--json')).stdout).keys;
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['admin', 'mailer']);

    const rotated = (await keys('rotate', 'admin', '--overlap-seconds', '600')).stdout.trim();
    expect(rotated).not.toBe(admin);
    for (const key of [admin, rotated]) expect(await look(service, key)).toBe(200);
    expect(await keys('revoke', made.id)).toMatchObject({ status: 0 });
    expect(JSON.parse((await keys('revoke', 'admin', '--json')).stdout)).toEqual({ id: listed[0].id });
    await until(async () => (await look(service, rotated)) === 401, {
      what: 'the refusal of the revoked key',
    });
    expect((await keys('list')).stdout.match(/revoked/g)).toHaveLength(2);

    const acts = await onServer(DATABASE_URL, 'select actor, verb, key_id from dibs.audit order by id');
    const [by, first] = [{ actor: 'dibs keys' }, listed[0].id];
    expect(acts).toEqual([
      { ...by, verb: 'createKey', key_id: first },
      { ...by, verb: 'createKey', key_id: made.id },
      { ...by, verb: 'rotateKey', key_id: first },
      { ...by, verb: 'revokeKey', key_id: made.id },
      { ...by, verb: 'revokeKey', key_id: first },
    ]);
  });

  test('tells what is wrong: status 2 for the command line, 1 for what cannot be done', async () => {
    const DATABASE_URL = await database();
    const keys = (...args: string[]) => dibs({ DATABASE_URL }, 'keys', ...args);
    const misused = [
      ['nonsense'],
      ['create'],
      ['create', 'a'],
      ['create', 'a', 'b', '--scope', 'read'],
      ['create', 'a', '--scope', 'read', '--overlap-seconds', '5'],
      ['create', 'a', '--scope', 'read', '--expires-in-seconds', 'soon'],
      ['create', 'a', '--print-only'],
      ['list', 'a'],
      ['revoke'],
      ['list', '--nonsense'],
    ];
    const said = await Promise.all(misused.map((args) => keys(...args)));
    for (const [i, args] of misused.entries()) {
      expect({ args, ...said[i] }).toMatchObject({ args, status: 2, stdout: '' });
      expect(said[i]?.stderr).toMatch(/^dibs: .*\nAdd --help to see what it takes\.\n$/);
    }
    await keys('create', 'a', '--scope', 'read');
    const refused = [
      [['create', 'a', '--scope', 'read'], 'has the name "a"'],
      [['create', 'b', '--scope', 'write'], 'must be some of produce'],
      [['create', 'b', '--scope', 'read', '--queue', '*x'], 'names of queues'],
      [['revoke', 'nobody'], 'no access key "nobody"'],
    ] as const;
    expect(await Promise.all(refused.map(([args]) => keys(...args)))).toMatchObject(
      refused.map(([, why]) => ({ status: 1, stdout: '', stderr: expect.stringContaining(why) })),
    );
    const away = await dibs({ DATABASE_URL: 'postgres://127.0.0.1:1/x' }, 'keys', 'list');
    expect(away).toMatchObject({ status: 1, stderr: expect.stringMatching(/^dibs: .*ECONNREFUSED.*\n$/) });
    expect(await keys('--help')).toMatchObject({ status: 0, stderr: expect.stringContaining('Usage') });
  });

  test('work on the embedded database before Dibs has ever run, while it runs, and after', async () => {
    const env = { DATA_DIR: join(directory.path, 'embedded') };
    const first = await dibs(env, 'keys', 'create', 'first', '--scope', 'admin', '--create');
    expect(first).toMatchObject({ status: 0 });
    const service = await startReplica(env);
    const second = await dibs(env, 'keys', 'create', 'second', '--scope', 'admin');
    expect(second).toMatchObject({ status: 0 });
    for (const { stdout } of [first, second]) expect(await look(service, stdout.trim())).toBe(200);
    await dibs(env, 'keys', 'revoke', 'first');
    await until(async () => (await look(service, first.stdout.trim())) === 401);
    await service.end('SIGTERM');
    expect((await dibs(env, 'keys', 'list')).stdout.match(/^(first|second) /gm)).toHaveLength(2);
  });

  test('make a database only when they are told to: beside the Dibs that is meant, a new one would be of no use', async () => {
    const DATABASE_URL = await database(createEmptyDatabase);
    const DATA_DIR = join(directory.path, 'elsewhere');
    const create = ['keys', 'create', 'a', '--scope', 'admin'];
    const lines = [create, ['keys', 'list'], ['keys', 'revoke', 'a'], ['export', '-'], ['import', '-']];
    const envs: Record<string, string>[] = [{ DATABASE_URL }, { DATA_DIR }];
    const tries = lines.flatMap((args) => envs.map((env) => ({ args, env })));
    const said = await Promise.all(tries.map(({ args, env }) => dibs(env, ...args)));
    for (const [i, one] of tries.entries())
      expect({ ...one, ...said[i] }).toMatchObject({
        ...one,
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/^dibs: .*Name the DATABASE_URL or the DATA_DIR .*--create/),
      });
    expect(existsSync(DATA_DIR)).toBe(false);
    const schemas = await onServer(DATABASE_URL, "select from pg_namespace where nspname = 'dibs'");
    expect(schemas).toHaveLength(0);
    expect(await dibs({ DATABASE_URL }, ...create, '--create')).toMatchObject({ status: 0 });
    expect(await dibs({ DATABASE_URL }, 'keys', 'list')).toMatchObject({ status: 0 });
  });

  test('say that the first key closes Dibs to its maker, when it cannot make others', async () => {
    const DATABASE_URL = await database();
    const create = (name: string) => dibs({ DATABASE_URL }, 'keys', 'create', name, '--scope', 'produce');
    const first = await create('first');
    expect(first.stdout.trim()).toMatch(KEY_PATTERN);
    expect(first.stderr).toMatch(/^This is the first access key: .*dibs keys create admin --scope admin/);
    expect(await create('second')).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('an address that others reach', () => {
  const others = { HOST: '0.0.0.0' };

  test('is served only when there is a key, or AUTH says how it is meant', async () => {
    const DATABASE_URL = await database();
    const [{ status, stderr }, ...both] = await Promise.all([
      dibs({ ...others, DATABASE_URL }, 'serve'),
      ...['off', 'keys'].map((AUTH) => replica({ ...others, DATABASE_URL, AUTH })),
    ]);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^dibs: HOST=0\.0\.0\.0 [^\n]*dibs keys create[^\n]*ADMIN_KEY_FILE[^\n]*AUTH=off[^\n]*\n$/,
    );
    expect(await Promise.all(both.map((service) => look(service)))).toEqual([200, 401]);
    const { stdout } = await dibs({ DATABASE_URL }, 'keys', 'create', 'admin', '--scope', 'admin');
    const service = await replica({ ...others, DATABASE_URL });
    expect(await look(service)).toBe(401);
    expect(await look(service, stdout.trim())).toBe(200);
  });
});

describe('ADMIN_KEY_FILE', () => {
  const file = () => join(directory.path, `key-${Math.random()}`);

  function fileWith(text: string, mode = 0o600): string {
    const path = file();
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  }

  test('holds a key of --print-only, which may do everything on every replica; nobody else gets in', async () => {
    const { stdout } = await dibs({ DATABASE_URL: 'nonsense' }, 'keys', 'create', '--print-only');
    const key = stdout.trim();
    expect(typoIn(key)).toBe(undefined);
    const env = { DATABASE_URL: await database(), ADMIN_KEY_FILE: fileWith(stdout), HOST: '0.0.0.0' };
    const services = await Promise.all([replica(env), replica(env)]);
    for (const service of services) {
      expect(await look(service, key)).toBe(200);
      expect(await look(service)).toBe(401);
      expect(service.lines.join('\n')).not.toContain('ADMIN_KEY_FILE');
    }
    const [row, ...more] = await onServer(env.DATABASE_URL, 'select id from dibs.access_keys');
    expect(more).toEqual([]);
    // One replica has put it in, and that is in the audit.
    expect(await onServer(env.DATABASE_URL, 'select actor, verb, key_id from dibs.audit')).toEqual([
      { actor: 'ADMIN_KEY_FILE', verb: 'createKey', key_id: row?.id },
    ]);
  });

  test('stays revoked, and a warning says so', async () => {
    const key = newKey(newKeyId());
    const env = { DATABASE_URL: await database(), ADMIN_KEY_FILE: fileWith(key) };
    const first = await replica(env);
    const { body } = await http(first.url, 'GET', '/keys', undefined, { headers: bearer(key) });
    await http(first.url, 'DELETE', `/keys/${body.keys[0].id}`, undefined, { headers: bearer(key) });
    const second = await replica(env);
    expect(await look(second, key)).toBe(401);
    expect(second.lines.join('\n')).toContain('is not valid any more');
  });

  test('that others may read is warned about', async () => {
    const env = { DATABASE_URL: await database(), ADMIN_KEY_FILE: fileWith(newKey(newKeyId()), 0o644) };
    expect((await replica(env)).lines.join('\n')).toContain('its mode should be 600');
  });

  test('that is missing, or holds no key, ends the start with one line, which does not show what it holds', async () => {
    const DATABASE_URL = await database();
    const typo = withTypo(newKey(newKeyId()));
    const files = [
      [file(), 'ENOENT'],
      [directory.path, 'EISDIR|form|short'],
      [fileWith(''), 'cut short'],
      [fileWith(typo), 'checksum'],
      [fileWith('x'.repeat(5000)), 'cut short'],
    ] as const;
    const starts = await Promise.all(
      files.map(([ADMIN_KEY_FILE]) => dibs({ DATABASE_URL, ADMIN_KEY_FILE }, 'serve')),
    );
    for (const [i, { status, stderr }] of starts.entries()) {
      expect(status).toBe(1);
      expect(stderr).toMatch(new RegExp(`^dibs: ADMIN_KEY_FILE [^\\n]*(${files[i]?.[1]})[^\\n]*\\n$`));
      expect(stderr).not.toContain(typo.slice(40));
    }
  });
});

test('no line of the log has a secret in it, at level trace', async () => {
  const key = newKey(newKeyId());
  const path = join(directory.path, 'trace');
  writeFileSync(path, key);
  const env = { DATABASE_URL: await database(), ADMIN_KEY_FILE: path, LOG_LEVEL: 'trace' };
  const service = await replica(env);
  const headers = bearer(key);
  const call = (method: string, path: string, body?: unknown, authorization = headers.authorization) =>
    http(service.url, method, path, body, { headers: { authorization } });
  const made = (await call('POST', '/keys', { name: 'made', scopes: ['read'] })).body;
  const rotated = (await call('POST', `/keys/${made.id}/rotate`, { overlap_seconds: 5 })).body;
  const wrong = [newKey(made.id), newKey(newKeyId()), withTypo(key), key.slice(0, 80)];
  for (const text of [...wrong, made.key, rotated.key])
    await call('GET', '/queues', undefined, `Bearer ${text}`);
  await call('GET', '/queues', undefined, `Basic ${key}`);
  await call('POST', '/jobs', { queue: key, payload: 1 });
  await call('POST', '/keys', { name: key, scopes: [key] });
  await call('DELETE', `/keys/${made.id}`);
  await until(() => service.lines.some((line) => line.includes('the secret in the key is wrong')));
  await service.end('SIGTERM');
  const log = service.lines.join('\n');
  expect(log).toContain('"verb":"rotateKey"');
  expect(log).toContain(made.id);
  for (const secret of [key, made.key, rotated.key, ...wrong])
    expect(log).not.toContain(secret.slice(37, 70));
});
