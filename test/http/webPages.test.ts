import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
    ['a name that only begins like a loopback one', { host: '127.0.0.1.evil.example' }],
    ['a name that only ends like one that was added', { host: 'evil.dibs.internal' }],
  ] as [string, Record<string, string>][])('%s is forbidden, and nothing is done', async (_, headers) => {
    const { body } = await service.call('POST', '/jobs', { queue: 'mail' });
    expectProblem(await purge(headers), 403, 'forbidden');
    expect((await service.call('GET', `/jobs/${body.id}`)).body.state).toBe('ready');
    expectProblem(await service.call('GET', '/queues', undefined, headers), 403, 'forbidden');
  });
});
