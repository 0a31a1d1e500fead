import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import { lifeOf } from '../../routes/http/connection/oldConnections.ts';
import type { HttpLimits } from '../../src/config/limits.ts';
import type { RunningEngine } from '../../src/engine.ts';
import { createLedger } from '../../src/ledger.ts';
import { createMemory } from '../../src/memory.ts';
import { type RawClient, rawClient } from '../support/rawClient.ts';
import { until } from '../support/until.ts';

let app: Awaited<ReturnType<typeof buildApp>>;
let url: string;
let logged: { level: number; msg: string; times?: number }[];
async function start(limits: Partial<HttpLimits>) {
  logged = [];
  app = await buildApp({
    engine: { memory: createMemory(), ledger: createLedger(), admit: () => ({}) } as unknown as RunningEngine,
    logger: pino({ level: 'warn' }, { write: (line) => logged.push(JSON.parse(line)) }),
    maxPayloadBytes: 2 ** 20,
    limits,
  });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
}
afterEach(() => app.close());

const get = (headers = '', path = '/healthz') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const isServed = async (client: RawClient) => (await client.status()) === 200;

describe('MAX_CONNECTIONS', () => {
  test('closes new connections at once, and leaves the others alone', async () => {
    await start({ maxConnections: 3 });
    const served = [1, 2, 3].map(() => rawClient(url, get()));
    for (const client of served) expect(await isServed(client)).toBe(true);
    const refused = Array.from({ length: 5 }, () => rawClient(url, get()));
    await Promise.all(refused.map(({ closed }) => closed));
    expect(refused.map(({ answer }) => answer).join('')).toBe('');

    for (const client of served) client.answer = '';
    for (const { socket } of served) socket.write(get());
    for (const client of served) expect(await isServed(client)).toBe(true);
    served[0]?.socket.destroy();
    await until(async () => {
      const next = rawClient(url, get());
      await Promise.race([until(() => next.answer !== ''), next.closed]);
      return next.answer !== '';
    });
    for (const { socket } of served) socket.destroy();
  });

  test('leaves a line in the log, one for many clients', async () => {
    await start({ maxConnections: 1 });
    const first = rawClient(url, get());
    expect(await isServed(first)).toBe(true);
    await Promise.all(Array.from({ length: 20 }, () => rawClient(url).closed));
    await until(() => logged.length > 0);
    expect(logged.length).toBe(1);
    expect(logged[0]).toMatchObject({ level: 40, msg: expect.stringContaining('MAX_CONNECTIONS') });
    first.socket.destroy();
  });
});

describe('headers', () => {
  test.each([
    ['up to MAX_HEADERS are served', 20, 200],
    ['beyond MAX_HEADERS are refused, and none is left out silently', 21, 431],
    ['of a number that Node would cut are refused, too', 3000, 431],
  ])('%s', async (_, number, status) => {
    await start({ maxHeaders: 20, maxHeaderBytes: 65_536 });
    // Host is one of them.
    const client = rawClient(url, get('A: b\r\n'.repeat(number - 1)));
    expect(await client.status()).toBe(status);
    if (status === 431) expect(client.answer).toContain('"code":"headers_too_large"');
    client.socket.destroy();
  });

  test.each([
    ['a header', (bytes: number) => get(`A: ${'b'.repeat(bytes)}\r\n`)],
    ['many headers', (bytes: number) => get(`A: ${'b'.repeat(94)}\r\n`.repeat(Math.ceil(bytes / 100)))],
    ['the request line', (bytes: number) => get('', `/${'b'.repeat(bytes)}`)],
  ])('and the request line have MAX_HEADER_BYTES together: %s', async (_, request) => {
    await start({ maxHeaderBytes: 4096 });
    const small = rawClient(url, request(3500));
    expect([200, 404]).toContain(await small.status());
    const large = rawClient(url, request(4800));
    expect(await large.status()).toBe(431);
    expect(large.answer).toContain('"code":"headers_too_large"');
    expect(large.answer).toContain('4096 bytes');
    small.socket.destroy();
    large.socket.destroy();
  });

  test('may be larger than 16 KiB if MAX_HEADER_BYTES says so', async () => {
    await start({ maxHeaderBytes: 65_536 });
    const client = rawClient(url, get(`A: ${'b'.repeat(60_000)}\r\n`));
    expect(await isServed(client)).toBe(true);
    client.socket.destroy();
  });
});

describe('MAX_CONNECTION_SECONDS', () => {
  const closings = (answer: string) => answer.match(/^connection: close\r$/gim)?.length ?? 0;
  const answers = (answer: string) => answer.match(/HTTP\/1\.1 200 /g)?.length ?? 0;

  test('ends a connection that is old with an answer: each request before is answered, and so is the last', async () => {
    await start({ maxConnectionMs: 300 });
    const client = rawClient(url, get());
    let sent = 1;
    while (closings(client.answer) === 0) {
      await until(() => answers(client.answer) === sent);
      if (closings(client.answer) > 0) break;
      client.socket.write(get());
      sent++;
    }
    await client.closed;
    expect(answers(client.answer)).toBe(sent);
    expect(closings(client.answer)).toBe(1);
  });

  test('of requests that came together to an old connection, all are answered, and the last one ends it', async () => {
    await start({ maxConnectionMs: 1 });
    const client = rawClient(url);
    await once(client.socket, 'connect');
    await sleep(20);
    client.socket.write(get().repeat(5));
    await client.closed;
    expect(answers(client.answer)).toBe(5);
    expect(client.answer.split('HTTP/1.1 ').at(-1)).toMatch(/^connection: close\r$/im);
    expect(closings(client.answer)).toBe(1);
  });

  test('leaves a young connection alone, and any by default', async () => {
    for (const limits of [{ maxConnectionMs: 600_000 }, {}]) {
      await start(limits);
      const client = rawClient(url, get().repeat(5));
      await until(() => answers(client.answer) === 5);
      expect(closings(client.answer)).toBe(0);
      client.socket.destroy();
      await app.close();
    }
  });

  test('lets connections that were opened together end at different times, none later than it says', () => {
    expect(lifeOf(100_000, 0)).toBe(100_000);
    expect(lifeOf(100_000, 1)).toBe(80_000);
    const lives = new Set(Array.from({ length: 100 }, () => Math.round(lifeOf(100_000))));
    expect(lives.size).toBeGreaterThan(50);
  });
});

describe('KEEP_ALIVE_SECONDS', () => {
  test('is how long an idle connection stays open', async () => {
    await start({ keepAliveMs: 300 });
    const client = rawClient(url, get());
    expect(await isServed(client)).toBe(true);
    await client.closed;
  });

  test.each([[600], [1600]])(
    'holds beside ANSWER_TIMEOUT_SECONDS, also if both limits are equal for Node: %i ms',
    async (answerTimeoutMs) => {
      await start({ keepAliveMs: 600, answerTimeoutMs });
      // The answers fill the connection for some time. Then the client takes all of them, and is idle.
      const client = rawClient(url, get('', '/openapi.json').repeat(50), { reads: false });
      await until(() => client.socket.readableLength > 0);
      client.socket.resume();
      await once(client.socket, 'close');
    },
  );

  test('is longer than the 60 s of the usual proxies by default', async () => {
    await start({});
    const client = rawClient(url, get());
    expect(await isServed(client)).toBe(true);
    expect(Number(/keep-alive: timeout=(\d+)/i.exec(client.answer)?.[1])).toBeGreaterThan(70);
    client.socket.destroy();
  });
});
