import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEY_PATTERN } from '../../src/access/keyFormat.ts';
import { onServer } from '../support/database.ts';
import { bearer, withKeys } from '../support/keys.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let keys: Awaited<ReturnType<typeof withKeys>>;
beforeAll(async () => {
  service = await startService();
  keys = await withKeys(service);
});
afterAll(() => service.stop());

const UNKNOWN = '01a1fd45-3ed9-708c-acfd-71cdf5000001';
const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown, key = keys.admin) =>
  service.call(method, path, body, bearer(key));
const list = async () =>
  (await call('GET', '/keys?limit=1000')).body.keys as {
    id: string;
    name: string;
    revoked_at: string | null;
  }[];
const look = (key: string) => call('GET', '/queues', undefined, key);
const sql = (text: string, values?: unknown[]) => onServer(service.databaseUrl, text, values);

describe('POST /keys', () => {
  test('answers 201 with the key, once, which no cache may keep', async () => {
    const fields = { name: 'one', scopes: ['produce', 'read'], queues: ['mail', 'reports.*'] };
    const { status, headers, body } = await call('POST', '/keys', fields);
    expect(status).toBe(201);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers.location).toBe(undefined);
    const { key, ...shown } = body;
    expect(key).toMatch(KEY_PATTERN);
    expect(shown).toEqual({
      ...fields,
      id: expect.any(String),
      created_at: expect.any(String),
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
      old_key_expires_at: null,
    });
    expect((await list()).find(({ id }) => id === body.id)).toEqual(shown);
  });

  test('the first one must be able to make others, or it would lock everybody out; later ones need not', async () => {
    const open = await startService();
    const create = (scopes: string[], queues?: string[]) =>
      open.call('POST', '/keys', { name: 'first', scopes, ...(queues && { queues }) });
    for (const refused of [await create(['produce', 'read']), await create(['admin'], ['mail.*'])]) {
      expect(refused.status).toBe(400);
      expect(refused.body.errors[0]).toMatchObject({ in: 'body', path: '/scopes' });
    }
    // Nothing was created: nobody needs a key yet.
    expect((await open.call('GET', '/queues')).status).toBe(200);
    const { status, body } = await create(['admin', 'read']);
    expect(status).toBe(201);
    const next = { name: 'next', scopes: ['produce'] };
    expect((await open.call('POST', '/keys', next, bearer(body.key))).status).toBe(201);
    await open.stop();
  });

  test('with AUTH=off, where no key counts, the first one may have any scope', async () => {
    const open = await startService({ auth: 'off' });
    expect((await open.call('POST', '/keys', { name: 'first', scopes: ['read'] })).status).toBe(201);
    await open.stop();
  });

  test('only the SHA-256 of a key is in the database', async () => {
    const { key } = await keys.create({ name: 'hashed', scopes: ['read'] });
    const [{ text }] = (await sql(
      "select string_agg(k::text, '') || string_agg(encode(hash, 'escape'), '') as text from dibs.access_keys k",
    )) as [{ text: string }];
    expect(text).not.toContain(key.slice(37, 60));
    const rows = await sql("select from dibs.access_keys where hash = sha256(convert_to($1, 'UTF8'))", [key]);
    expect(rows).toHaveLength(1);
  });

  test('a key is for all queues, and has no end, unless it says', async () => {
    const made = await keys.create({ name: 'plain', scopes: ['read'] });
    expect(made).toMatchObject({ queues: ['*'], expires_at: null });
  });

  test.each([
    [{ scopes: ['read'] }, '/name'],
    [{ name: 'a' }, '/scopes'],
    [{ name: '', scopes: ['read'] }, '/name'],
    [{ name: ' a', scopes: ['read'] }, '/name'],
    [{ name: 'a\nb', scopes: ['read'] }, '/name'],
    [{ name: 'a'.repeat(129), scopes: ['read'] }, '/name'],
    [{ name: 'a', scopes: [] }, '/scopes'],
    [{ name: 'a', scopes: ['write'] }, '/scopes/0'],
    [{ name: 'a', scopes: ['read', 'read'] }, '/scopes'],
    [{ name: 'a', scopes: ['read'], queues: [] }, '/queues'],
    [{ name: 'a', scopes: ['read'], queues: ['*.mail'] }, '/queues/0'],
    [{ name: 'a', scopes: ['read'], queues: ['mail**'] }, '/queues/0'],
    [{ name: 'a', scopes: ['read'], queues: Array.from({ length: 65 }, (_, i) => `q${i}`) }, '/queues'],
    [{ name: 'a', scopes: ['read'], expires_in_seconds: 0 }, '/expires_in_seconds'],
    [{ name: 'a', scopes: ['read'], expires_in_seconds: 367 * 86_400 }, '/expires_in_seconds'],
    [{ name: 'a', scopes: ['read'], expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
    [{ name: 'a', scopes: ['read'], expires_at: '2220-01-01T00:00:00Z' }, '/expires_at'],
    [{ name: 'a', scopes: ['read'], expires_at: '2220-01-01T00:00:00' }, '/expires_at'],
    [
      { name: 'a', scopes: ['read'], expires_at: '2220-01-01T00:00:00Z', expires_in_seconds: 5 },
      '/expires_at',
    ],
    [{ name: 'a', scopes: ['read'], key: 'mine' }, '/key'],
  ])('%j is 400', async (fields, path) => {
    const { status, body } = await call('POST', '/keys', fields);
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ in: 'body', path }]);
  });

  test('ends at a time with any offset that RFC 3339 knows', async () => {
    const end = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19);
    const there = new Date(Date.parse(`${end}Z`) + 22.5 * 3_600_000).toISOString().slice(0, 19);
    const { expires_at } = await keys.create({
      name: 'far east',
      scopes: ['read'],
      expires_at: `${there}+22:30`,
    });
    expect(expires_at).toBe(`${end}.000Z`);
  });

  test('64 patterns are allowed, and a name of 128 characters', async () => {
    const queues = Array.from({ length: 64 }, (_, i) => `q${i}.*`);
    const made = await keys.create({ name: 'n'.repeat(128), scopes: ['read'], queues });
    expect(made.queues).toEqual(queues);
  });

  test('a name that another key has is 409, until that key is revoked', async () => {
    const { id } = await keys.create({ name: 'taken', scopes: ['read'] });
    const again = () => call('POST', '/keys', { name: 'taken', scopes: ['read'] });
    expect(await again()).toMatchObject({ status: 409, body: { code: 'key_name_taken' } });
    await call('DELETE', `/keys/${id}`);
    expect(await again()).toMatchObject({ status: 201 });
  });

  test('of keys with one name that are created at once, one is', async () => {
    const create = () => call('POST', '/keys', { name: 'race', scopes: ['read'] });
    const answers = await Promise.all(Array.from({ length: 8 }, create));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });
});

describe('GET /keys', () => {
  test('shows keys in pages, oldest first, and never a key or a hash', async () => {
    const made = [];
    for (let i = 0; i < 3; i++) made.push(await keys.create({ name: `page ${i}`, scopes: ['read'] }));
    const names: string[] = [];
    for (let cursor = ''; ; ) {
      const { status, body, text } = await call('GET', `/keys?limit=2${cursor}`);
      expect(status).toBe(200);
      expect(text).not.toMatch(/dibs_|"\w*hash"/);
      names.push(...body.keys.map(({ name }: { name: string }) => name));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(names).toEqual((await list()).map(({ name }) => name));
    expect(names.slice(-3)).toEqual(['page 0', 'page 1', 'page 2']);
  });

  test('a cursor of another list is 400', async () => {
    const { body } = await call('GET', '/keys?limit=1');
    expect(await call('GET', `/queues?cursor=${body.next_cursor}`)).toMatchObject({ status: 400 });
    expect(await call('GET', '/keys?cursor=nonsense')).toMatchObject({ status: 400 });
  });
});

describe('DELETE /keys/{id}', () => {
  test('revokes: the key is refused at once on this replica, and stays in the list', async () => {
    const { id, key } = await keys.create({ name: 'revoked', scopes: ['read'] });
    expect(await look(key)).toMatchObject({ status: 200 });
    expect(await call('DELETE', `/keys/${id}`)).toMatchObject({ status: 204, text: '' });
    expect(await look(key)).toMatchObject({ status: 401 });
    const revokedAt = async () => (await list()).find((it) => it.id === id)?.revoked_at;
    const at = await revokedAt();
    expect(at).toEqual(expect.any(String));
    expect(await call('DELETE', `/keys/${id}`)).toMatchObject({ status: 204 });
    expect(await revokedAt()).toBe(at);
  });

  test.each([UNKNOWN, 'nonsense', '%00'])('an unknown id is 404: %s', async (id) => {
    expect(await call('DELETE', `/keys/${id}`)).toMatchObject({
      status: 404,
      body: { code: 'key_not_found' },
    });
  });
});

describe('POST /keys/{id}/rotate', () => {
  test('gives a new key with the same id, name, scopes and queues; without an overlap, the old one is refused', async () => {
    const { key: old, ...made } = await keys.create({ name: 'rotated', scopes: ['read'], queues: ['a*'] });
    const { status, headers, body } = await call('POST', `/keys/${made.id}/rotate`, { overlap_seconds: 0 });
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    const { key, ...shown } = body;
    expect(shown).toEqual(made);
    expect(key).not.toBe(old);
    expect(await look(key)).toMatchObject({ status: 200 });
    expect(await look(old)).toMatchObject({ status: 401 });
  });

  test('the old key goes on for an hour, if nothing else is said', async () => {
    const { id, key: old } = await keys.create({ name: 'an hour', scopes: ['read'] });
    const { body } = await call('POST', `/keys/${id}/rotate`, {});
    expect(await look(old)).toMatchObject({ status: 200 });
    expect(Date.parse(body.old_key_expires_at) - Date.now()).toBeGreaterThan(3_000_000);
    expect(Date.parse(body.old_key_expires_at) - Date.now()).toBeLessThan(4_200_000);
  });

  test('with an overlap, the old key goes on for so long beside the new one', async () => {
    const { id, key: old } = await keys.create({ name: 'overlap', scopes: ['read'] });
    const { body } = await call('POST', `/keys/${id}/rotate`, { overlap_seconds: 1.5 });
    const ends = Date.parse(body.old_key_expires_at);
    const before = await look(old);
    if (Date.now() < ends - 500) expect(before).toMatchObject({ status: 200 });
    expect(await look(body.key)).toMatchObject({ status: 200 });
    await until(async () => (await look(old)).status === 401, { what: 'the end of the overlap' });
    expect(Date.now()).toBeGreaterThan(ends - 100);
    expect(await look(body.key)).toMatchObject({ status: 200 });
  });

  test('a second rotation ends the key from before the first', async () => {
    const { id, key: first } = await keys.create({ name: 'twice', scopes: ['read'] });
    const rotate = async () => (await call('POST', `/keys/${id}/rotate`, { overlap_seconds: 600 })).body.key;
    const second = await rotate();
    expect(await look(first)).toMatchObject({ status: 200 });
    const third = await rotate();
    expect(await look(first)).toMatchObject({ status: 401 });
    for (const key of [second, third]) expect(await look(key)).toMatchObject({ status: 200 });
    await call('DELETE', `/keys/${id}`);
    for (const key of [second, third]) expect(await look(key)).toMatchObject({ status: 401 });
  });

  test('an unknown or revoked key is 404, and a rotation without a body 400', async () => {
    const { id } = await keys.create({ name: 'gone', scopes: ['read'] });
    expect(await call('POST', `/keys/${id}/rotate`)).toMatchObject({ status: 400 });
    await call('DELETE', `/keys/${id}`);
    for (const unknown of [id, UNKNOWN, 'nonsense'])
      expect(await call('POST', `/keys/${unknown}/rotate`, {})).toMatchObject({
        status: 404,
        body: { code: 'key_not_found' },
      });
  });
});

describe('a key', () => {
  test('ends when it says, by the clock of the database', async () => {
    const { key, expires_at } = await keys.create({ name: 'ends', scopes: ['read'], expires_in_seconds: 3 });
    await until(async () => (await look(key)).status === 401, { what: 'the end of the key' });
    // On a slow machine, a replica knows the time of the database less exactly: to half of a round trip.
    const [{ over }] = (await sql("select now() >= $1::timestamptz - interval '1 second' as over", [
      expires_at,
    ])) as [{ over: boolean }];
    expect(over).toBe(true);
    const soon = new Date(Date.now() + 60_000).toISOString();
    const later = await keys.create({ name: 'ends later', scopes: ['read'], expires_at: soon });
    expect(later.expires_at).toBe(soon);
    expect(await look(later.key)).toMatchObject({ status: 200 });
  });

  test('tells the minute of its last use, soon after', async () => {
    const { id, key } = await keys.create({ name: 'used', scopes: ['read'] });
    const asked = Date.now();
    await look(key);
    const used = await until(
      async () =>
        ((await list()).find((it) => it.id === id) as unknown as { last_used_at: string }).last_used_at,
      { what: 'the last use' },
    );
    expect(used).toMatch(/:00\.000Z$/);
    expect(Date.parse(used)).toBeGreaterThan(asked - 60_000);
    expect(Date.parse(used)).toBeLessThanOrEqual(Date.now());
  });

  test('its last use changes nothing that replicas would read again', async () => {
    const version = async () => (await sql('select version from dibs.access_state'))[0];
    const before = await version();
    await look((await keys.create({ name: 'quiet', scopes: ['read'] })).key);
    const made = await version();
    expect(made).not.toEqual(before);
    await sql('update dibs.access_keys set last_used_at = null');
    await look(keys.admin);
    await until(
      async () => (await sql('select from dibs.access_keys where last_used_at is not null')).length > 0,
    );
    expect(await version()).toEqual(made);
  });
});

describe('who manages keys', () => {
  test.each([
    { scopes: ['produce', 'consume', 'read'], queues: ['*'] },
    { scopes: ['admin'], queues: ['mail.*'] },
    { scopes: ['admin'], queues: ['mail', 'm*'] },
  ])('needs admin and all queues: $scopes for $queues may not', async (grant) => {
    const { id, key } = await keys.create({ name: JSON.stringify(grant).replaceAll('"', ''), ...grant });
    const tries = [
      call('GET', '/keys', undefined, key),
      call('POST', '/keys', { name: 'wider', scopes: ['admin'] }, key),
      call('POST', `/keys/${id}/rotate`, {}, key),
      call('DELETE', `/keys/${id}`, undefined, key),
    ];
    for (const answer of await Promise.all(tries)) expect(answer.body.code).toBe('forbidden');
    expect((await list()).map(({ name }) => name)).not.toContain('wider');
  });
});

describe('old keys', () => {
  test('are pruned 7 days after they were revoked or expired; those of ADMIN_KEY_FILE stay', async () => {
    const add = (name: string, columns: string, values: string) =>
      sql(
        `insert into dibs.access_keys (id, name, hash, scopes, queues, ${columns})
         values (gen_random_uuid(), $1, sha256(gen_random_uuid()::text::bytea), '{read}', '{*}', ${values})`,
        [name],
      );
    // Their time comes while replicas serve. What was over before they looked, they find within 30 s only.
    await add('revoked long ago', 'revoked_at', "now() - interval '168 hours' + interval '1 second'");
    await add('expired long ago', 'expires_at', "now() - interval '168 hours' + interval '1 second'");
    await add('revoked lately', 'revoked_at', "now() - interval '167 hours'");
    await add('expired lately', 'expires_at', "now() - interval '167 hours'");
    await add('from a file', 'revoked_at, is_from_file', "now() - interval '169 hours', true");
    await add('alive', 'expires_at', "now() + interval '1 hour'");
    const left = async () => (await list()).map(({ name }) => name);
    /** A service where nothing is done deletes what nobody sees once a minute. */
    const keepAwake = () => call('PUT', '/schedules/awake', { cron: '0 0 1 1 *', job: { queue: 'awake' } });
    await until(
      async () => {
        await keepAwake();
        return !(await left()).some((name) => name.endsWith('long ago'));
      },
      { what: 'the pruner', everyMs: 200 },
    );
    await sleep(100);
    expect(await left()).toEqual(
      expect.arrayContaining(['revoked lately', 'expired lately', 'from a file', 'alive']),
    );
  });
});

test('the 10,001st key is refused, and a revoked one makes room', async () => {
  await sql(`insert into dibs.access_keys (id, name, hash, scopes, queues)
    select gen_random_uuid(), 'many ' || n, sha256(n::text::bytea), '{read}', '{*}'
    from generate_series(1, 10000 - (select count(*) from dibs.access_keys where revoked_at is null)) n`);
  const create = () => call('POST', '/keys', { name: 'one too many', scopes: ['read'] });
  expect(await create()).toMatchObject({ status: 409, body: { code: 'too_many_keys' } });
  const found = (await list()).find(({ name }) => name === 'plain') as { id: string };
  await call('DELETE', `/keys/${found.id}`);
  const made = await create();
  expect(made.status).toBe(201);
  expect(await look(made.body.key)).toMatchObject({ status: 200 });
});
