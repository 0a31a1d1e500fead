import { connect } from 'node:net';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { App } from '../../routes/http/connection/fastify.ts';
import { setSafeHeaders } from '../../routes/http/security/safeHeaders.ts';
import type { Access } from '../../src/access/access.ts';
import { createCaller } from '../../src/caller.ts';
import { unauthorized } from '../../src/errors.ts';
import { expectProblem } from '../support/moves.ts';
import { type Method, type Service, startService } from '../support/service.ts';

const OURS = 'https://app.example';
const FOREIGN = 'https://evil.example';

const caller = createCaller({ id: '1', name: 'page' }, { scopes: ['produce', 'read'], queues: ['*'] });
const access: Access = {
  isOpen: () => false,
  awaitsFirstKey: () => false,
  known: () => undefined,
  identify({ token }) {
    if (token !== 'good') throw unauthorized();
    return caller;
  },
};

const services: Service[] = [];
const started = async (options: Parameters<typeof startService>[0]) => {
  const service = await startService(options);
  services.push(service);
  return service;
};

let withKeys: Service;
let withAll: Service;
let withoutKeys: Service;
let withoutOrigins: Service;
beforeAll(async () => {
  const webPages = { hosts: [], origins: [OURS] };
  withKeys = await started({ access, allowedOrigins: [OURS, 'http://localhost:3000'] });
  const { databaseUrl } = withKeys;
  withAll = await started({
    databaseUrl,
    access,
    allowedOrigins: ['*'],
    webPages: { hosts: [], origins: ['*'] },
  });
  withoutKeys = await started({ databaseUrl, webPages, allowedOrigins: [OURS] });
  withoutOrigins = await started({ databaseUrl, webPages: { hosts: [], origins: [] } });
});
afterAll(async () => {
  for (const service of services.reverse()) await service.stop();
});

const preflight = (service: Service, origin: string, path = '/jobs', method = 'POST') =>
  service.call('OPTIONS', path, undefined, {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization, content-type',
    'sec-fetch-site': 'cross-site',
  });

const fromPage = (service: Service, origin: string, headers: Record<string, string> = {}) =>
  service.call('POST', '/jobs', { queue: 'mail' }, { origin, ...headers });

const KEY = { authorization: 'Bearer good' };

describe('the page of an origin that is allowed', () => {
  test.each([
    ['/jobs', 'POST'],
    ['/queues/mail', 'PUT'],
    ['/queues/mail', 'DELETE'],
    ['/openapi.json', 'GET'],
    ['/nowhere', 'GET'],
  ])('may ask for %s by %s before it does, without a key', async (path, method) => {
    for (const service of [withKeys, withoutKeys]) {
      const { status, headers, text } = await preflight(service, OURS, path, method);
      expect([status, text]).toEqual([204, '']);
      expect(headers['access-control-allow-origin']).toBe(OURS);
      expect(headers['access-control-allow-methods']).toContain(method);
      expect(headers['access-control-allow-headers']?.toLowerCase().split(', ').sort()).toEqual(
        ['authorization', 'content-type', 'idempotency-key', 'prefer', 'traceparent', 'x-request-id'].sort(),
      );
      expect(headers['access-control-max-age']).toBe('600');
      expect(headers['access-control-allow-credentials']).toBeUndefined();
      expect(headers.vary).toBe('Origin');
    }
  });

  test('reads answers, and the headers that mean something', async () => {
    for (const service of [withKeys, withoutKeys]) {
      const { status, headers } = await fromPage(service, OURS, KEY);
      expect(status).toBe(201);
      expect(headers['access-control-allow-origin']).toBe(OURS);
      const exposed = headers['access-control-expose-headers']?.toLowerCase().split(', ');
      const needed = ['location', 'retry-after', 'x-request-id', 'idempotent-replayed', 'preference-applied'];
      expect(exposed).toEqual(expect.arrayContaining([...needed, 'ratelimit-remaining']));
      expect(headers.vary).toBe('Origin');
    }
  });

  test('reads refusals', async () => {
    const answers = [
      await fromPage(withKeys, OURS),
      await withKeys.call('POST', '/jobs', '{', { origin: OURS, ...KEY }),
      await withKeys.call('GET', '/queues?state=%ff', undefined, { origin: OURS, ...KEY }),
      await withKeys.call('GET', '/nowhere', undefined, { origin: OURS }),
      await withKeys.call('DELETE', '/jobs', undefined, { origin: OURS }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 400, 400, 404, 405]);
    for (const { headers } of answers) expect(headers['access-control-allow-origin']).toBe(OURS);
  });

  test('reads the OpenAPI document', async () => {
    const { status, headers } = await withKeys.call('GET', '/openapi.json', undefined, { origin: OURS });
    expect([status, headers['access-control-allow-origin']]).toEqual([200, OURS]);
  });
});

describe('other pages', () => {
  test('get no answer that they may read, and no preflight', async () => {
    for (const origin of [FOREIGN, 'null', `${OURS}.evil.example`, 'http://app.example']) {
      const asked = await preflight(withKeys, origin);
      expectProblem(asked, 405, 'method_not_allowed');
      const sent = await fromPage(withKeys, origin, KEY);
      for (const { headers } of [asked, sent]) {
        expect(headers['access-control-allow-origin']).toBeUndefined();
        expect(headers['access-control-expose-headers']).toBeUndefined();
        expect(headers.vary).toBe('Origin');
      }
      expectProblem(await preflight(withoutKeys, origin), 403, 'forbidden');
    }
  });

  test('are all allowed by *, which is no origin: without keys they are refused all the same', async () => {
    const { headers } = await fromPage(withAll, FOREIGN, KEY);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect((await preflight(withAll, FOREIGN)).status).toBe(204);
    const open = await startService({
      databaseUrl: withKeys.databaseUrl,
      allowedOrigins: ['*'],
      webPages: { hosts: [], origins: ['*'] },
    });
    expectProblem(await fromPage(open, FOREIGN), 403, 'forbidden');
    await open.stop();
  });
});

test('programs, which send no Origin, get no headers for pages', async () => {
  const { headers } = await withKeys.call('POST', '/jobs', { queue: 'mail' }, KEY);
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
});

test('OPTIONS is 405 where no page asks, and where no origin is allowed', async () => {
  expectProblem(await withKeys.call('OPTIONS', '/jobs'), 405, 'method_not_allowed');
  expectProblem(await withoutOrigins.call('OPTIONS', '/jobs'), 405, 'method_not_allowed');
  expectProblem(await withoutOrigins.call('OPTIONS', '/nowhere'), 404, 'route_not_found');
  expectProblem(await withKeys.call('OPTIONS', '/nowhere'), 404, 'route_not_found');
  expectProblem(await preflight(withoutOrigins, OURS), 403, 'forbidden');
});

/** A request of each kind: its answer comes from a route, a refusal, a page, a redirect, or the framework. */
const REQUESTS: [Method, string, unknown?][] = [
  ['POST', '/jobs', { queue: 'mail' }],
  ['POST', '/jobs', { queue: 7 }],
  ['POST', '/jobs/claim', {}],
  ['GET', '/queues'],
  ['GET', '/queues/nothing'],
  ['GET', '/healthz'],
  ['HEAD', '/healthz'],
  ['GET', '/'],
  ['GET', '/docs'],
  ['GET', '/docs/static/index.css'],
  ['GET', '/docs/static/nothing'],
  ['GET', '/docs/nothing'],
  ['GET', '/openapi.json'],
  ['GET', '/nothing'],
  ['GET', '/queues/%ff'],
  ['GET', '/queues?limit=%ff'],
  ['OPTIONS', '/jobs'],
  ['TRACE', '/jobs'],
];

test.each(REQUESTS)('%s %s (%o): nosniff, no cookie, and no HSTS without TLS', async (method, path, body) => {
  for (const service of [withKeys, withoutKeys])
    for (const sent of [KEY, {}] as Record<string, string>[]) {
      const { headers } = await service.call(method, path, body, {
        ...sent,
        cookie: 'session=1',
      });
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['set-cookie']).toBeUndefined();
      expect(headers['strict-transport-security']).toBeUndefined();
    }
});

test('refusals that Node makes have nosniff, too', async () => {
  const { port } = new URL(await withKeys.listen());
  const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.end('NO HTTP\r\n\r\n');
  await new Promise((closed) => socket.once('close', closed));
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toContain('\r\nx-content-type-options: nosniff\r\n');
});

test('answers over TLS have HSTS', async () => {
  const app = Fastify({ https: {} });
  setSafeHeaders(app as unknown as App);
  const { headers } = await app.inject('/');
  expect(headers['strict-transport-security']).toBe('max-age=31536000');
  expect(headers['x-content-type-options']).toBe('nosniff');
});

describe('pages', () => {
  const PAGES = ['/', '/docs', '/docs/', '/docs/static/index.html', '/docs/static/oauth2-redirect.html'];

  test('have a policy without inline scripts and styles, in no frame, and send no referrer', async () => {
    const pages = [
      '/',
      '/docs',
      '/docs/',
      '/docs/static/oauth2-redirect.html',
      '/docs/static/swagger-ui.css',
    ];
    for (const path of pages) {
      const { status, headers } = await withoutKeys.call('GET', path);
      expect([path, status]).toEqual([path, 200]);
      const policy = headers['content-security-policy'] ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|upgrade-insecure|https:|\*/);
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['referrer-policy']).toBe('no-referrer');
    }
  });

  test('work under it: they load their scripts and styles from Dibs, and have none of their own', async () => {
    for (const path of PAGES) {
      const { text, headers } = await withoutKeys.call('GET', path);
      if (headers.location) continue;
      for (const [tag, attributes = '', inside = ''] of text.matchAll(
        /<script([^>]*)>([^<]*)<\/script>/g,
      ) as Iterable<[string, string?, string?]>) {
        expect(attributes, tag).toMatch(/ src="/);
        expect(inside.trim(), tag).toBe('');
      }
      expect(text).not.toMatch(/<style|\son\w+=|\sstyle=|javascript:/i);
      const base = `http://dibs.test${path}`;
      for (const [, address = ''] of text.matchAll(/(?:src|href)="([^"]+)"/g)) {
        const url = new URL(address, base);
        expect(url.origin).toBe('http://dibs.test');
        expect([url.pathname, (await withoutKeys.call('GET', url.pathname)).status]).toEqual([
          url.pathname,
          200,
        ]);
      }
    }
  });
});
