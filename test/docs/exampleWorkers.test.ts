import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runnableKinds, startWorker } from '../support/examples.ts';
import { type Service, startService } from '../support/service.ts';

const TIMEOUT = 120_000;
const TOKEN = 'the token';

let service: Service;
let url: string;
let folder: string;
let path: string;
beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  folder = await mkdtemp(join(tmpdir(), 'dibs-workers-'));
  path = join(folder, 'a file');
  await writeFile(path, 'content');
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

type Handler = (response: ServerResponse) => unknown;

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) {
  const type = status < 300 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(body));
}

/** A service that answers each claim with the next of these handlers, and every ack with 409. */
async function difficultService(claims: Handler[]) {
  const acks: string[] = [];
  const leaseLost = { status: 409, code: 'lease_lost', title: 'The lease is over', detail: 'It is over.' };
  const server = createServer(async (request: IncomingMessage, response) => {
    const body = await text(request);
    if (request.url === '/jobs/claim') return claims.shift()?.(response);
    acks.push(body);
    if (request.url === '/jobs/settle')
      return send(response, 200, { acks: [{ id: 'job-1', status: 409, problem: leaseLost }], nacks: [] });
    return send(response, 409, leaseLost);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    acks,
    close: () => server.close().closeAllConnections(),
  };
}

describe.each(runnableKinds)('the %s worker', (kind) => {
  test(
    'goes on after a broken connection, a 503 and a lost lease, and hangs up its waiting claim at SIGTERM',
    async () => {
      let waits: (response: ServerResponse) => void = () => undefined;
      const waiting = new Promise<ServerResponse>((resolve) => {
        waits = resolve;
      });
      let refusedAt = 0;
      let backAt = 0;
      const fake = await difficultService([
        (response) => response.destroy(),
        (response) => {
          refusedAt = Date.now();
          send(response, 503, { code: 'unavailable', detail: 'Not now.' }, { 'retry-after': '2' });
        },
        (response) => {
          backAt = Date.now();
          send(response, 200, { jobs: [{ id: 'job-1', lease_token: TOKEN, payload: { path } }] });
        },
        (response) => waits(response),
      ]);
      const worker = startWorker(kind, { DIBS_URL: fake.url });
      try {
        const held = await waiting;
        expect(backAt - refusedAt).toBeGreaterThanOrEqual(1900);
        expect(fake.acks.length).toBe(1);
        expect(fake.acks[0]).toContain(TOKEN);
        expect(fake.acks[0]).toContain(createHash('sha256').update('content').digest('hex'));

        const hungUp = once(held, 'close');
        worker.stop();
        await hungUp;
        expect(await worker.ended).toEqual({ code: 0, signal: null });
      } finally {
        worker.signal('SIGKILL');
        fake.close();
      }
    },
    TIMEOUT,
  );

  test(
    'makes the job of an unreadable file dead at once, with a reason, and goes on',
    async () => {
      const queue = `unreadable-${kind}`;
      await service.call('PUT', `/queues/${queue}`, { retention_seconds: 60 });
      const enqueue = async (path: string) =>
        (await service.call('POST', '/jobs', { queue, payload: { path } })).body.id as string;
      const missing = await enqueue(join(folder, 'missing'));
      const good = await enqueue(path);
      const state = async (id: string) => (await service.call('GET', `/jobs/${id}`)).body;

      const worker = startWorker(kind, { DIBS_URL: url, QUEUE: queue });
      try {
        while ((await state(good)).state !== 'completed') await sleep(50);
        while ((await state(missing)).state !== 'dead') await sleep(50);
        expect(await state(missing)).toMatchObject({ attempt: 1, worker: null });
        expect((await state(missing)).last_error).toBeTruthy();
        worker.stop();
        expect(await worker.ended).toEqual({ code: 0, signal: null });
      } finally {
        worker.signal('SIGKILL');
      }
    },
    TIMEOUT,
  );

  test(
    'ends with an error when its claim is refused',
    async () => {
      const worker = startWorker(kind, { DIBS_URL: url, QUEUE: 'not a queue name' });
      expect((await worker.ended).code).toBe(1);
    },
    TIMEOUT,
  );
});
