import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, UNKNOWN_ID } from '../support/moves.ts';
import { type Method, type Service, startService } from '../support/service.ts';

let service: Service;
let port: number;
beforeAll(async () => {
  service = await startService();
  port = Number(new URL(await service.listen()).port);
});
afterAll(() => service.stop());

describe('an unknown route', () => {
  test('is 404 route_not_found', async () => {
    for (const [method, path] of [
      ['GET', '/nope'],
      ['POST', '/job'],
      ['GET', '/JOBS'],
      ['GET', `/jobs/${UNKNOWN_ID}/nope`],
      ['POST', '/queues/q/drain'],
      ['GET', '/queues/a/b/c'],
      ['GET', '/docs/static/nope.js'],
      ['GET', '/docs/nope'],
      ['GET', '/docs/static/..%5c..'],
      ['GET', '/docs/static/..%2f..%2fpackage.json'],
      ['GET', '/docs/static/%2e%2e/%2e%2e/package.json'],
      ['GET', '/docs/static/a%00b'],
      ['DELETE', '/__proto__'],
    ] as [Method, string][])
      expectProblem(
        await service.call(method, path, method === 'POST' ? {} : undefined),
        404,
        'route_not_found',
      );
  });

  test('is one with a part that is empty, too', async () => {
    for (const [method, path] of [
      ['GET', '/jobs/'],
      ['GET', '/jobs/?limit=1'],
      ['DELETE', '/jobs/'],
      ['GET', '/jobs//explain'],
      ['GET', '/queues/'],
      ['PUT', '/queues/'],
      ['POST', '/queues//pause'],
      ['GET', '/schedules/'],
      ['GET', '/batches/'],
      ['GET', '/operations/'],
      ['DELETE', '/keys/'],
    ] as [Method, string][])
      expectProblem(
        await service.call(method, path, ['POST', 'PUT'].includes(method) ? {} : undefined),
        404,
        'route_not_found',
      );
  });

  test('is refused before its body is read', async () => {
    for (const type of ['text/plain', 'application/json'])
      for (const body of ['not json', '\u0000', '', 'x'.repeat(17 * 2 ** 20)]) {
        const answer = await service.call('POST', '/nope', body, { 'content-type': type });
        expectProblem(answer, 404, 'route_not_found');
      }
  });
});

describe('a method that a path does not have', () => {
  test.each([
    ['/jobs', 'GET, HEAD, POST'],
    ['/jobs/batch', 'POST'],
    ['/jobs/claim', 'POST'],
    ['/jobs/settle', 'POST'],
    [`/jobs/${UNKNOWN_ID}`, 'DELETE, GET, HEAD, PATCH'],
    [`/jobs/${UNKNOWN_ID}/ack`, 'POST'],
    [`/jobs/${UNKNOWN_ID}/nack`, 'POST'],
    [`/jobs/${UNKNOWN_ID}/release`, 'POST'],
    [`/jobs/${UNKNOWN_ID}/extend`, 'POST'],
    [`/jobs/${UNKNOWN_ID}/retry`, 'POST'],
    ['/queues', 'GET, HEAD'],
    ['/queues/q', 'DELETE, GET, HEAD, PUT'],
    ['/queues/q/pause', 'POST'],
    ['/queues/q/resume', 'POST'],
    ['/queues/q/purge', 'POST'],
    ['/queues/q/redrive', 'POST'],
    ['/healthz', 'GET, HEAD'],
    ['/readyz', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/docs', 'GET, HEAD'],
    ['/', 'GET, HEAD'],
  ])('on %s is 405, and Allow is %s', async (path, allow) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as Method[]) {
      if (allow.split(', ').includes(method)) continue;
      const answer = await service.call(method, path, method === 'TRACE' ? undefined : 'no json', {
        'content-type': 'text/plain',
      });
      expectProblem(answer, 405, 'method_not_allowed');
      expect(answer.headers.allow).toBe(allow);
    }
  });
});

test('every other method of HTTP is 405, too', async () => {
  const others = METHODS.filter(
    (method) => !['GET', 'HEAD', 'POST', 'DELETE', 'PUT', 'CONNECT'].includes(method),
  );
  expect(others).toEqual(expect.arrayContaining(['PROPFIND', 'PATCH', 'TRACE', 'M-SEARCH']));
  for (const method of [...others, 'QUERY'] as Method[])
    for (const [path, allow] of [
      ['/jobs?limit=1', 'GET, HEAD, POST'],
      ['/jobs/batch', 'POST'],
      [`/queues/a.b`, 'DELETE, GET, HEAD, PUT'],
      ['/queues/a.b/pause', 'POST'],
      ['/docs/static/index.html', 'GET, HEAD'],
    ] as const) {
      const { status, headers, body } = await raw(
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect({ method, path, status, allow: headers.allow }).toEqual({ method, path, status: 405, allow });
      expect(JSON.parse(body || '{"code":"method_not_allowed"}').code).toBe('method_not_allowed');
    }
  const { body } = await raw('PROPFIND /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(JSON.parse(body)).toMatchObject({ status: 404, code: 'route_not_found' });
});

describe('a path', () => {
  test('that is not percent-encoded UTF-8 is 400', async () => {
    for (const [method, path] of [
      ['GET', '/jobs/%ZZ'],
      ['GET', '/jobs/%'],
      ['GET', '/jobs/%ff'],
      ['DELETE', '/jobs/%C3'],
      ['POST', '/jobs/%ZZ/retry'],
      ['POST', '/jobs/%ED%A0%80/ack'],
      ['GET', '/queues/%E0%A4%A'],
      ['PUT', '/queues/%'],
    ] as [Method, string][]) {
      const answer = await service.call(method, path, method === 'GET' ? undefined : {});
      expectProblem(answer, 400, 'invalid_request');
      expect(answer.body.errors[0].in).toBe('path');
    }
  });

  test('may encode letters of a queue name that need no encoding', async () => {
    const answer = await service.call('PUT', '/queues/a%3Ab%2Ec', {});
    expect(answer.body.name).toBe('a:b.c');
  });
});

describe('HEAD', () => {
  test('answers as GET does, without a body', async () => {
    for (const [path, status] of [
      ['/jobs', 200],
      ['/queues', 200],
      ['/healthz', 200],
      [`/jobs/${UNKNOWN_ID}`, 404],
      ['/nope', 404],
      ['/jobs?limit=x', 400],
    ] as const) {
      const answer = await raw(`HEAD ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      expect({ path, status: answer.status, body: answer.body }).toEqual({ path, status, body: '' });
    }
  });
});

/** What the server answers to these bytes before it closes. */
async function raw(
  bytes: string,
): Promise<{ status: number; body: string; type: string; headers: Record<string, string> }> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk;
  });
  socket.write(bytes);
  await once(socket, 'close');
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    type: /^content-type: ([^;\r]+)/im.exec(head)?.[1] ?? '',
    headers: Object.fromEntries(
      [...head.matchAll(/^([^:\r\n]+): ([^\r]*)/gm)].map(([, name, value]) => [name?.toLowerCase(), value]),
    ),
    body,
  };
}

describe('over a socket', () => {
  const close = 'Connection: close\r\n';

  test('a request that is not HTTP is answered with a problem document', async () => {
    for (const bytes of [
      'hello\r\n\r\n',
      'GET /jobs HTTP/9.9\r\n\r\n',
      'GET /jobs HTTP/1.1\r\nHost\r\n\r\n',
      'GET /jobs HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n',
      'POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      'POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
    ]) {
      const { status, type, body, headers } = await raw(bytes);
      expect(headers['x-request-id']).toMatch(/./);
      expect(type, bytes.slice(0, 80)).toBe('application/problem+json');
      expect(JSON.parse(body)).toMatchObject({ status, code: 'invalid_request', errors: [{ in: 'header' }] });
      expect(status).toBe(400);
    }
  });

  test('headers, or a request line, that are too large are 431 headers_too_large', async () => {
    for (const head of [
      `/jobs HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`,
      `/jobs?cursor=${'x'.repeat(100_000)} HTTP/1.1`,
    ]) {
      const { status, type, body, headers } = await raw(`GET ${head}\r\nHost: x\r\n\r\n`);
      expect(type).toBe('application/problem+json');
      expect(headers['x-request-id']).toMatch(/./);
      expect({ status, ...JSON.parse(body) }).toMatchObject({ status: 431, code: 'headers_too_large' });
    }
  });

  test('two Host headers are 400', async () => {
    for (const version of ['1.0', '1.1'])
      for (const second of ['Host: x', 'HOST: y']) {
        const answer = await raw(`GET /healthz HTTP/${version}\r\nHost: x\r\n${second}\r\n${close}\r\n`);
        expect(answer.type).toBe('application/problem+json');
        expect(JSON.parse(answer.body)).toMatchObject({
          status: 400,
          code: 'invalid_request',
          errors: [{ in: 'header', path: '/host' }],
        });
      }
  });

  test('every answer that is not 2xx is a problem document, whatever the headers say', async () => {
    for (const [request, status] of [
      [`GET /healthz HTTP/1.1\r\n${close}`, [400]],
      [`GET /healthz HTTP/1.0\r\n${close}`, [200]],
      [`GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n${close}`, [200, 417]],
      [`POST /jobs HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${close}Content-Length: 0\r\n`, [100, 400]],
      [`OPTIONS * HTTP/1.1\r\nHost: x\r\n${close}`, [404, 405]],
      [`PROPFIND /jobs HTTP/1.1\r\nHost: x\r\n${close}`, [404, 405]],
      [`GET http://elsewhere/nope HTTP/1.1\r\nHost: x\r\n${close}`, [404]],
      [
        'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n',
        [200, 400],
      ],
    ] as [string, number[]][]) {
      const answer = await raw(`${request}\r\n`);
      expect(status, request).toContain(answer.status);
      if (answer.status >= 300) expect(answer.type, request).toBe('application/problem+json');
    }
  });

  test('a header may have any name', async () => {
    const headers = '__proto__: 1\r\nconstructor: 2\r\ntoString: 3\r\nX-Request-Id: nonsense\u00e9\r\n';
    expect((await raw(`GET /healthz HTTP/1.1\r\nHost: x\r\n${headers}${close}\r\n`)).status).toBe(200);
  });

  test('an id of nearly the longest request line is 404', async () => {
    const answer = await raw(`GET /jobs/${'x'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\n${close}\r\n`);
    expect(JSON.parse(answer.body).code).toBe('job_not_found');
  });
});
