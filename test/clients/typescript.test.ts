import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  Ack,
  Client,
  ConnectionError,
  claimJobs,
  enqueueJob,
  getBatch,
  getJob,
  Nack,
  Producer,
  settleJobs,
  Worker,
  type WorkerEvent,
} from '../../clients/typescript/src/index.ts';
import { FakeDibs, fakeJob } from '../../clients/typescript/src/testing.ts';
import { certificateMaker } from '../support/certificates.ts';
import { until } from '../support/until.ts';

/** A problem document of Dibs. */
const refusal = (code: string) =>
  JSON.stringify({ type: `urn:problem-type:dibs:${code}`, code, detail: 'No.' });

test('a handler is tested with a job that is made up', async () => {
  const handler = async (job: ReturnType<typeof fakeJob<{ to: string }>>) => `sent to ${job.payload.to}`;
  expect(await handler(fakeJob({ to: 'ada' }))).toBe('sent to ada');
});

test('in the fake, a claim that is repeated gets the same jobs, and takes the place of one that waits', async () => {
  const { client } = new FakeDibs();
  for (let i = 0; i < 3; i++) await enqueueJob(client, { queue: 'q' });
  const claim = { queues: ['q'], limit: 2, claim_id: 'a' };
  const first = await claimJobs(client, claim);
  expect(first.jobs).toHaveLength(2);
  expect(await claimJobs(client, { ...claim, limit: 1 })).toEqual(first);
  const acks = first.jobs.map(({ id, lease_token }) => ({ id, lease_token }));
  await settleJobs(client, { acks });
  expect((await claimJobs(client, claim)).jobs.map(({ id }) => id)).toEqual(['job-3']);
  const waiting = claimJobs(client, { queues: ['empty'], wait_seconds: 60, claim_id: 'b' });
  await claimJobs(client, { queues: ['empty'], claim_id: 'b' });
  expect(await waiting).toEqual({ jobs: [] });
});

test('producers and workers are tested with a Dibs in memory', async () => {
  const dibs = new FakeDibs();
  const producer = new Producer(dibs.client, { queue: 'mail', headers: () => ({ tenant: 'acme' }) });
  await producer.enqueue({ payload: { n: 1 } });
  await producer.enqueueAll([{ payload: { n: 2 } }, { payload: { n: 3 } }]);
  const order: string[] = [];
  const worker = new Worker<{ n: number }>(
    dibs.client,
    {
      queues: ['mail'],
      waitSeconds: 0.05,
      middleware: [
        async (job, next) => {
          order.push(`outer ${job.headers.tenant}`);
          return next();
        },
        async (_, next) => {
          order.push('inner');
          return next();
        },
      ],
    },
    async (job) => {
      if (job.payload.n === 2) throw new Nack('never', { retry: false });
      if (job.payload.n === 3) return new Ack({ result: 'done', enqueue: [{ queue: 'receipts' }] });
      return job.payload.n;
    },
  );
  const running = worker.run();
  await until(() => dibs.enqueued('mail').every(({ state }) => state === 'completed' || state === 'dead'));
  await worker.stop();
  await running;
  expect(dibs.enqueued('mail').map(({ state, result }) => [state, result])).toEqual([
    ['completed', 1],
    ['dead', undefined],
    ['completed', 'done'],
  ]);
  expect(dibs.enqueued('receipts')).toHaveLength(1);
  expect(order.slice(0, 2)).toEqual(['outer acme', 'inner']);
});

test('an observer is told what the worker does, and one that throws does no harm', async () => {
  const dibs = new FakeDibs();
  await enqueueJob(dibs.client, { queue: 'q' });
  const seen: WorkerEvent['type'][] = [];
  const worker = new Worker(
    dibs.client,
    {
      queues: ['q'],
      waitSeconds: 0.05,
      observe(event) {
        seen.push(event.type);
        throw new Error('no matter');
      },
    },
    () => undefined,
  );
  const running = worker.run();
  await until(() => seen.includes('settled'));
  await worker.stop();
  await running;
  expect(seen).toEqual(['claimed', 'started', 'ended', 'settled', 'stopping', 'stopped']);
});

test('an answer that is not 2xx is an error with its code, and the key is sent', async () => {
  let sent: Headers | undefined;
  const client = new Client({
    url: 'http://dibs.test/',
    key: async () => 'dibs_key',
    fetch: async (_, init) => {
      sent = new Headers(init?.headers);
      return new Response(refusal('job_not_found'), { status: 404 });
    },
  });
  await expect(getJob(client, 'a/b')).rejects.toMatchObject({ code: 'job_not_found', status: 404 });
  expect(sent?.get('authorization')).toBe('Bearer dibs_key');
});

test('a time in a query is written in milliseconds, without an exponent', async () => {
  const times: (string | null)[] = [];
  const client = new Client({
    fetch: async (url) => {
      times.push(new URL(String(url)).searchParams.get('wait_seconds'));
      return new Response('{}');
    },
  });
  for (const wait_seconds of [20, 1.5, 0.0126, 1e-7]) await getBatch(client, 'b', { wait_seconds });
  expect(times).toEqual(['20', '1.5', '0.013', '0']);
});

test('an endless answer is a ConnectionError, and is read no further', async () => {
  const part = new Uint8Array(2 ** 20).fill(120);
  let isHungUp = false;
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(part),
      cancel() {
        isHungUp = true;
      },
    });
  const client = new Client({ fetch: async () => new Response(endless()) });
  await expect(getJob(client, 'a')).rejects.toThrow('the answer is longer than 128 MiB');
  expect(isHungUp).toBe(true);
});

test('the scheme of a URL may be in large letters', () => {
  expect(new Client({ url: 'HTTPS://Dibs.example/' }).url).toBe('https://Dibs.example');
});

test('a job whose queue is undefined goes into the queue of its producer', async () => {
  const dibs = new FakeDibs();
  const producer = new Producer(dibs.client, { queue: 'mail' });
  await producer.enqueue({ queue: undefined });
  expect(dibs.enqueued('mail')).toHaveLength(1);
});

test('options that are changed later change no producer and no worker that has them', async () => {
  const dibs = new FakeDibs();
  const produced = { queue: 'mail' };
  const producer = new Producer(dibs.client, produced);
  const payloads: unknown[] = [];
  const worked = { queues: ['mail'], waitSeconds: 0.05, decode: () => 'as given' };
  const worker = new Worker(dibs.client, worked, ({ payload }) => void payloads.push(payload));
  produced.queue = 'other';
  worked.decode = () => 'later';
  await producer.enqueue({});
  const running = worker.run();
  await until(() => payloads.length > 0);
  await worker.stop();
  await running;
  expect(payloads).toEqual(['as given']);
});

test('a repeat sends what the first request sent, whatever became of the payload meanwhile', async () => {
  const payload = { n: 1 };
  const bodies: unknown[] = [];
  const fetch = async (_: unknown, init?: RequestInit) => {
    bodies.push(init?.body);
    payload.n++;
    if (bodies.length === 1) throw new Error('it broke');
    return new Response('{"id":"a","jobs":[{"id":"a"}]}');
  };
  const producer = new Producer(new Client({ fetch: fetch as typeof globalThis.fetch }));
  for (const enqueue of [
    () => producer.enqueue({ payload }),
    () => producer.enqueueAll([{ payload }]),
    () => producer.batch({ queue: 'q', jobs: [{ payload }] }),
  ]) {
    bodies.length = 0;
    await enqueue();
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toBe(bodies[0]);
  }
});

test('without DIBS_URL it is the Dibs of this machine', () => {
  for (const env of [{}, { DIBS_URL: '' }]) expect(Client.fromEnv(env).url).toBe('http://127.0.0.1:8080');
});

test('what can never be sent is an error at once', async () => {
  let requests = 0;
  const client = new Client({ fetch: async () => new Response(String(++requests), { status: 503 }) });
  const producer = new Producer(client, { retrySeconds: 60 });
  await expect(producer.enqueue({}, { idempotencyKey: 'a\nb' })).rejects.toThrow(
    'the header Idempotency-Key',
  );
  await expect(producer.enqueue({ payload: 1n })).rejects.toThrow(TypeError);
  for (const url of ['localhost:8080', 'http://', 'http://a:b@c', 'http://h:70000', 'ftp://h', 'http://h?q'])
    expect(() => new Client({ url }), url).toThrow(TypeError);
  for (const timeoutSeconds of [Number.NaN, -1, '5' as never])
    expect(() => new Client({ timeoutSeconds }), String(timeoutSeconds)).toThrow(RangeError);
  for (const timeoutSeconds of [Number.NaN, -1, '5' as never, null as never])
    await expect(getJob(client, 'a', { timeoutSeconds })).rejects.toThrow(RangeError);
  for (const resumeSeconds of [Number.NaN, -1, 61, '10' as never, null as never])
    expect(() => new Worker(client, { queues: ['q'], resumeSeconds }, () => undefined)).toThrow(RangeError);
  expect(requests).toBe(0);
});

test('a worker runs once', async () => {
  const worker = new Worker(new FakeDibs().client, { queues: ['q'] }, () => undefined);
  await worker.stop();
  await worker.run();
  await expect(worker.run()).rejects.toThrow('runs once');
});

describe('over node:http', () => {
  /** A server that answers each request by `answer`, and a client of it. */
  async function serving(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    const sockets = new Set<Socket>();
    const server = createServer(answer).on('connection', (socket) => sockets.add(socket));
    await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const { port } = server.address() as AddressInfo;
    return { client: new Client({ url: `http://127.0.0.1:${port}` }), sockets };
  }

  test('requests share a connection, and a character that two packets share arrives whole', async () => {
    const { client, sockets } = await serving((request, response) => {
      request.resume().on('end', () => {
        const [head, tail] = ['{"id":"caf\xc3', '\xa9"}'].map((part) => Buffer.from(part, 'latin1'));
        response.write(head);
        setTimeout(() => response.end(tail), 5);
      });
    });
    for (let i = 0; i < 3; i++) expect(await enqueueJob(client, {})).toEqual({ id: 'café' });
    expect(sockets.size).toBe(1);
  });

  test('an https URL is for a server whose certificate holds', async () => {
    const maker = await certificateMaker();
    onTestFinished(() => maker.remove());
    const authority = maker.authority('ca');
    const { cert, key } = maker.signed(authority, { subject: '/CN=dibs', names: ['IP:127.0.0.1'] });
    const server = https.createServer({ cert, key }, (_, response) => response.end('{"id":"a"}'));
    await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
      delete https.globalAgent.options.ca;
    });
    const client = new Client({ url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` });
    await expect(getJob(client, 'a')).rejects.toBeInstanceOf(ConnectionError);
    https.globalAgent.options.ca = authority.cert;
    expect(await getJob(client, 'a')).toEqual({ id: 'a' });
  });

  test('a refusal has its code and its Retry-After', async () => {
    const { client } = await serving((_, response) =>
      response.writeHead(429, { 'retry-after': '3' }).end(refusal('queue_full')),
    );
    await expect(getJob(client, 'a')).rejects.toMatchObject({ code: 'queue_full', retryAfterSeconds: 3 });
  });

  test('a signal hangs up, and its reason is the error', async () => {
    const hangUp = new AbortController();
    const reason = new Error('no longer');
    let hungUp: Promise<unknown> | undefined;
    const { client } = await serving((request) => {
      hungUp = once(request.socket, 'close');
      hangUp.abort(reason);
    });
    await expect(getJob(client, 'a', { signal: hangUp.signal })).rejects.toBe(reason);
    await hungUp;
    await expect(getJob(client, 'a', { signal: hangUp.signal })).rejects.toBe(reason);
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ['before its head', (response) => response.destroy()],
    [
      'in the middle',
      (response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"id":', () => response.destroy());
      },
    ],
  ])('an answer that breaks off %s is a ConnectionError', async (_, breakOff) => {
    const { client } = await serving((__, response) => breakOff(response));
    await expect(getJob(client, 'a')).rejects.toBeInstanceOf(ConnectionError);
  });

  test('an endless answer is a ConnectionError, and is read no further', async () => {
    const part = 'x'.repeat(2 ** 20);
    let hangUp: () => void;
    const hungUp = new Promise<void>((resolve) => {
      hangUp = resolve;
    });
    const { client } = await serving((_, response) => {
      response.on('close', hangUp);
      const more = () => response.write(part, (error) => error || more());
      more();
    });
    await expect(getJob(client, 'a', { timeoutSeconds: 600 })).rejects.toThrow('longer than 128 MiB');
    await hungUp;
  });

  test('no answer in time is a ConnectionError that says so', async () => {
    const { client } = await serving(() => undefined);
    await expect(getJob(client, 'a', { timeoutSeconds: 0.1 })).rejects.toThrow('no answer within 100 ms');
  });
});

test('a request that fails with the new key of a file says once what failed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dibs-key-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const keyFile = join(folder, 'key');
  await writeFile(keyFile, 'old');
  let requests = 0;
  const fetch = async () => {
    if (++requests === 2) throw new Error('it broke');
    await writeFile(keyFile, 'new');
    return new Response(refusal('unauthorized'), { status: 401 });
  };
  await expect(getJob(new Client({ keyFile, fetch }), 'a')).rejects.toThrow(/^GET \/jobs\/a: it broke$/);
});
