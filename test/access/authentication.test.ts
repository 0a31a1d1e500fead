import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAccess, type RefusedCredential } from '../../src/access/access.ts';
import { keyAdmin } from '../../src/access/keyAdmin.ts';
import { newKey, newKeyId } from '../../src/access/keyFormat.ts';
import { createKeys } from '../../src/access/keys.ts';
import { createRefusedLog } from '../../src/access/refusedLog.ts';
import { ANYBODY, type Caller } from '../../src/caller.ts';
import { unauthorized, unavailable } from '../../src/errors.ts';
import { databaseClock } from '../../src/postgres/clock.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { counting } from '../support/counting.ts';
import { createDatabase } from '../support/database.ts';
import { bearer, withKeys, withTypo } from '../support/keys.ts';
import { type Service, startService } from '../support/service.ts';

describe('what a client shows', () => {
  let service: Service;
  let keys: Awaited<ReturnType<typeof withKeys>>;
  beforeAll(async () => {
    service = await startService();
    keys = await withKeys(service);
  });
  afterAll(() => service.stop());
  beforeEach(() => service.refused.splice(0));

  const look = (headers: Record<string, string>) => service.call('GET', '/queues', undefined, headers);
  const reason = () => service.refused.map(({ reason }) => reason);

  test('a valid key is let in; the scheme has any case, and spaces may follow it', async () => {
    for (const authorization of [`Bearer ${keys.admin}`, `bearer ${keys.admin}`, `BEARER   ${keys.admin}`])
      expect(await look({ authorization })).toMatchObject({ status: 200 });
    expect(service.refused).toEqual([]);
  });

  test('everything else is 401 with the same answer, and its reason is for the log', async () => {
    const revoked = await keys.create({ name: 'revoked', scopes: ['read'] });
    await service.call('DELETE', `/keys/${revoked.id}`, undefined, keys.as);
    const expired = await keys.create({ name: 'expired', scopes: ['read'], expires_in_seconds: 1 });
    await expect.poll(async () => (await look(bearer(expired.key))).status, { timeout: 30_000 }).toBe(401);
    const wrongSecret = newKey((await keys.create({ name: 'wrong', scopes: ['read'] })).id);
    const cases: [Record<string, string>, string][] = [
      [{}, 'there is no Authorization'],
      [{ authorization: '' }, 'another scheme'],
      [{ authorization: 'Bearer' }, 'another scheme'],
      [{ authorization: 'Bearer ' }, 'no key of Dibs'],
      [{ authorization: `Basic ${btoa('user:password')}` }, 'another scheme'],
      [{ authorization: keys.admin }, 'another scheme'],
      [{ authorization: `Bearer x ${keys.admin}` }, 'no key of Dibs'],
      [{ authorization: `Bearer ${keys.admin} ${keys.admin}` }, 'form'],
      [{ authorization: `Bearer ${keys.admin}, Bearer ${keys.admin}` }, 'form'],
      [{ authorization: `Bearer ${keys.admin.slice(0, -1)}` }, 'cut short'],
      [{ authorization: 'Bearer dibs_' }, 'cut short'],
      [{ authorization: `Bearer ${withTypo(keys.admin)}` }, 'checksum'],
      [{ authorization: `Bearer ${keys.admin}0` }, 'form'],
      [{ authorization: `Bearer ${'x'.repeat(9000)}` }, 'too long'],
      [{ authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' }, 'no key of Dibs'],
      [bearer(newKey(newKeyId())), 'no key with this id'],
      [bearer(wrongSecret), 'secret in the key is wrong'],
      [bearer(revoked.key), 'revoked'],
      [bearer(expired.key), 'expired'],
    ];
    const details = new Set<string>();
    for (const [headers, why] of cases) {
      service.refused.splice(0);
      const { status, body, headers: answered } = await look(headers);
      expect({ headers, status, why: reason() }).toEqual({
        headers,
        status: 401,
        why: [expect.stringContaining(why)],
      });
      expect(body.code).toBe('unauthorized');
      expect(answered['www-authenticate']).toBe('Bearer realm="dibs"');
      details.add(JSON.stringify(body));
    }
    expect(details.size).toBe(1);
    expect(JSON.stringify(service.refused)).not.toContain(keys.admin.slice(37, 60));
  });

  test('two headers are 401, whichever of them is valid', async () => {
    const url = new URL(await service.listen());
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const { hostname, port } = url;
      const headers = [
        'Host',
        url.host,
        'Authorization',
        `Bearer ${keys.admin}`,
        'Authorization',
        `Bearer ${keys.admin}`,
      ];
      request({ hostname, port, path: '/queues', headers }, ({ statusCode }) => resolve(statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(401);
    expect(reason()).toEqual(['there are two headers Authorization']);
  });

  test('the caller is refused before its body is read', async () => {
    const { status } = await service.call('POST', '/jobs', '{"not json', {});
    expect(status).toBe(401);
  });

  test('health, the docs and the OpenAPI document need no key', async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs'])
      expect((await service.app.inject(path)).statusCode, path).toBeLessThan(400);
  });
});

describe('the keys in memory', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let db: Database;
  let admin: ReturnType<typeof keyAdmin>;
  let key: string;
  beforeAll(async () => {
    database = await createDatabase();
    db = openDatabase(database.url, 4);
    admin = keyAdmin({ db, changed: async () => undefined });
    key = (await admin.create({ name: 'known', scopes: ['read'], queues: ['mail.*'] })).key;
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  async function replica(options: { db?: Database } = {}) {
    const counted = counting(options.db ?? db);
    const keys = createKeys({ db: counted.db, clock: databaseClock(db) });
    if (!options.db) await keys.refresh();
    const refused: RefusedCredential[] = [];
    const access = createAccess({ auth: undefined, keys, refused: (why) => refused.push(why) });
    const identify = (token: string) => access.identify({ token, certificate: undefined });
    const statements = async (work: () => unknown) => {
      const before = counted.count();
      await work();
      return counted.count() - before;
    };
    return { keys, access, refused, identify, statements };
  }

  test('a known key is identified at once, without a statement, and always as the same caller', async () => {
    const { identify, statements } = await replica();
    const caller = identify(key) as Caller;
    expect(caller).not.toBeInstanceOf(Promise);
    expect(caller).toMatchObject({ name: 'known', everywhere: false });
    expect(caller.may('read') && !caller.may('produce') && caller.mayUse('mail.x')).toBe(true);
    const asked = await statements(() => {
      for (let i = 0; i < 1000; i++) expect(identify(key)).toBe(caller);
    });
    expect(asked).toBe(0);
  });

  test('a caller stays the same while other keys change, so that its verbs are not made again', async () => {
    const { keys, identify } = await replica();
    const caller = identify(key);
    await admin.create({ name: 'another', scopes: ['read'] });
    await keys.refresh();
    expect(identify(key)).toBe(caller);
  });

  test('a typo costs no statement', async () => {
    const { identify, statements, refused } = await replica();
    for (const typo of [withTypo(key), key.slice(0, 50), `${key}x`])
      expect(await statements(() => expect(() => identify(typo)).toThrow(/valid access key/))).toBe(0);
    expect(refused).toHaveLength(3);
  });

  test('an unknown id and a wrong secret take the same way: one look each, whose reason only the log tells', async () => {
    const { identify, statements, refused } = await replica();
    const { id } = await admin.create({ name: 'target', scopes: ['read'] });
    const unknown = await statements(() => expect(identify(newKey(newKeyId()))).rejects.toThrow());
    const wrong = await statements(() => expect(identify(newKey(id))).rejects.toThrow());
    // The first look finds that a key was created, and reads the keys.
    expect([unknown, wrong]).toEqual([2, 1]);
    const again = await statements(() => expect(identify(newKey(newKeyId()))).rejects.toThrow());
    expect(again).toBe(1);
    expect(refused.map(({ reason }) => reason)).toEqual([
      'there is no key with this id',
      'the secret in the key is wrong',
      'there is no key with this id',
    ]);
  });

  test('a thousand wrong keys at once share a look', async () => {
    const { identify, statements } = await replica();
    const asked = await statements(() =>
      Promise.all(
        Array.from({ length: 1000 }, () =>
          expect(identify(newKey(newKeyId()))).rejects.toThrow(/valid access key/),
        ),
      ),
    );
    expect(asked).toBe(1);
  });

  test('a key that another replica created a moment ago works at once', async () => {
    const { identify } = await replica();
    const made = await admin.create({ name: 'fresh', scopes: ['read'] });
    expect(await identify(made.key)).toMatchObject({ name: 'fresh' });
    expect(identify(made.key)).not.toBeInstanceOf(Promise);
  });

  test('while the database is away a known key is still known, and an unknown one is 503, not 401', async () => {
    let isAway = false;
    const failing: Database = {
      ...db,
      query: ((statement, parameters) =>
        isAway ? Promise.reject(unavailable()) : db.query(statement, parameters)) as Database['query'],
    };
    const { identify, keys } = await replica({ db: failing });
    await keys.refresh();
    isAway = true;
    expect(identify(key)).toMatchObject({ name: 'known' });
    await expect(identify(newKey(newKeyId()))).rejects.toMatchObject({ code: 'unavailable' });
    isAway = false;
    await expect(identify(newKey(newKeyId()))).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('as long as the keys were never read, nobody is let in without one', async () => {
    const { access, identify } = await replica({ db });
    expect(access.isOpen()).toBe(false);
    const nothing = { token: undefined, certificate: undefined };
    expect(() => access.identify(nothing)).toThrow(/valid access key/);
    expect(await identify(key)).toMatchObject({ name: 'known' });
  });

  test('the name in a verified certificate stands for the key of that name; a header goes before it', async () => {
    const { access, refused } = await replica();
    const made = await admin.create({ name: 'by certificate', scopes: ['read'] });
    const show = (certificate: string, token?: string) => access.identify({ token, certificate });
    expect(await show('by certificate')).toMatchObject({ id: made.id });
    expect(show('by certificate')).not.toBeInstanceOf(Promise);
    expect(show('by certificate', key)).toMatchObject({ name: 'known' });
    await expect(show('nobody')).rejects.toMatchObject(unauthorized());
    await admin.revoke({ id: made.id });
    await expect(show('nobody')).rejects.toMatchObject(unauthorized());
    await expect(show('by certificate')).rejects.toMatchObject(unauthorized());
    expect(refused).toHaveLength(3);
  });

  test('a bearer that is no key goes to the tokens of an issuer, where there is one', async () => {
    const { keys } = await replica();
    const seen: string[] = [];
    const access = createAccess({
      auth: undefined,
      keys,
      tokens: {
        known: (token) => (token === 'known.to.us' ? { use: () => ANYBODY } : undefined),
        identify: async (token) => {
          seen.push(token);
          return ANYBODY;
        },
      },
      refused: () => undefined,
    });
    const show = (token: string) => access.identify({ token, certificate: undefined });
    expect(show('known.to.us')).toBe(ANYBODY);
    expect(await show('a.b.c')).toBe(ANYBODY);
    expect(seen).toEqual(['a.b.c']);
    expect(show(key)).toMatchObject({ name: 'known' });
    expect(() => show(withTypo(key))).toThrow();
    expect(seen).toEqual(['a.b.c']);
  });
});

describe('AUTH', () => {
  test('unset: nobody needs a key until there is one, and web pages are checked until then', async () => {
    const service = await startService({ webPages: { hosts: [], origins: [] } });
    const page = { origin: 'https://elsewhere.example' };
    expect(await service.call('GET', '/queues')).toMatchObject({ status: 200 });
    expect(await service.call('GET', '/queues', undefined, page)).toMatchObject({ status: 403 });
    const { as } = await withKeys(service);
    expect(await service.call('GET', '/queues')).toMatchObject({ status: 401 });
    expect(await service.call('GET', '/queues', undefined, { ...as, ...page })).toMatchObject({
      status: 200,
    });
    await service.stop();
  });

  test('unset: Dibs is never open again, also when the last key is revoked, or gone from the table', async () => {
    const service = await startService();
    const { as } = await withKeys(service);
    const { keys } = (await service.call('GET', '/keys', undefined, as)).body;
    await service.call('DELETE', `/keys/${keys[0].id}`, undefined, as);
    expect(await service.call('GET', '/queues')).toMatchObject({ status: 401 });
    const other = await startService({ databaseUrl: service.databaseUrl });
    expect(await other.call('GET', '/queues')).toMatchObject({ status: 401 });
    await other.stop();
    await service.stop();
  });

  test('unset: before there is a key, whatever Authorization says changes nothing', async () => {
    const service = await startService();
    for (const authorization of ['Basic eDp5', 'Bearer x', `Bearer ${newKey(newKeyId())}`, ''])
      expect(await service.call('GET', '/queues', undefined, { authorization })).toMatchObject({
        status: 200,
      });
    await service.stop();
  });

  test('keys: always needed', async () => {
    const service = await startService({ auth: 'keys' });
    expect(await service.call('GET', '/queues')).toMatchObject({ status: 401 });
    const { key } = await service.engine.createKey({ name: 'first', scopes: ['read'] });
    expect(await service.call('GET', '/queues', undefined, bearer(key))).toMatchObject({ status: 200 });
    await service.stop();
  });

  test('off: nobody needs one, and nobody looks at it', async () => {
    const service = await startService({ auth: 'off' });
    await withKeys(service);
    expect(await service.call('GET', '/queues')).toMatchObject({ status: 200 });
    expect(await service.call('GET', '/queues', undefined, { authorization: 'Basic x' })).toMatchObject({
      status: 200,
    });
    await service.stop();
  });
});

test('the log has one line for each reason in 10 s, which counts the others', () => {
  const lines: object[] = [];
  const refused = createRefusedLog((fields) => lines.push(fields));
  for (let i = 0; i < 1000; i++) refused({ reason: 'a', key_id: `${i}` });
  refused({ reason: 'b' });
  expect(lines).toEqual([
    { reason: 'a', key_id: '0', times: 1 },
    { reason: 'b', times: 1 },
  ]);
});
