import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { COPIES } from '../../src/memory.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { head, headOf, type RawClient, rawClient } from '../support/rawClient.ts';
import { type Service, startService } from '../support/service.ts';
import { SEVERAL } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Of this budget, a half is for large bodies and answers, and an eighth for small ones. */
const BUDGET = 3 * MIB;
const BODY = 100 * KIB;
/** How many such bodies of one caller fit. */
const FIT = Math.floor((BUDGET * 3) / 8 / COPIES / BODY);

/** The service of all tests that do not start their own. */
let common: Service;
let service: Service;
let at: ReturnType<typeof moves>;
let url: string;
const clients: RawClient[] = [];
const holds: { release(): void }[] = [];

async function use(used: Service): Promise<void> {
  service = used;
  at = moves(service);
  url = urls.get(service) ?? (await service.listen());
  urls.set(service, url);
}
const urls = new Map<Service, string>();

/** Starts a service for one test. */
const startOwn = async (options: Parameters<typeof startService>[0] = {}) =>
  use(await startService({ maxMemoryBytes: BUDGET, ...options }));

beforeAll(async () => {
  common = await startService({ maxMemoryBytes: BUDGET });
});
afterAll(() => common.stop());
beforeEach(() => use(common));
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  for (const hold of holds.splice(0)) hold.release();
  await nothingIsHeld();
  if (service !== common) await service.stop();
});

function open(bytes: string, options?: { reads: boolean }): RawClient {
  const client = rawClient(url, bytes, options);
  clients.push(client);
  return client;
}

const used = () => service.engine.memory.used();
const nothingIsHeld = () => until(() => used() === 0, { what: 'an empty budget' });
const held = (bytes: number) => until(() => used() === bytes, { what: `${bytes} bytes held` });

/** Heads of requests whose bodies do not come yet, as many as fit. */
async function fillWithBodies(path = '/jobs/batch'): Promise<RawClient[]> {
  const waiting = Array.from({ length: FIT }, () => open(headOf(path, BODY)));
  await held(FIT * BODY * COPIES);
  return waiting;
}

const overloaded = async (client: RawClient) => {
  expect(await client.status()).toBe(503);
  expect(client.answer).toMatch(/^retry-after: 1$/m);
  expect(client.answer).toMatch(/^connection: close$/m);
  expect(client.answer).toContain('"code":"overloaded"');
  expect(client.answer).toContain('"outcome":"not_done"');
  await client.closed;
};

/** Jobs of so many bytes in a queue. Returns their ids. */
async function jobsOf(queue: string, count: number, bytes: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await at.enqueue({ queue, payload: 'x'.repeat(bytes) })).id);
  await nothingIsHeld();
  return ids;
}

/** Takes all the memory for large bodies and answers. */
function exhaust() {
  const hold = service.engine.memory.hold();
  hold.add(BUDGET / 2);
  holds.push(hold);
  return hold;
}

describe('a body', () => {
  test('beyond the budget is refused as overloaded, before a byte of it is sent', async () => {
    await fillWithBodies();
    await overloaded(open(headOf('/jobs/batch', BODY)));
    expect(used()).toBe(FIT * BODY * COPIES);
  });

  test('in chunks is refused as soon as it does not fit any more', async () => {
    const client = open(head('/jobs/batch', 'Transfer-Encoding: chunked'));
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const timer = setInterval(() => client.socket.write(chunk), 5);
    await overloaded(client);
    clearInterval(timer);
    await nothingIsHeld();
  });

  test('in chunks of one byte takes the memory of its bytes, and not of its chunks', async () => {
    await startOwn({ maxMemoryBytes: 128 * MIB });
    const body = `{"jobs":[{"payload":"${'x'.repeat(20 * KIB)}"}]}`;
    const chunks = [...body].map((c) => `1\r\n${c}\r\n`).join('');
    const client = open(`${head('/jobs/batch', 'Transfer-Encoding: chunked')}${chunks}0\r\n\r\n`);
    expect(await client.status()).toBe(201);
    await nothingIsHeld();
  });

  test('of a small request always finds room beside large ones', async () => {
    await fillWithBodies();
    const { id } = await at.enqueue({ queue: 'small', payload: 'x'.repeat(10 * KIB) });
    const job = await at.claimOne('small');
    expect(job.id).toBe(id);
    expect((await at.settle('ack', job)).status).toBe(200);
  });

  test('gives its memory back when the request is answered', async () => {
    const [client] = await fillWithBodies();
    client?.socket.write(`{"jobs":[{}]}`.padEnd(BODY));
    expect(await client?.status()).toBe(201);
    await held((FIT - 1) * BODY * COPIES);
    const next = open(`${headOf('/jobs/batch', BODY)}${`{"jobs":[{}]}`.padEnd(BODY)}`);
    expect(await next.status()).toBe(201);
  });

  test.each([
    ['not JSON', 'x'],
    ['refused', '{"jobs":[{"unknown":1}]}'],
  ])('gives its memory back when it is %s', async (_, text) => {
    const client = open(headOf('/jobs/batch', BODY) + text.padEnd(BODY));
    expect(await client.status()).toBe(400);
    await nothingIsHeld();
  });

  test('gives its memory back when the client hangs up', async () => {
    for (const { socket } of await fillWithBodies()) socket.resetAndDestroy();
    await nothingIsHeld();
  });

  test('of a route without one, or of no route, holds nothing', async () => {
    for (const path of ['/nowhere', '/healthz', '/queues'])
      expect(await open(headOf(path, BODY)).status()).toBeGreaterThanOrEqual(404);
    await nothingIsHeld();
  });
});

describe('a body that never arrives whole', () => {
  beforeEach(async () => {
    await startOwn({ limits: { requestTimeoutMs: 400 } });
  });

  test.each([
    ['with its length', headOf('/jobs/batch', BODY), ' '],
    ['in chunks', head('/jobs/batch', 'Transfer-Encoding: chunked'), '1\r\n \r\n'],
    [
      'with a large part of it in chunks',
      head('/jobs/batch', 'Transfer-Encoding: chunked'),
      `4000\r\n${' '.repeat(0x4000)}\r\n`,
    ],
  ])('is closed and gives its memory back, also if bytes of it come: %s', async (_, start, part) => {
    const client = open(start);
    let parts = 0;
    const timer = setInterval(() => parts++ < 4 && client.socket.write(part), 20);
    await until(() => used() > 0, { what: 'a body that arrives' });
    expect(await client.status()).toBe(408);
    clearInterval(timer);
    await client.closed;
    await nothingIsHeld();
  });
});

test('thousands of requests that break off leave nothing of the budget held', async () => {
  const body = `{"jobs":[{"queue":"broken","payload":"${'x'.repeat(30 * KIB)}"}]}`;
  const requests = [
    headOf('/jobs/batch', body.length) + body,
    `${head('/jobs/batch', 'Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    `${headOf('/jobs', 20)}{"queue":"broken"}  `,
    headOf('/jobs/claim', 40) + '{"queues":["none"],"wait_seconds":30}'.padEnd(40),
    headOf('/jobs/claim', 40) + '{"queues":["broken"],"limit":2}'.padEnd(40),
    headOf('/jobs/nowhere/at/all', body.length) + body,
    'GET /jobs?include=payload HTTP/1.1\r\nHost: x\r\n\r\n',
    'HEAD /jobs?include=payload HTTP/1.1\r\nHost: x\r\n\r\n',
  ];
  const once = (i: number) =>
    new Promise<void>((resolve) => {
      const request = requests[i % requests.length] as string;
      const { socket, closed } = rawClient(url, request.slice(0, Math.ceil(Math.random() * request.length)));
      setTimeout(() => (i % 3 === 0 ? socket.end() : socket.resetAndDestroy()), Math.random() * 20);
      closed.then(resolve);
    });
  for (let i = 0; i < 3000; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => once(i + k)));
  await nothingIsHeld();
});

describe('an answer', () => {
  test('that nobody reads is closed after a time, and gives its memory back', async () => {
    await startOwn({ maxMemoryBytes: 128 * MIB, limits: { answerTimeoutMs: 600 } });
    await jobsOf('large', 10, MIB - 100);
    const client = open('GET /jobs?include=payload HTTP/1.1\r\nHost: x\r\n\r\n', { reads: false });
    client.socket.pause();
    await until(() => used() > 0, { what: 'an answer' });
    await nothingIsHeld();
  });

  // Of three databases, each gives a third of a page: this queue has a smaller one, which is read too soon.
  test.skipIf(SEVERAL)(
    'that is read slowly is not closed, however long it takes',
    async () => {
      await startOwn({ maxMemoryBytes: 128 * MIB, limits: { answerTimeoutMs: 4000 } });
      await jobsOf('large', 10, MIB - 100);
      const client = open('GET /jobs?include=payload HTTP/1.1\r\nHost: x\r\n\r\n', { reads: false });
      const { socket } = client;
      let bytes = 0;
      // A part each 40 ms: all of it takes longer than the time limit.
      socket.on('data', (chunk) => {
        bytes += chunk.length;
        socket.pause();
        setTimeout(() => socket.resume(), 40);
      });
      await until(() => bytes > 10 * (MIB - 100), { withinMs: 60_000, what: 'the whole answer' });
      await nothingIsHeld();
    },
    120_000,
  );

  test('too large for what is left is refused as overloaded, and a small one is not', async () => {
    const [large] = await jobsOf('too.large', 1, 200 * KIB);
    const [small] = await jobsOf('small', 1, 10);
    const hold = exhaust();
    expectProblem(await service.call('GET', `/jobs/${large}`), 503, 'overloaded');
    expect((await service.call('GET', `/jobs/${small}`)).status).toBe(200);
    hold.release();
    expect((await service.call('GET', `/jobs/${large}`)).status).toBe(200);
    await nothingIsHeld();
  });

  test('of a list is refused as overloaded before the jobs are fetched', async () => {
    exhaust();
    expectProblem(await service.call('GET', '/jobs?include=payload'), 503, 'overloaded');
    expectProblem(await service.call('GET', '/schedules'), 503, 'overloaded');
  });

  test('with the finished job is the job as enqueued, when there is no room for more', async () => {
    await at.configure('waited', { retention_seconds: 100 });
    const asked = service.call(
      'POST',
      '/jobs',
      { queue: 'waited', payload: 'x'.repeat(200 * KIB) },
      { prefer: 'wait=20' },
    );
    const job = await at.claimOne('waited', { wait_seconds: 20 });
    exhaust();
    await at.settle('ack', job);
    expect((await asked).status).toBe(201);
  });
});

describe('a claim', () => {
  test('is refused as overloaded when its job is too large for what is left, and leases nothing', async () => {
    const [id] = await jobsOf('claimed', 1, 200 * KIB);
    const hold = exhaust();
    expectProblem(await service.call('POST', '/jobs/claim', { queues: ['claimed'] }), 503, 'overloaded');
    expect((await at.get(id as string).catch(() => undefined)) ?? { state: 'ready' }).toMatchObject({
      state: 'ready',
    });
    hold.release();
    expect(await at.claimOne('claimed')).toMatchObject({ id, deliveries: 1, attempt: 1 });
  });

  test('is answered with fewer jobs when there is no room for all', async () => {
    const ids = await jobsOf('some', 30, 50 * KIB);
    const seen: string[] = [];
    let claims = 0;
    for (; seen.length < ids.length; claims++)
      seen.push(...(await at.claim('some', { limit: 30 })).map(({ id }: { id: string }) => id));
    expect(seen).toEqual(ids);
    expect(claims).toBeGreaterThan(3);
    await nothingIsHeld();
  });

  test('waits only while there is room for its wait lines', async () => {
    await startOwn();
    const wish = (i: number) => ({
      queues: Array.from({ length: 16 }, (_, q) => `wait.${i}.${q}`),
      wait_seconds: 50,
    });
    const waiting: Promise<unknown>[] = [];
    const answers: number[] = [];
    for (let i = 0; i < 40; i++)
      waiting.push(service.call('POST', '/jobs/claim', wish(i)).then(({ status }) => answers.push(status)));
    await until(() => answers.length > 0, { what: 'a refusal' });
    expect(new Set(answers)).toEqual(new Set([503]));
    expect(used()).toBeLessThanOrEqual((BUDGET * 3) / 8);
    // Requests that do not wait go on.
    await at.enqueue({ queue: 'other' });
    expect(await at.claim('other')).toHaveLength(1);
    service.engine.stopWaiting();
    await Promise.all(waiting);
    await nothingIsHeld();
  });
});

test('a page of a list is cut when there is no room for more, and its cursors lead to every job once', async () => {
  await startOwn({ maxMemoryBytes: 12 * MIB });
  const ids: string[] = [];
  for (let i = 0; i < 40; i++)
    ids.push(
      (await at.enqueue({ queue: 'long', payload: randomBytes(1 + (i % 7) * 40 * KIB).toString('hex') })).id,
    );
  for (const [order, expected] of [
    ['oldest', ids],
    ['newest', ids.toReversed()],
  ] as const) {
    const pages: string[][] = [];
    for (let cursor = ''; ; ) {
      const { body } = await service.call('GET', `/jobs?include=payload&limit=30&order=${order}${cursor}`);
      pages.push(body.jobs.map(({ id }: { id: string }) => id));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(pages.flat()).toEqual(expected);
    expect(pages.length).toBeGreaterThan(3);
    expect(Math.min(...pages.map((page) => page.length))).toBeGreaterThan(0);
  }
});
