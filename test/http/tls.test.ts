import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import { openCertificates } from '../../routes/http/security/certificates.ts';
import { clientName } from '../../routes/http/security/clientCertificate.ts';
import type { HttpLimits } from '../../src/config/limits.ts';
import { ConfigError } from '../../src/config.ts';
import type { RunningEngine } from '../../src/engine.ts';
import { createLedger } from '../../src/ledger.ts';
import { createMemory } from '../../src/memory.ts';
import { certificateMaker, type Pair } from '../support/certificates.ts';
import { GET, tlsClient } from '../support/https.ts';
import { until } from '../support/until.ts';

const LOOK_MS = 50;

let maker: Awaited<ReturnType<typeof certificateMaker>>;
let ca: Pair;
let own: Pair;
beforeAll(async () => {
  maker = await certificateMaker();
  ca = maker.authority('Dibs tests');
  own = maker.signed(ca, { subject: '/CN=one', names: ['DNS:localhost', 'IP:127.0.0.1'] });
});
afterAll(() => maker.remove());

let app: Awaited<ReturnType<typeof buildApp>>;
let url: string;
let logged: string[];
/** What clientName says of each request. */
let names: (string | undefined)[];
let paths: { cert: string; key: string; clientCa: string | undefined };

/** Puts a pair of PEM files where Dibs reads them, each by one rename. */
function put({ cert, key }: { cert: string; key: string }): void {
  for (const [path, text] of [
    [paths.cert, cert],
    [paths.key, key],
  ] as const) {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

async function start({ clientCa, limits }: { clientCa?: string; limits?: Partial<HttpLimits> } = {}) {
  logged = [];
  names = [];
  paths = { cert: join(maker.path, 'tls.crt'), key: join(maker.path, 'tls.key'), clientCa };
  put(own);
  const verbs = { claim: () => new Promise(() => undefined) };
  const engine = {
    memory: createMemory(),
    ledger: createLedger(),
    admit: () => verbs,
  } as unknown as RunningEngine;
  app = await buildApp({
    engine,
    logger: pino({ level: 'info' }, { write: (line) => logged.push(JSON.parse(line).msg) }),
    maxPayloadBytes: 2 ** 20,
    certificates: await openCertificates(paths, LOOK_MS),
    limits,
  });
  app.server.on('request', (request) => names.push(clientName({ raw: request })));
  url = await app.listen({ host: '127.0.0.1', port: 0 });
}
afterEach(() => app?.close());

/** The status of GET /healthz on a connection of its own. */
async function status(options: ConnectionOptions = {}): Promise<number> {
  const client = tlsClient(url, GET('/healthz'), options);
  await client.closed;
  return Number(/^HTTP\/1\.1 (\d+)/.exec(client.answer)?.[1]);
}
/** The CN of the certificate that new connections get. */
async function served(): Promise<string> {
  const { socket } = tlsClient(url);
  await once(socket, 'secureConnect');
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return CN as string;
}

const connections = () =>
  new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
const allGone = () =>
  until(async () => (await connections()) === 0, { withinMs: 20_000, what: 'closed connections' });

describe('HTTPS', () => {
  test('is served to clients that check the certificate and the name', async () => {
    await start();
    expect(url).toMatch(/^https:/);
    expect(await status({ ca: ca.cert, rejectUnauthorized: true })).toBe(200);
    expect(await status({ ca: ca.cert, rejectUnauthorized: true, servername: 'localhost' })).toBe(200);
    const stranger = tlsClient(url, '', { ca: maker.authority('x').cert, rejectUnauthorized: true });
    expect(await stranger.closed).toBeInstanceOf(Error);
  });

  test.each([
    ['TLSv1.3', true],
    ['TLSv1.2', true],
    ['TLSv1.1', false],
    ['TLSv1', false],
  ] as const)('%s is spoken: %s', async (version, isSpoken) => {
    await start();
    const client = tlsClient(url, GET('/healthz'), {
      minVersion: version,
      maxVersion: version,
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const error = await client.closed;
    expect(/^HTTP\/1\.1 200/.test(client.answer)).toBe(isSpoken);
    if (!isSpoken) expect(`${error}`).toMatch(/alert protocol version/);
  });

  test('a client that speaks plain HTTP is closed, and is no error of Dibs', async () => {
    await start();
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    socket.write(GET('/healthz'));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    await once(socket, 'close');
    expect(answer).not.toContain('HTTP/1.1');
    expect(logged.filter((line) => !/valid until|Server listening/.test(line))).toEqual([]);
  });

  test('a handshake or a request that does not arrive in time is ended', async () => {
    await start({ limits: { requestTimeoutMs: 400 } });
    const { hostname, port } = new URL(url);
    const silent = connect(Number(port), hostname).on('error', () => undefined);
    const late = tlsClient(url, 'GET /healthz HTTP/1.1\r\nHost: x\r\n');
    await late.closed;
    expect(late.answer).toMatch(/^HTTP\/1\.1 408/);
    expect(late.answer).toContain('request_timeout');
    await allGone();
    silent.destroy();
  });

  test('a body that is too large is answered before the connection is closed', async () => {
    await start();
    const head = 'POST /jobs/claim HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    const client = tlsClient(url, `${head}Content-Length: 99999999\r\n\r\n{`);
    await client.closed;
    expect(client.answer).toContain('payload_too_large');
    await allGone();
  });

  test('a client that reads nothing of its answers is closed, and one that reads slowly is not', async () => {
    await start({ limits: { answerTimeoutMs: 600 } });
    const many = GET('/openapi.json', 'keep-alive').repeat(100);
    const deaf = tlsClient(url, many);
    deaf.socket.pause();
    const slow = tlsClient(url, many);
    const reading = setInterval(() => {
      slow.socket.resume();
      setTimeout(() => slow.socket.pause(), 5);
    }, 100);
    const isOpen = () => !slow.socket.destroyed;
    await until(async () => slow.answer.length > 0 && (await connections()) === 2);
    await until(async () => (await connections()) === 1, { withinMs: 30_000, what: 'a closed connection' });
    const answers = () => slow.answer.split('200 OK').length - 1;
    await until(() => !isOpen() || answers() === 100, { what: 'the last answer' });
    clearInterval(reading);
    expect(isOpen()).toBe(true);
    slow.socket.destroy();
    deaf.socket.destroy();
  });

  test('a close waits for no idle connection, and for no handshake', async () => {
    await start();
    const { hostname, port } = new URL(url);
    const silent = connect(Number(port), hostname).on('error', () => undefined);
    const idle = tlsClient(url, GET('/healthz', 'keep-alive'));
    await until(() => idle.answer.includes('200 OK'));
    await until(async () => (await connections()) === 2);
    const before = performance.now();
    await app.close();
    expect(performance.now() - before).toBeLessThan(15_000);
    silent.destroy();
  });
});

describe('files that change', () => {
  const other = () => maker.signed(ca, { subject: '/CN=two', names: ['IP:127.0.0.1'] });

  test('are served to new connections, and old connections go on', async () => {
    await start();
    const old = tlsClient(url, GET('/healthz', 'keep-alive'));
    await until(() => old.answer.includes('200 OK'));
    expect(await served()).toBe('one');
    put(other());
    await until(async () => (await served()) === 'two');
    old.answer = '';
    old.socket.write(GET('/healthz', 'keep-alive'));
    await until(() => old.answer.includes('200 OK'));
    expect(old.socket.getPeerCertificate().subject.CN).toBe('one');
    expect(logged.filter((line) => /valid until/.test(line)).length).toBe(2);
  });

  test.each([
    [
      'a certificate with the key of another',
      () => ({ cert: other().cert, key: own.key }),
      /do not work together/,
    ],
    ['an empty certificate', () => ({ cert: '', key: own.key }), /has no PEM certificate/],
    ['half a certificate', () => ({ cert: own.cert.slice(0, 200), key: own.key }), /has no PEM certificate/],
    ['no key', () => ({ cert: own.cert, key: 'secret' }), /do not work together/],
  ])('but are broken leave the old ones in use, with one warning: %s', async (_, broken, warning) => {
    await start();
    put(broken());
    const isWarning = (line: string) => warning.test(line) && /the files of before/.test(line);
    await until(() => logged.some(isWarning));
    expect(await served()).toBe('one');
    put(other());
    await until(async () => (await served()) === 'two');
    expect(logged.filter(isWarning).length).toBe(1);
    expect(logged.join()).not.toContain('secret');
  });
});

describe('files at the start', () => {
  test.each([
    [
      'a missing certificate',
      () => ({ cert: '/nowhere.crt', key: own.keyPath }),
      /^TLS_CERT=\/nowhere\.crt cannot be read/,
    ],
    [
      'a missing key',
      () => ({ cert: own.certPath, key: '/nowhere.key' }),
      /^TLS_KEY=\/nowhere\.key cannot be read/,
    ],
    [
      'a key in place of the certificate',
      () => ({ cert: own.keyPath, key: own.keyPath }),
      /^TLS_CERT=.* has no PEM certificate/,
    ],
    [
      'a key of another certificate',
      () => ({ cert: own.certPath, key: ca.keyPath }),
      /^TLS_CERT=.* and TLS_KEY=.* do not work together/,
    ],
    [
      'no authority',
      () => ({ cert: own.certPath, key: own.keyPath, clientCa: own.keyPath }),
      /^TLS_CLIENT_CA=.* has no PEM certificate/,
    ],
  ])('are refused in one line: %s', async (_, given, message) => {
    const error = await openCertificates({ clientCa: undefined, ...given() }).catch((e) => e);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('\n');
  });
});

describe('the name in a client certificate', () => {
  const as = ({ cert, key }: Pair): ConnectionOptions => ({ cert, key });

  test('is that of a certificate by TLS_CLIENT_CA, on each request of the connection', async () => {
    await start({ clientCa: ca.certPath });
    const client = tlsClient(
      url,
      GET('/healthz', 'keep-alive'),
      as(maker.signed(ca, { subject: '/CN=mailer' })),
    );
    await until(() => names.length === 1);
    client.socket.write(GET('/healthz'));
    await client.closed;
    expect(names).toEqual(['mailer', 'mailer']);
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'is there when a session of %s is resumed',
    async (maxVersion) => {
      await start({ clientCa: ca.certPath });
      const options = { ...as(maker.signed(ca, { subject: '/CN=mailer' })), maxVersion };
      const first = tlsClient(url, GET('/healthz'), options);
      const sessions: Buffer[] = [];
      first.socket.on('session', (session) => sessions.push(session));
      await first.closed;
      const second = tlsClient(url, GET('/healthz'), { ...options, session: sessions.at(-1) });
      await once(second.socket, 'secureConnect');
      expect(second.socket.isSessionReused()).toBe(true);
      await second.closed;
      expect(names).toEqual(['mailer', 'mailer']);
    },
  );

  test.each([
    ['no certificate', () => ({})],
    ['one of another authority', () => as(maker.signed(maker.authority('Evil'), { subject: '/CN=mailer' }))],
    [
      'one of an authority with the same name',
      () => as(maker.signed(maker.authority('Dibs tests'), { subject: '/CN=mailer' })),
    ],
    ['an expired one', () => as(maker.signed(ca, { subject: '/CN=mailer', expired: true }))],
    ['one that signed itself', () => as(maker.authority('mailer'))],
    ['one with two names', () => as(maker.signed(ca, { subject: '/CN=mailer/CN=admin' }))],
    ['one without a name', () => as(maker.signed(ca, { subject: '/O=mailer' }))],
  ] as [string, () => ConnectionOptions][])(
    'is none, and the request is served without: %s',
    async (_, options) => {
      await start({ clientCa: ca.certPath });
      expect(await status(options())).toBe(200);
      expect(names).toEqual([undefined]);
    },
  );

  test('is none without TLS_CLIENT_CA, whatever a client sends', async () => {
    await start();
    expect(await status(as(maker.signed(ca, { subject: '/CN=mailer' })))).toBe(200);
    expect(names).toEqual([undefined]);
  });

  test('is none for a certificate that ended after its connection was opened', async () => {
    await start({ clientCa: ca.certPath });
    const client = tlsClient(
      url,
      GET('/healthz', 'keep-alive'),
      as(maker.signed(ca, { subject: '/CN=mailer' })),
    );
    await until(() => names.length === 1);
    const { now } = Date;
    Date.now = () => now() + 3 * 86_400_000;
    client.socket.write(GET('/healthz'));
    await until(() => names.length === 2).finally(() => {
      Date.now = now;
    });
    expect(names).toEqual(['mailer', undefined]);
    client.socket.destroy();
  });

  test('that does not count leaves a line that says why, one for many clients', async () => {
    await start({ clientCa: ca.certPath });
    const expired = as(maker.signed(ca, { subject: '/CN=mailer', expired: true }));
    await Promise.all(Array.from({ length: 5 }, () => status(expired)));
    expect(await status()).toBe(200);
    expect(
      logged.filter((line) => /client certificates count as none.*CERT_HAS_EXPIRED/.test(line)).length,
    ).toBe(1);
  });

  test('follows a new TLS_CLIENT_CA, also for sessions that are resumed', async () => {
    const clientCa = join(maker.path, 'clients.crt');
    writeFileSync(clientCa, ca.cert);
    await start({ clientCa });
    const options = as(maker.signed(ca, { subject: '/CN=mailer' }));
    const first = tlsClient(url, GET('/healthz'), options);
    const sessions: Buffer[] = [];
    first.socket.on('session', (session) => sessions.push(session));
    await first.closed;
    expect(names).toEqual(['mailer']);
    writeFileSync(clientCa, maker.authority('New').cert);
    await until(() => logged.filter((line) => /valid until/.test(line)).length === 2);
    expect(await status({ ...options, session: sessions.at(-1) })).toBe(200);
    expect(names).toEqual(['mailer', undefined]);
  });
});
