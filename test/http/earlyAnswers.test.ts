import type { Socket } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import type { RunningEngine } from '../../src/engine.ts';
import { createLedger } from '../../src/ledger.ts';
import { createMemory } from '../../src/memory.ts';
import { rawClient } from '../support/rawClient.ts';
import { until } from '../support/until.ts';

/** A client could send this much in a second. */
const SENT_BYTES = 24 * 2 ** 20;
/**
 * A packet or two, and what Node reads ahead while it makes the answer. That may be 64 KiB of a body, twice: 0.8 MB where each
 * byte is a chunk.
 */
const READ_BYTES = 2 * 2 ** 20;

let app: Awaited<ReturnType<typeof buildApp>>;
let url: string;
let sockets: Socket[];
beforeAll(async () => {
  const verbs = { claim: () => new Promise(() => undefined) };
  const engine = {
    memory: createMemory(),
    ledger: createLedger(),
    admit: () => verbs,
  } as unknown as RunningEngine;
  const logger = pino({ level: 'silent' });
  const webPages = { hosts: [], origins: [] };
  app = await buildApp({ engine, logger, maxPayloadBytes: 2 ** 20, webPages });
  app.server.on('connection', (socket: Socket) => sockets.push(socket));
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
beforeEach(() => {
  sockets = [];
});
afterAll(() => app.close());

const head = (line: string, headers: string[]) =>
  `${line} HTTP/1.1\r\n${['Host: localhost', 'Content-Type: application/json', ...headers].join('\r\n')}\r\n\r\n`;

/** Sends a body without an end, and reads the answer when it has sent what it could. */
async function sendEndlessly(start: string, piece: string) {
  const client = rawClient(url, start);
  const part = Buffer.from(piece.repeat(Math.ceil(2 ** 20 / piece.length)));
  let sent = 0;
  const send = () => {
    while (client.socket.writable && sent < SENT_BYTES) {
      sent += part.length;
      if (!client.socket.write(part)) return;
    }
  };
  client.socket.on('drain', send);
  send();
  await client.closed;
  return client;
}

const CHUNKED = 'Transfer-Encoding: chunked';
const CHUNK = '1\r\n \r\n';
const FOREIGN = 'Origin: https://evil.example';

describe('of a request that is answered before its body, no more than a packet or two is read, and its client sees the answer', () => {
  test.each([
    ['of a web page of another site', 403, 'POST /jobs', [FOREIGN]],
    ['to a path without a route', 404, 'POST /nowhere', []],
    ['with a method that the path does not have', 405, 'PUT /jobs', []],
    ['with a method that no path has', 405, 'PROPFIND /jobs', []],
    ['with two hosts', 400, 'POST /jobs', ['Host: localhost']],
    ['with a query that is not UTF-8', 400, 'POST /jobs?a=%ff', []],
    ['with a path that is not UTF-8', 400, 'POST /queues/%ff/purge', []],
    ['with a body that is compressed', 415, 'POST /jobs', ['Content-Encoding: gzip']],
    ['of a route that takes no body', 400, 'GET /healthz', []],
  ])('a request %s, in chunks of one byte', async (_, status, line, headers) => {
    const client = await sendEndlessly(head(line, [...headers, CHUNKED]), CHUNK);
    expect(await client.status()).toBe(status);
    expect(client.answer).toMatch(/^connection: close$/im);
    expect(client.answer).toMatch(/\}$/);
    expect(sockets[0]?.bytesRead).toBeLessThan(READ_BYTES);
  });

  test('a body that is declared as no JSON', async () => {
    const start = `POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n${CHUNKED}\r\n\r\n`;
    const client = await sendEndlessly(start, CHUNK);
    expect(await client.status()).toBe(415);
    expect(sockets[0]?.bytesRead).toBeLessThan(READ_BYTES);
  });

  test.each([
    ['of a web page of another site', 403, [FOREIGN]],
    ['that is too large', 413, []],
  ])('a body %s, with its length', async (_, status, headers) => {
    const start = head('POST /jobs/batch', [...headers, `Content-Length: ${10 * SENT_BYTES}`]);
    const client = await sendEndlessly(start, ' ');
    expect(await client.status()).toBe(status);
    expect(client.answer).toMatch(/\}$/);
    expect(sockets[0]?.bytesRead).toBeLessThan(READ_BYTES);
  });

  test('a body behind a request that waits for its answer', async () => {
    const claim = head('POST /jobs/claim', ['Content-Length: 0']);
    const start = `${claim}${head('POST /jobs', [FOREIGN, CHUNKED])}`;
    const sending = sendEndlessly(start, CHUNK);
    let read = -1;
    const hasStopped = () => {
      const before = read;
      read = sockets[0]?.bytesRead ?? -1;
      return read > start.length && read === before;
    };
    await until(hasStopped, { everyMs: 300 });
    expect(read).toBeLessThan(READ_BYTES);
    sockets[0]?.destroy();
    await sending;
  });
});

describe('a connection is kept after a refusal', () => {
  test.each([
    ['without a body', ''],
    ['with a small body', 'x'.repeat(1000)],
  ])('of a request %s', async (_, body) => {
    const refused = head('POST /jobs', [FOREIGN, `Content-Length: ${body.length}`]) + body;
    const client = rawClient(url, refused);
    expect(await client.status()).toBe(403);
    client.socket.write(refused + head('GET /healthz', []));
    await until(() => client.answer.includes('HTTP/1.1 200'));
    expect(client.answer.match(/HTTP\/1\.1 403/g)).toHaveLength(2);
    client.socket.destroy();
  });
});
