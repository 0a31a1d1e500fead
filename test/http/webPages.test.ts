import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({
    webPages: { hosts: ['dibs.internal'], origins: ['http://localhost:3000'] },
  });
});
afterAll(() => service.stop());

const purge = (headers: Record<string, string>) =>
  service.call('POST', '/queues/mail/purge', { states: ['ready'] }, headers);

describe('without access keys', () => {
  test.each([
    ['a program on this machine', {}],
    ['a program that names the address', { host: '127.0.0.1:8080' }],
    ['IPv6', { host: '[::1]:8080' }],
    ['a name that is absolute', { host: 'localhost.:8080' }],
    ['a name that was added, and is absolute', { host: 'dibs.internal.' }],
    ['a name in capitals', { host: 'LOCALHOST:8080' }],
    ['a name that was added', { host: 'dibs.internal:8080' }],
    [
      'a page of Dibs itself',
      { host: 'localhost:8080', origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' },
    ],
    ['a user who types the address', { 'sec-fetch-site': 'none' }],
    [
      'a page of an origin that was added',
      { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
    ],
  ] as [string, Record<string, string>][])('%s is served', async (_, headers) => {
    await service.call('POST', '/jobs', { queue: 'mail' });
    expect((await purge(headers)).status).toBe(200);
  });

  test.each([
    ['a page of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page of another site in an old browser', { origin: 'https://evil.example' }],
    ['a page that hides its origin', { origin: 'null' }],
    ['a request of another site without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['another page of this machine', { origin: 'http://localhost:4000', 'sec-fetch-site': 'same-site' }],
    ['the same name over TLS', { host: 'localhost:8080', origin: 'https://localhost:8080' }],
    ['a foreign name that leads to this machine', { host: 'evil.example' }],
    [
      'a page of such a name',
      { host: 'evil.example:8080', origin: 'http://evil.example:8080', 'sec-fetch-site': 'same-origin' },
    ],
    ['a foreign name that is absolute', { host: 'localhost.evil.example.' }],
    ['a name that only begins like a loopback one', { host: '127.0.0.1.evil.example' }],
    ['a name that only ends like one that was added', { host: 'evil.dibs.internal' }],
  ] as [string, Record<string, string>][])('%s is forbidden, and nothing is done', async (_, headers) => {
    const { body } = await service.call('POST', '/jobs', { queue: 'mail' });
    expectProblem(await purge(headers), 403, 'forbidden');
    expect((await service.call('GET', `/jobs/${body.id}`)).body.state).toBe('ready');
    expectProblem(await service.call('GET', '/queues', undefined, headers), 403, 'forbidden');
  });
});

describe('with AUTH=off', () => {
  const started: Service[] = [];
  afterAll(async () => {
    for (const one of started.reverse()) await one.stop();
  });

  /** A service with the configuration of these variables. */
  async function startWith(variables: Record<string, string>): Promise<Service> {
    const { auth, webPages, allowedOrigins } = readConfig({ AUTH: 'off', ...variables });
    const { databaseUrl } = service;
    started.push(await startService({ databaseUrl, auth, webPages, allowedOrigins }));
    return started.at(-1) as Service;
  }

  const pages: [string, Record<string, string>][] = [
    ['a page of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a page of another site in an old browser', { origin: 'https://evil.example' }],
    ['a request of another site without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['another page of this machine', { origin: 'http://localhost:4000', 'sec-fetch-site': 'same-site' }],
  ];

  test('no page of another site may act, wherever Dibs listens, and whatever origins may read answers', async () => {
    for (const variables of [{}, { HOST: '0.0.0.0' }, { HOST: '0.0.0.0', ALLOWED_ORIGINS: '*' }]) {
      const open = await startWith(variables as Record<string, string>);
      for (const [page, headers] of pages) {
        const answer = await open.call('POST', '/queues/off/pause', undefined, headers);
        expect([page, answer.status]).toEqual([page, 403]);
        expectProblem(answer, 403, 'forbidden');
      }
      expectProblem(await open.call('GET', '/queues/off'), 404, 'queue_not_found');
    }
  });

  test('the page of an origin that was added may', async () => {
    const open = await startWith({ HOST: '0.0.0.0', ALLOWED_ORIGINS: 'https://app.example' });
    const headers = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' };
    expect((await open.call('GET', '/queues', undefined, headers)).status).toBe(200);
  });

  test('the page of Dibs itself may, also behind a proxy that ends TLS', async () => {
    const open = await startWith({ HOST: '0.0.0.0' });
    const headers = { host: 'dibs.lan', origin: 'https://dibs.lan', 'sec-fetch-site': 'same-origin' };
    expect((await open.call('GET', '/queues', undefined, headers)).status).toBe(200);
  });

  test('on loopback, a foreign name that leads to this machine is forbidden', async () => {
    const open = await startWith({});
    for (const host of ['evil.example', 'evil.example:8080'])
      expectProblem(await open.call('GET', '/queues', undefined, { host }), 403, 'forbidden');
    expect((await open.call('GET', '/queues', undefined, { host: 'localhost:8080' })).status).toBe(200);
  });

  test('on a network, programs may call it by any name, until ALLOWED_HOSTS names some', async () => {
    const any = await startWith({ HOST: '0.0.0.0' });
    expect((await any.call('GET', '/queues', undefined, { host: 'dibs.lan:8080' })).status).toBe(200);
    const some = await startWith({ HOST: '0.0.0.0', ALLOWED_HOSTS: 'dibs' });
    expectProblem(await some.call('GET', '/queues', undefined, { host: 'evil.example' }), 403, 'forbidden');
    // Probes call it by its address. No name of a page leads there under an address.
    for (const host of ['dibs:8080', 'localhost:8080', '10.1.2.3:8080', '[2001:db8::1]:8080'])
      expect((await some.call('GET', '/queues', undefined, { host })).status, host).toBe(200);
  });
});
