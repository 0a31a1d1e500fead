import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { head, headOf, rawClient } from '../support/rawClient.ts';
import { type Method, type Service, startService } from '../support/service.ts';

/* Ways to reach a queue around the patterns of a key, or Dibs without a key. */

let service: Service;
let url: string;
let at: ReturnType<typeof moves>;
const KEY = 'produce,consume,read,admin@own';
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  url = await service.listen();
  at = moves({ ...service, call: as(service, 'admin@*') });
  await at.enqueue({ queue: 'secret', payload: 'the secret' });
  await at.enqueue({ queue: 'own' });
});
afterAll(() => service.stop());

const counts = async (queue: string) => (await at.ok('GET', `/queues/${queue}`)).counts;

describe('a queue of others', () => {
  const paths = [
    '/queues/%73ecret',
    '/queues/secre%74',
    '/queues/%73%65%63%72%65%74',
    '/queues/secret/',
    '/queues//secret',
    '//queues/secret',
    '/./queues/secret',
    '/queues/own/../secret',
    '/queues/own/%2e%2e/secret',
    '/queues/own%2f..%2fsecret',
    '/queues/own%2fsecret',
    '/queues/secret%2f',
    '/queues/secret%00',
    '/queues/secret%20',
    '/queues/secret;own',
    '/queues/secret?queue=own',
    '/queues/secret#own',
    '/queues/own%3fsecret',
    '/QUEUES/secret',
    '/Queues/secret',
    '/queues/secret/explain',
    '/docs/../queues/secret',
    '/docs/%2e%2e/queues/secret',
    '/docs/static/..%2f..%2f..%2fqueues/secret',
    '/openapi.json/../queues/secret',
    '/healthz/../queues/secret',
  ];

  test.each(paths)('is not reached as %s, however it is asked', async (path) => {
    for (const method of ['GET', 'HEAD'] as Method[]) {
      const answer = await as(service, KEY)(method, path);
      expect([302, 400, 403, 404]).toContain(answer.status);
      expect(answer.text).not.toContain('"counts"');
    }
    for (const [method, more, body] of [
      ['PUT', '', { max_attempts: 1 }],
      ['DELETE', '?force=true', undefined],
      ['POST', '/purge', { states: ['ready'] }],
      ['POST', '/pause', undefined],
    ] as const) {
      const answer = await as(service, KEY)(method, path.replace(/[?#].*$/, '') + more, body);
      expect([400, 403, 404, 405]).toContain(answer.status);
    }
    expect(await at.ok('GET', '/queues/secret')).toMatchObject({
      paused: false,
      config: { max_attempts: 5 },
      counts: { ready: 1 },
    });
  });

  test('is not reached by a query or a header', async () => {
    const key = as(service, KEY);
    for (const path of ['/jobs?queue=own&queue=secret', '/jobs?queue=secret&queue=own', '/jobs?Queue=secret'])
      expectProblem(await key('GET', path), 400, 'invalid_request');
    expectProblem(await key('GET', '/jobs?queue=%73ecret'), 403, 'forbidden');
    expectProblem(await key('GET', '/queues/own?queue=secret'), 400, 'invalid_request', '/queue');
    const override = {
      'x-http-method-override': 'DELETE',
      'x-original-url': '/queues/secret',
      'x-rewrite-url': '/queues/secret',
    };
    expect((await key('GET', '/queues/own', undefined, override)).body.name).toBe('own');
  });

  test('is not reached by a member that stands twice in a body, or under an odd name', async () => {
    const key = as(service, KEY);
    for (const [path, body] of [
      ['/jobs', '{"queue":"own","queue":"secret"}'],
      ['/jobs', '{"queue":"own","que\\u0075e":"secret"}'],
      ['/jobs/batch', '{"jobs":[{"queue":"own"}],"jobs":[{"queue":"secret"}]}'],
      ['/jobs/claim', '{"queues":["own"],"queues":["secret"]}'],
    ] as const)
      expectProblem(await key('POST', path, body), 403, 'forbidden');
    for (const [path, body] of [
      ['/jobs', '{"__proto__":{"queue":"secret"}}'],
      ['/jobs', '{"constructor":{"prototype":{"queue":"secret"}}}'],
      ['/jobs', '{"queue":["own","secret"]}'],
      ['/jobs', '{"queue":{"toString":"secret"}}'],
      ['/queues/own/purge', '{"states":["ready"],"queue":"secret"}'],
      ['/queues/own/redrive', '{"queue":"secret"}'],
      ['/jobs/claim', '{"queues":["own"],"queue":"secret"}'],
      ['/jobs/claim', '{"queues":["own"],"visible":null}'],
    ] as const)
      expectProblem(await key('POST', path, body), 400, 'invalid_request');
    expect(await counts('secret')).toMatchObject({ ready: 1, leased: 0 });
    expect(await counts('own')).toMatchObject({ ready: 1 });
  });

  test('is not reached over a socket, by the absolute form of a URL or a second request in the body of the first', async () => {
    const authorization = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;
    for (const target of [
      'http://x/queues/secret',
      'http://x/queues/own/../secret',
      '*',
      '/queues/secret ',
    ]) {
      const client = rawClient(url, `GET ${target} HTTP/1.1\r\n${authorization}Connection: close\r\n\r\n`);
      await client.closed;
      // The absolute form leads to the page at `/`, which knows no queue.
      expect(client.answer).toMatch(/^HTTP\/1\.1 (4|200 OK[\s\S]*content-type: text\/html)/);
      expect(client.answer).not.toContain('"counts"');
    }
    const inner = 'GET /queues/secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const smuggled = rawClient(
      url,
      `POST /jobs HTTP/1.1\r\n${authorization}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}${inner}`,
    );
    await smuggled.closed;
    // Each request of a connection has to show its own key.
    expect(smuggled.answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 403', 'HTTP/1.1 401']);
  });
});

describe('without a key', () => {
  test('401 comes before the body: it is not read, and may be anything', async () => {
    const client = rawClient(url, headOf('/jobs', 1_000_000));
    expect(await client.status()).toBe(401);
    client.socket.destroy();
    const large = rawClient(url, headOf('/jobs/batch', 10 ** 9));
    expect(await large.status()).toBe(401);
    large.socket.destroy();
    const chunked = rawClient(url, head('/jobs', 'Transfer-Encoding: chunked'));
    expect(await chunked.status()).toBe(401);
    chunked.socket.destroy();
    for (const body of ['no json', '{"queue":', 'x'.repeat(100_000)])
      expectProblem(await service.call('POST', '/jobs', body), 401, 'unauthorized');
    expectProblem(
      await service.call('POST', '/jobs', 'a=b', { 'content-type': 'text/plain' }),
      401,
      'unauthorized',
    );
    expectProblem(await service.call('GET', '/queues/%20'), 401, 'unauthorized');
  });

  test('two keys are none, whichever is right', async () => {
    for (const keys of [
      [`Bearer ${KEY}`, 'Bearer wrong'],
      ['Bearer wrong', `Bearer ${KEY}`],
    ]) {
      const client = rawClient(
        url,
        `GET /queues/own HTTP/1.1\r\nHost: x\r\n${keys.map((key) => `Authorization: ${key}\r\n`).join('')}\r\n`,
      );
      expect(await client.status()).toBe(401);
      client.socket.destroy();
    }
  });

  test('HEAD is 401 where GET is', async () => {
    for (const path of ['/jobs', '/queues', '/queues/own', '/schedules', '/audit', '/queues/own/explain'])
      for (const method of ['GET', 'HEAD'] as Method[])
        expect({ path, method, status: (await service.call(method, path)).status }).toEqual({
          path,
          method,
          status: 401,
        });
  });

  test('a path without a route is 404, a method without one 405: they tell nothing that the document does not', async () => {
    expectProblem(await service.call('GET', '/nope'), 404, 'route_not_found');
    expectProblem(await service.call('PUT', '/jobs', {}), 405, 'method_not_allowed');
  });
});
