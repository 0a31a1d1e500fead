import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { newKey, newKeyId } from '../../src/access/keyFormat.ts';
import { certificateMaker, type Pair } from '../support/certificates.ts';
import { createDatabase } from '../support/database.ts';
import { GET, tlsClient } from '../support/https.ts';
import { ended, http, startReplica } from '../support/replica.ts';
import { textOf } from '../support/sources.ts';
import { tlsPostgres } from '../support/tlsPostgres.ts';
import { until } from '../support/until.ts';

// Each starts a process. So many at once are enough.
vi.setConfig({ maxConcurrency: 3 });

let maker: Awaited<ReturnType<typeof certificateMaker>>;
let ca: Pair;
let own: Pair;
beforeAll(async () => {
  maker = await certificateMaker();
  ca = maker.authority('Dibs tests');
  own = maker.signed(ca, { subject: '/CN=one', names: ['IP:127.0.0.1'] });
});
afterAll(() => maker.remove());

/** The exit code of the image's health check, on a replica at this URL. */
async function health(url: string, cert: string): Promise<number> {
  const [program, ...args] = JSON.parse(
    /HEALTHCHECK.*?CMD (\[.*?\])\n/s.exec(textOf('Dockerfile'))?.[1] ?? '',
  );
  const child = spawn(program, args, { env: { ...process.env, PORT: new URL(url).port, TLS_CERT: cert } });
  return (await once(child, 'close'))[0];
}

describe('a replica with TLS_CERT and TLS_KEY', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  /** A folder as Kubernetes mounts a secret: its files lead to a folder that one rename replaces. */
  function secret(folder: string, first: Pair) {
    let version = 0;
    function put({ cert, key }: Pair): void {
      const data = `..data_${++version}`;
      mkdirSync(join(folder, data), { recursive: true });
      writeFileSync(join(folder, data, 'tls.crt'), cert);
      writeFileSync(join(folder, data, 'tls.key'), key);
      symlinkSync(data, join(folder, '..data_new'));
      renameSync(join(folder, '..data_new'), join(folder, '..data'));
    }
    put(first);
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name));
    return { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), put };
  }

  test.concurrent('serves HTTPS, takes a renewed Kubernetes secret without a restart, and stops in time', async () => {
    const { cert, key, put } = secret(join(maker.path, 'secret'), own);
    const replica = await startReplica({ DATABASE_URL: database.url, TLS_CERT: cert, TLS_KEY: key });
    expect(replica.url).toMatch(/^https:/);
    const served = async () => {
      const client = tlsClient(replica.url, '', { ca: ca.cert, rejectUnauthorized: true });
      await once(client.socket, 'secureConnect');
      const { CN } = client.socket.getPeerCertificate().subject;
      client.socket.write(GET('/readyz'));
      await client.closed;
      expect(client.answer).toMatch(/^HTTP\/1\.1 200/);
      return CN;
    };
    expect(await served()).toBe('one');
    put(maker.signed(ca, { subject: '/CN=two', names: ['IP:127.0.0.1'] }));
    await until(async () => (await served()) === 'two');

    const codes = [health(replica.url, cert), health('https://127.0.0.1:1', cert)];
    expect(await Promise.all(codes)).toEqual([0, 1]);

    // One that never begins its handshake, and one that waits.
    const { hostname, port } = new URL(replica.url);
    const silent = connect(Number(port), hostname).on('error', () => undefined);
    const body = '{"queues":["a"],"wait_seconds":60}';
    const waiting = tlsClient(
      replica.url,
      `POST /jobs/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => silent.readyState === 'open' && waiting.socket.getProtocol() !== null);
    expect(await replica.end('SIGTERM')).toBe(0);
    expect(replica.lines.join('\n')).not.toContain('took longer');
    await waiting.closed;
    silent.destroy();
  });

  test.concurrent('and TLS_CLIENT_CA lets a client in by its certificate, with what the key of that name allows, and nobody else', async () => {
    const { url: databaseUrl, drop } = await createDatabase();
    const key = newKey(newKeyId());
    const keyFile = join(maker.path, 'admin.key');
    writeFileSync(keyFile, key, { mode: 0o600 });
    const replica = await startReplica({
      DATABASE_URL: databaseUrl,
      TLS_CERT: own.certPath,
      TLS_KEY: own.keyPath,
      TLS_CLIENT_CA: ca.certPath,
      ADMIN_KEY_FILE: keyFile,
    });
    const post = async (path: string, body: object, as: ConnectionOptions = {}, head = '') => {
      const text = JSON.stringify(body);
      const client = tlsClient(
        replica.url,
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n${head}` +
          `Content-Length: ${text.length}\r\n\r\n${text}`,
        as,
      );
      await client.closed;
      return Number(/^HTTP\/1\.1 (\d+)/.exec(client.answer)?.[1]);
    };
    const mailer = { name: 'mailer', scopes: ['produce'], queues: ['mail.*'] };
    expect(await post('/keys', mailer, {}, `Authorization: Bearer ${key}\r\n`)).toBe(201);
    const as = ({ cert, key }: Pair) => ({ cert, key });
    const byMailer = as(maker.signed(ca, { subject: '/CN=mailer' }));
    expect(await post('/jobs', { queue: 'mail.out' }, byMailer)).toBe(201);
    expect(await post('/jobs', { queue: 'bank' }, byMailer)).toBe(403);
    expect(await post('/jobs/claim', { queues: ['mail.out'] }, byMailer)).toBe(403);
    for (const stranger of [
      {},
      as(maker.signed(ca, { subject: '/CN=nobody' })),
      as(maker.signed(maker.authority('Evil'), { subject: '/CN=mailer' })),
    ])
      expect(await post('/jobs', { queue: 'mail.out' }, stranger)).toBe(401);
    await replica.end('SIGTERM');
    await drop();
  });

  test.concurrent.each([
    [
      'a file that is not there',
      () => ({ TLS_CERT: own.certPath, TLS_KEY: '/nowhere' }),
      /^dibs: TLS_KEY=\/nowhere cannot be read: .*\n$/,
    ],
    [
      'a key of another certificate',
      () => ({ TLS_CERT: own.certPath, TLS_KEY: ca.keyPath }),
      /^dibs: TLS_CERT=.* do not work together: .*\n$/,
    ],
    ['a certificate without a key', () => ({ TLS_CERT: own.certPath }), /^dibs: TLS_KEY is missing.*\n$/],
  ] as [string, () => Record<string, string>, RegExp][])(
    'does not start with %s, and says so in one line',
    async (_, env, line) => {
      const { code, said } = await ended({ DATABASE_URL: database.url, ...env() });
      expect(code).toBe(1);
      expect(said).toMatch(line);
      expect(said.trim().split('\n').length).toBe(1);
    },
  );
});

describe('a PostgreSQL with TLS', () => {
  let server: Awaited<ReturnType<typeof tlsPostgres>>;
  const full = () => ({ sslmode: 'verify-full', sslrootcert: ca.certPath });
  beforeAll(async () => {
    server = await tlsPostgres(own, ca);
  }, 120_000);
  afterAll(() => server.stop());

  test('is used for every connection of a replica, and for the migration', async () => {
    const url = server.url(full());
    expect(await ended({ DATABASE_URL: url }, 'migrate')).toMatchObject({ code: 0 });
    // The environment has what the second URL leaves out.
    const replica = await startReplica({
      DATABASE_URL: url,
      DATABASE_LISTEN_URL: server.url({}),
      PGSSLMODE: 'verify-full',
      PGSSLROOTCERT: ca.certPath,
    });
    const { body } = await http(replica.url, 'POST', '/jobs', { payload: 'x'.repeat(500_000) });
    const claimed = await http(replica.url, 'POST', '/jobs/claim', {});
    expect(claimed.body.jobs[0].id).toBe(body.id);
    const seen = await server.admin(
      `select query = 'listen dibs' as listens, s.ssl from pg_stat_activity a join pg_stat_ssl s using (pid)
       where a.application_name = 'dibs'`,
    );
    expect(seen.filter(({ ssl }) => !ssl)).toEqual([]);
    expect(seen.some(({ listens }) => listens)).toBe(true);
    expect(seen.length).toBeGreaterThan(1);
    await replica.end('SIGTERM');
  });

  test.each([
    [
      'of another authority',
      () => ({ ...full(), sslrootcert: own.certPath }),
      /does not trust the database's certificate/,
    ],
    ['without TLS where the server wants it', () => ({ sslmode: 'disable' }), /SQLSTATE 28000/],
    ['with sslmode=prefer', () => ({ sslmode: 'prefer' }), /sslmode=prefer goes on without TLS/],
    [
      'with an sslrootcert that is not there',
      () => ({ ...full(), sslrootcert: '/nowhere' }),
      /sslrootcert=\/nowhere cannot be read/,
    ],
  ])('is refused at the start in one line: %s', async (_, parameters, line) => {
    const [served, migrated, listening] = await Promise.all([
      ended({ DATABASE_URL: server.url(parameters()) }, 'serve'),
      ended({ DATABASE_URL: server.url(parameters()) }, 'migrate'),
      ended({ DATABASE_URL: server.url(full()), DATABASE_LISTEN_URL: server.url(parameters()) }),
    ]);
    for (const { code, said } of [served, migrated]) {
      expect(code).toBe(1);
      expect(said).toMatch(/^dibs: [^\n]*\n$/);
      expect(said).toMatch(line);
      expect(said).not.toContain('secret');
    }
    expect(listening.code).toBe(1);
    expect(listening.said).toMatch(/^dibs: [^\n]*DATABASE_LISTEN_URL[^\n]*\n$/);
    expect(listening.said).toMatch(line);
  });

  test('whose certificate is of another host is refused under verify-full, at the start and later', async () => {
    const replica = await startReplica({ DATABASE_URL: server.url(full()) });
    await server.serve(maker.signed(ca, { subject: '/CN=db.example', names: ['DNS:db.example'] }));
    const { code, said } = await ended({ DATABASE_URL: server.url(full()) });
    expect(code).toBe(1);
    expect(said).toMatch(
      /^dibs: .*does not trust the database's certificate: .*127\.0\.0\.1.*\(ERR_TLS_CERT_ALTNAME_INVALID\)\.\n$/,
    );

    await server.admin(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'secure'`);
    const answer = await until(async () => {
      const found = await http(replica.url, 'POST', '/jobs', {});
      return found.status === 503 && found;
    });
    expect(answer.body).toMatchObject({ code: 'unavailable' });
    await until(() =>
      replica.lines.some((line) => line.includes("does not trust the database's certificate")),
    );
    await server.serve(own);
    await until(async () => (await http(replica.url, 'POST', '/jobs', {})).status === 201);
    expect(replica.lines.filter((line) => /"level":[56]0/.test(line))).toEqual([]);
    await replica.end('SIGTERM');
  });
});
