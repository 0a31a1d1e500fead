import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../routes/http/connection/fastify.ts';
import { clientAddress } from '../../routes/http/security/clientAddress.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

/** What the address of the client is, for a request from this peer. */
async function addressOf(
  trustProxy: string[],
  remoteAddress: string,
  headers: Record<string, string | string[]>,
): Promise<string> {
  const app = createApp(pino({ level: 'silent' }), { trustProxy });
  app.get('/', async (request, reply) => reply.send(clientAddress(request)));
  const { body } = await app.inject({ url: '/', remoteAddress, headers });
  await app.close();
  return body;
}
const by = (forwarded: string | string[]) => ({ 'x-forwarded-for': forwarded });

describe('the address of a client', () => {
  test.each([
    ['without TRUST_PROXY is that of the peer', [], '203.0.113.9', '198.51.100.7', '203.0.113.9'],
    [
      'from a stranger is his own, whatever he sends',
      ['10.0.0.0/8'],
      '203.0.113.9',
      '198.51.100.7',
      '203.0.113.9',
    ],
    ['behind a proxy is what the proxy says', ['10.0.0.0/8'], '10.1.2.3', '198.51.100.7', '198.51.100.7'],
    [
      'behind a proxy is what it appended, not what the client sent',
      ['10.0.0.0/8'],
      '10.1.2.3',
      '1.1.1.1, 198.51.100.7',
      '198.51.100.7',
    ],
    [
      'is no proxy, although the client says that it is one',
      ['10.0.0.0/8'],
      '10.1.2.3',
      '10.9.9.9, 198.51.100.7',
      '198.51.100.7',
    ],
    [
      'behind two proxies is before both',
      ['10.0.0.0/8', '192.0.2.1'],
      '10.1.2.3',
      '198.51.100.7, 192.0.2.1',
      '198.51.100.7',
    ],
    ['on this machine', ['loopback'], '127.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['on this machine over IPv6', ['loopback'], '::1', '2001:db8::7', '2001:db8::7'],
    [
      'behind a proxy on a socket for both families',
      ['10.0.0.0/8'],
      '::ffff:10.1.2.3',
      '198.51.100.7',
      '198.51.100.7',
    ],
    [
      'is the address of the proxy where the header has a port',
      ['10.0.0.0/8'],
      '10.1.2.3',
      '198.51.100.7:4711',
      '10.1.2.3',
    ],
    [
      'is the address of the proxy where the header is nonsense',
      ['10.0.0.0/8'],
      '10.1.2.3',
      'unknown',
      '10.1.2.3',
    ],
  ])('%s', async (_, trusted, peer, forwarded, address) => {
    expect(await addressOf(trusted, peer, by(forwarded))).toBe(address);
  });

  test('is that of the peer without a header', async () => {
    expect(await addressOf(['loopback'], '127.0.0.1', {})).toBe('127.0.0.1');
  });
});

describe('other headers of proxies', () => {
  let behind: Service;
  let alone: Service;
  beforeAll(async () => {
    const webPages = { hosts: [], origins: [] };
    behind = await startService({ trustProxy: ['loopback'], webPages });
    alone = await startService({ databaseUrl: behind.databaseUrl, webPages });
  });
  afterAll(async () => {
    await alone.stop();
    await behind.stop();
  });

  test('X-Forwarded-Host changes no Location, and lets in no host', async () => {
    const forged = { 'x-forwarded-host': 'evil.example' };
    const answer = await behind.call('POST', '/jobs', {}, forged);
    expect(answer.headers.location).toBe(`/jobs/${answer.body.id}`);
    const rebound = await behind.call(
      'POST',
      '/jobs',
      {},
      { host: 'evil.example', 'x-forwarded-host': 'localhost' },
    );
    expectProblem(rebound, 403, 'forbidden');
  });

  test('X-Forwarded-Proto of a trusted proxy tells the origin of its own pages, that of others does not', async () => {
    const page = { host: 'localhost', origin: 'https://localhost', 'x-forwarded-proto': 'https' };
    expect((await behind.call('POST', '/jobs', {}, page)).status).toBe(201);
    expectProblem(await alone.call('POST', '/jobs', {}, page), 403, 'forbidden');
    expectProblem(
      await behind.call('POST', '/jobs', {}, { ...page, 'x-forwarded-proto': 'http' }),
      403,
      'forbidden',
    );
  });
});
