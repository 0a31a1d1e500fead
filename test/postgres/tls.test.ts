import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cancel } from '../../src/postgres/cancel.ts';
import { connectionOptions, tryConnection } from '../../src/postgres/connection.ts';
import { isUntrusted } from '../../src/postgres/errorClasses.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { planned } from '../../src/postgres/statements.ts';
import { certificateMaker, type Pair } from '../support/certificates.ts';
import { openClient } from '../support/database.ts';
import { tlsPostgres } from '../support/tlsPostgres.ts';
import { until } from '../support/until.ts';

let maker: Awaited<ReturnType<typeof certificateMaker>>;
let server: Awaited<ReturnType<typeof tlsPostgres>>;
let ca: Pair;
let stranger: Pair;
/** Certificates of the server: for its address, for another host, signed by itself, and expired. */
let certificates: Record<'right' | 'elsewhere' | 'selfSigned' | 'expired', Pair>;
let client: Pair;
beforeAll(async () => {
  maker = await certificateMaker();
  ca = maker.authority('Dibs tests');
  stranger = maker.authority('Stranger');
  const names = ['IP:127.0.0.1'];
  certificates = {
    right: maker.signed(ca, { subject: '/CN=postgres', names }),
    elsewhere: maker.signed(ca, { subject: '/CN=db.example', names: ['DNS:db.example'] }),
    selfSigned: maker.authority('postgres'),
    expired: maker.signed(ca, { subject: '/CN=postgres', names, expired: true }),
  };
  client = maker.signed(ca, { subject: '/CN=certified' });
  server = await tlsPostgres(certificates.right, ca);
}, 120_000);
afterAll(async () => {
  await server.stop();
  await maker.remove();
});

/** There are several codes for a certificate that no known authority has signed. */
const UNTRUSTED = 'untrusted';
const WRONG_HOST = 'ERR_TLS_CERT_ALTNAME_INVALID';
const EXPIRED = 'CERT_HAS_EXPIRED';

/** 'TLS', or why there is no connection. */
async function outcome(url: string): Promise<string> {
  const connection = new pg.Client(connectionOptions(url));
  connection.on('error', () => undefined);
  try {
    await connection.connect();
    const { rows } = await connection.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
    return rows[0].ssl ? 'TLS' : 'plain';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const isOfOther = isUntrusted(error) && code !== WRONG_HOST && code !== EXPIRED;
    return isOfOther ? UNTRUSTED : (code ?? message);
  } finally {
    await connection.end().catch(() => undefined);
  }
}

/** Starts a long statement. It runs at the server then: a cancel request that comes before it would cancel nothing. */
async function startSleep(client: pg.Client): Promise<{ end: Promise<unknown> }> {
  const end = client.query('select pg_sleep(100)').catch((error) => error);
  const sleeping = "select 1 from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'";
  await until(async () => (await server.admin(sleeping)).length > 0);
  return { end };
}

describe('sslmode means what it means in libpq', () => {
  type Line = [string, boolean, keyof typeof certificates, string];
  // The mode, whether there is an sslrootcert, the certificate of the server, and what comes of it.
  const lines: Line[] = [
    ['disable', false, 'right', '28000'],
    ['require', false, 'right', 'TLS'],
    ['require', false, 'selfSigned', 'TLS'],
    ['require', false, 'elsewhere', 'TLS'],
    ['require', true, 'right', 'TLS'],
    ['require', true, 'elsewhere', 'TLS'],
    ['require', true, 'selfSigned', UNTRUSTED],
    ['verify-ca', true, 'right', 'TLS'],
    ['verify-ca', true, 'elsewhere', 'TLS'],
    ['verify-ca', true, 'selfSigned', UNTRUSTED],
    ['verify-ca', true, 'expired', EXPIRED],
    ['verify-full', true, 'right', 'TLS'],
    ['verify-full', true, 'elsewhere', WRONG_HOST],
    ['verify-full', true, 'selfSigned', UNTRUSTED],
    ['verify-full', true, 'expired', EXPIRED],
    ['verify-full', false, 'right', UNTRUSTED],
  ];
  const names = Object.keys({
    right: 1,
    elsewhere: 1,
    selfSigned: 1,
    expired: 1,
  }) as (keyof typeof certificates)[];
  describe.each(names)('with the certificate "%s"', (name) => {
    beforeAll(() => server.serve(certificates[name]));
    test.each(lines.filter(([, , certificate]) => certificate === name))(
      'sslmode=%s, sslrootcert %s, %s: %s',
      async (sslmode, hasCa, _, expected) => {
        const url = server.url({ sslmode, ...(hasCa ? { sslrootcert: ca.certPath } : {}) });
        expect(await outcome(url)).toBe(expected);
      },
    );
  });

  describe('and so', () => {
    beforeEach(() => server.serve(certificates.right));

    test('an authority that is not the server’s is refused', async () => {
      for (const sslmode of ['require', 'verify-ca', 'verify-full'])
        expect(await outcome(server.url({ sslmode, sslrootcert: stranger.certPath }))).toBe(UNTRUSTED);
    });

    test('a client certificate comes with sslcert and sslkey, and is needed where the server says so', async () => {
      const secure = { sslmode: 'verify-full', sslrootcert: ca.certPath };
      const pair = { sslcert: client.certPath, sslkey: client.keyPath };
      expect(await outcome(server.url({ ...secure, ...pair }, { role: 'certified' }))).toBe('TLS');
      expect(await outcome(server.url({ sslmode: 'require', ...pair }, { role: 'certified' }))).toBe('TLS');
      expect(await outcome(server.url(secure, { role: 'certified' }))).toBe('28000');
    });

    test('a handshake without a request for it works, and so does its cancel request', async () => {
      const url = server.url({ sslmode: 'verify-full', sslrootcert: ca.certPath, sslnegotiation: 'direct' });
      expect(await outcome(url)).toBe('TLS');
      const busy = await openClient({ ...connectionOptions(url), query_timeout: 0 });
      const slow = await startSleep(busy);
      cancel(busy, connectionOptions(url));
      expect(await slow.end).toMatchObject({ code: '57014' });
      await busy.end();
    });

    test('the driver’s own parameter changes nothing', async () => {
      for (const uselibpqcompat of ['true', 'false']) {
        expect(await outcome(server.url({ sslmode: 'require', uselibpqcompat }))).toBe('TLS');
        expect(
          await outcome(
            server.url({ sslmode: 'verify-full', sslrootcert: stranger.certPath, uselibpqcompat }),
          ),
        ).toBe(UNTRUSTED);
      }
    });
  });
});

describe('every connection', () => {
  const secure = () => server.url({ sslmode: 'verify-full', sslrootcert: ca.certPath });
  beforeAll(() => server.serve(certificates.right));

  test('of the pool speaks TLS, and so does the one that migrates', async () => {
    await migrate(secure());
    const database = openDatabase(secure(), 2);
    const readiness = planned('postgres/readiness');
    expect((await database.query(readiness))[0]).toMatchObject({ has_jobs: true });
    await database.close();
  });

  test('for a cancel request speaks TLS, and the request takes effect', async () => {
    /** What is sent to the server, by connection. */
    const sent: Buffer[][] = [];
    const relay = createServer((near) => {
      const far = connect(Number(new URL(secure()).port), '127.0.0.1');
      const bytes: Buffer[] = [];
      sent.push(bytes);
      near.on('data', (chunk) => bytes.push(chunk));
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => near.destroy() && far.destroy());
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const url = new URL(secure());
    url.port = String((relay.address() as AddressInfo).port);

    const options = connectionOptions(url.href);
    const busy = await openClient({ ...options, query_timeout: 0 });
    const slow = await startSleep(busy);
    cancel(busy, options);
    expect(await slow.end).toMatchObject({ code: '57014' });
    await busy.end();
    expect(sent.length).toBe(2);
    for (const chunks of sent) {
      // SSLRequest, and then a handshake of TLS (record type 22).
      const bytes = Buffer.concat(chunks);
      expect([0, 4].map((at) => bytes.readInt32BE(at))).toEqual([8, 80877103]);
      expect(bytes[8]).toBe(22);
    }
    relay.close();
  });

  test('for a cancel request checks the certificate before it sends the key', async () => {
    await server.serve(certificates.selfSigned);
    const lenient = connectionOptions(server.url({ sslmode: 'require' }));
    const busy = await openClient({ ...lenient, query_timeout: 0 });
    const slow = await startSleep(busy);
    cancel(busy, connectionOptions(secure()));
    const first = await Promise.race([
      slow.end,
      new Promise((resolve) => setTimeout(resolve, 1000, 'still runs')),
    ]);
    expect(first).toBe('still runs');
    cancel(busy, lenient);
    expect(await slow.end).toMatchObject({ code: '57014' });
    await busy.end();
    await server.serve(certificates.right);
  });

  test('reads the files again: a renewed authority needs no restart, and a broken file leaves the old one in use', async () => {
    const path = join(maker.path, 'renewed.crt');
    copyFileSync(stranger.certPath, path);
    const url = server.url({ sslmode: 'verify-full', sslrootcert: path });
    const database = openDatabase(url, 2);
    const readiness = planned('postgres/readiness');
    await expect(database.query(readiness)).rejects.toMatchObject({
      code: 'unavailable',
      outcome: 'not_done',
    });
    copyFileSync(ca.certPath, path);
    expect((await database.query(readiness)).length).toBe(1);
    copyFileSync(ca.keyPath, path);
    await tryConnection(url);
    await database.close();
  });
});

test('a server without TLS is refused', async () => {
  await server.speak(false);
  for (const sslmode of ['require', 'verify-full'])
    expect(await outcome(server.url({ sslmode }))).toBe('The server does not support SSL connections');
  await server.speak(true);
});
