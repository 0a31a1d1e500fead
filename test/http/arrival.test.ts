import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import type { RunningEngine } from '../../src/engine.ts';
import { createLedger } from '../../src/ledger.ts';
import { createMemory } from '../../src/memory.ts';
import { until } from '../support/until.ts';

const TIMEOUT_MS = 400;
const JSON_TYPE = 'Content-Type: application/json\r\n';

let app: Awaited<ReturnType<typeof buildApp>>;
let port: number;
const logged: string[] = [];
beforeAll(async () => {
  const logger = pino({ level: 'warn' }, { write: (line) => logged.push(line) });
  const claim = () => new Promise((resolve) => setTimeout(() => resolve([]), 3 * TIMEOUT_MS));
  const verbs = { claim, enqueue: async () => [] };
  const engine = {
    memory: createMemory(),
    ledger: createLedger(),
    admit: () => verbs,
  } as unknown as RunningEngine;
  app = await buildApp({
    engine,
    logger,
    maxPayloadBytes: 2 ** 20,
    limits: { requestTimeoutMs: TIMEOUT_MS },
  });
  port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(() => app.close());

/** A client that sends these bytes and never closes its side by itself. */
function open(bytes: string) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const client = { socket, answer: '' };
  socket.on('data', (chunk) => {
    client.answer += chunk;
  });
  socket.on('error', () => undefined);
  socket.write(bytes);
  return client;
}

const connections = () =>
  new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
const allGone = () =>
  until(async () => (await connections()) === 0, { withinMs: 20_000, what: 'closed connections' });

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const documentOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));

describe('a request that does not arrive in time', () => {
  test.each([
    ['nothing of it', ''],
    ['half a request line', 'GET /heal'],
    ['half the headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\n'],
    ['half a body', `POST /jobs HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 100\r\n\r\n{"queue":`],
    [
      'half a chunk',
      `POST /jobs HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\nff\r\n{`,
    ],
  ])('is 408 request_timeout, and its connection is closed: %s', async (_, bytes) => {
    const client = open(bytes);
    await once(client.socket, 'end');
    expect(client.answer).toMatch(/^content-type: application\/problem\+json/m);
    expect(client.answer).toMatch(/^x-request-id: ./m);
    expect(documentOf(client.answer)).toMatchObject({ status: 408, code: 'request_timeout' });
    expect(statusOf(client.answer)).toBe(408);
    await allGone();
    client.socket.destroy();
  });

  test('is late also if a byte of it comes now and then', async () => {
    const client = open(`POST /jobs HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 10000\r\n\r\n`);
    const trickle = setInterval(() => client.socket.write(' '), 20);
    await once(client.socket, 'end');
    clearInterval(trickle);
    expect(statusOf(client.answer)).toBe(408);
    await allGone();
    client.socket.destroy();
  });

  test('an answer may take longer', async () => {
    const client = open(
      'POST /jobs/claim HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    );
    await once(client.socket, 'end');
    expect(statusOf(client.answer)).toBe(200);
    client.socket.destroy();
  });
});

describe('a connection that only one side closes', () => {
  const closedByServer = async (client: { socket: Socket }) => {
    await allGone();
    client.socket.destroy();
  };

  test('is destroyed after the answer to a request that is not HTTP', async () => {
    const clients = Array.from({ length: 20 }, () => open('hello\r\n\r\n'));
    await Promise.all(clients.map(({ socket }) => once(socket, 'end')));
    for (const { answer } of clients) expect(statusOf(answer)).toBe(400);
    await Promise.all(clients.map(closedByServer));
  });

  test('is destroyed after the answer to a body that is too large', async () => {
    const client = open(`POST /jobs HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 99999999\r\n\r\n{`);
    await until(async () => client.answer.includes('payload_too_large'), {
      withinMs: 20_000,
      what: 'an answer',
    });
    await closedByServer(client);
  });

  test.each([
    ['after a request', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['while it waits for an answer', 'POST /jobs/claim HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'],
    ['in the middle of a body', `POST /jobs HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 100\r\n\r\n{`],
    ['before a request', ''],
  ])('is destroyed when the client closes its side %s', async (_, bytes) => {
    const client = open(bytes);
    await once(client.socket, 'connect');
    client.socket.end();
    await closedByServer(client);
  });
});

test('an upload that its client breaks off, or that is late, is no error of Dibs', async () => {
  const client = open(`POST /jobs HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 100\r\n\r\n{`);
  await once(client.socket, 'connect');
  client.socket.resetAndDestroy();
  await allGone();
  expect(logged).toEqual([]);
});
