import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startingApp } from '../../routes/http/connection/starting.ts';
import type { Access } from '../../src/access/access.ts';
import { HTTP_LIMITS } from '../../src/config/limits.ts';
import type { Hold } from '../../src/memory.ts';
import { speakingAccess } from '../support/access.ts';
import { type Request, requestOf, withQuery } from '../support/operations.ts';
import { type RawClient, rawClient } from '../support/rawClient.ts';
import { COMMON, DOCUMENTED } from '../support/refusals.ts';
import { type Service, startService } from '../support/service.ts';

type Common = (typeof COMMON)[number];
type Provoke = (name: string) => Promise<string | undefined>;

const MIB = 2 ** 20;
const services: Service[] = [];
async function start(options: Parameters<typeof startService>[0]): Promise<Service> {
  const service = await startService(options);
  services.push(service);
  return service;
}

/** The code with which a service refuses such a request. `service.call` fails for one that the document does not name there. */
async function codeOf(service: Service, name: string, change: Partial<Request> = {}) {
  const { method, path, body, headers } = { ...requestOf(name), ...change };
  const { body: problem, status } = await service.call(method, path, body, headers);
  return status < 400 ? undefined : (problem.code as string);
}

/** What takes memory at an operation that reads none of it from a body. */
const TAKES: Record<string, string> = {
  getJob: 'wait_seconds=1',
  getBatch: 'wait_seconds=1',
  listJobs: 'include=payload',
};

let provoke: Record<Common, Provoke>;
let fill: Hold;
const clients: RawClient[] = [];
const starting = startingApp(pino({ level: 'silent' }), () => 'Not yet.', {
  limits: HTTP_LIMITS,
  certificates: undefined,
});

beforeAll(async () => {
  const plain = await start({ auth: 'off', webPages: { hosts: [], origins: [] } });
  const { databaseUrl } = plain;
  const keyed = await start({ databaseUrl, access: speakingAccess() });
  const guessed = await start({
    databaseUrl,
    access: speakingAccess(),
    rates: { failuresPerMinute: 1 },
  });
  const full = await start({ databaseUrl, auth: 'off', maxMemoryBytes: MIB });
  fill = full.engine.memory.hold();
  for (const share of ['large', 'waiting'] as const) fill.add(MIB, share);
  const isOpen = () => {
    throw new Error('a bug');
  };
  const buggy = await start({ databaseUrl, access: { ...speakingAccess(), isOpen } as Access });
  const slow = await start({ databaseUrl, limits: { requestTimeoutMs: 200 } });
  const url = await slow.listen();

  provoke = {
    invalid_request: (name) => codeOf(plain, name, { path: withQuery(requestOf(name).path, 'nowhere=%ff') }),
    forbidden: (name) => codeOf(plain, name, { headers: { origin: 'https://evil.example' } }),
    headers_too_large: (name) => {
      const many = Array.from({ length: 200 }, (_, n) => [`x-${n}`, 'x']);
      return codeOf(plain, name, { headers: Object.fromEntries(many) });
    },
    // It is refused by its head: not one of so many is read.
    payload_too_large: (name) =>
      codeOf(plain, name, { body: ' ', headers: { 'content-length': String(17 * MIB) } }),
    unsupported_media_type: (name) =>
      codeOf(plain, name, { body: '{}', headers: { 'content-type': 'text/plain' } }),
    unauthorized: (name) => codeOf(keyed, name),
    rate_limited: async (name) => {
      const wrong = () => codeOf(guessed, name, { headers: { authorization: 'Bearer wrong' } });
      const code = await wrong();
      return code === 'unauthorized' ? wrong() : code;
    },
    internal: (name) => codeOf(buggy, name),
    overloaded: (name) => {
      const { body, path } = requestOf(name);
      // A body above 16 KiB needs room among the large ones.
      const large = body === undefined ? undefined : JSON.stringify(body) + ' '.repeat(20 * 1024);
      return codeOf(full, name, { body: large, path: TAKES[name] ? withQuery(path, TAKES[name]) : path });
    },
    unavailable: async (name) => {
      const { method, path } = requestOf(name);
      const answer = await starting.inject({ method: method as 'GET', url: path });
      return answer.statusCode < 400 ? undefined : answer.json().code;
    },
    request_timeout: async (name) => {
      const { method, path } = requestOf(name);
      // The head does not end.
      const client = rawClient(url, `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n`);
      clients.push(client);
      await client.closed;
      return /"code":"(\w+)"/.exec(client.answer)?.[1];
    },
  };
});
afterAll(async () => {
  for (const { socket } of clients) socket.destroy();
  await starting.close();
  fill.release();
  // The first one has the database.
  for (const service of services.reverse()) await service.stop();
});

describe.each(COMMON)('%s', (code) => {
  const names = Object.keys(DOCUMENTED);
  test('can be answered by each operation that names it in the document, and by no other', async () => {
    expect(names.length).toBeGreaterThan(40);
    const provoked = await Promise.all(
      names.map(async (name) => ((await provoke[code](name)) === code ? [name] : [])),
    );
    expect(provoked.flat()).toEqual(names.filter((name) => DOCUMENTED[name]?.includes(code)));
  });
});
