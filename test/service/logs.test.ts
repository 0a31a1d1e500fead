import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { ended, http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: lines of every kind.
type Line = any;

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const headers = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, 'x-request-id': 'r1' };

/** What the collector was sent. */
const received: { path: string; type: string; body: string }[] = [];
const collector = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const type = String(request.headers['content-type']);
    received.push({ path: request.url ?? '', type, body: Buffer.concat(chunks).toString('latin1') });
    response.end();
  });
});

let database: Awaited<ReturnType<typeof createDatabase>>;
let replica: Replica;
beforeAll(async () => {
  database = await createDatabase();
  await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done));
  replica = await startReplica({
    DATABASE_URL: database.url,
    LOG_LEVEL: 'debug',
    ACCESS_LOG: 'on',
    SLOW_ROUND_TRIP_MS: '200',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_SERVICE_NAME: 'our-queue',
  });
});
afterAll(async () => {
  await replica?.end('SIGKILL');
  collector.closeAllConnections();
  collector.close();
  await database?.drop();
});

const lines = (msg: string): Line[] =>
  replica.lines.flatMap((line) => (line.startsWith('{') && line.includes(msg) ? [JSON.parse(line)] : []));
const call = (method: string, path: string, body?: object) =>
  http(replica.url, method, path, body, { headers });

test('the version is in the log at the start, and in GET /version', async () => {
  expect(lines('is ready at')).toMatchObject([
    { level: 30, msg: expect.stringContaining(`Dibs ${version} `) },
  ]);
  expect((await call('GET', '/version')).body).toMatchObject({ version });
});

test('OTEL_EXPORTER_OTLP_ENDPOINT alone sends spans to a collector', async () => {
  await call('POST', '/jobs', { queue: 'mail', payload: 'private' });
  const found = await until(() => received.find(({ body }) => body.includes('enqueue mail')));
  expect(found).toMatchObject({ path: '/v1/traces', type: 'application/x-protobuf' });
  for (const text of ['our-queue', 'enqueue/insert', version, Buffer.from(TRACE, 'hex').toString('latin1')])
    expect(found.body).toContain(text);
  expect(received.map(({ body }) => body).join()).not.toContain('private');
});

test('every line about a request has its id and that of its trace', async () => {
  await call('POST', '/jobs/claim', { queues: ['mail'] });
  await call('POST', '/queues/mail/pause');
  await call('POST', '/queues/mail/resume');
  await onServer(database.url, 'alter table dibs.jobs add constraint mine check (priority <> 7)');
  expect((await call('POST', '/jobs', { queue: 'mail', priority: 7 })).status).toBe(500);
  for (const msg of ['called', 'request', 'audit', 'a request failed']) {
    const own = await until(() => {
      const found = lines(`"msg":"${msg}"`).filter(({ reqId }) => reqId === 'r1');
      return found.length > 0 && found;
    });
    expect(own.every(({ traceId }: Line) => traceId === TRACE)).toBe(true);
  }
});

test('a slow round trip is logged with its parts and its requests', async () => {
  const holder = await openClient(database.url);
  await holder.query('begin; lock table dibs.jobs in access exclusive mode');
  const enqueued = call('POST', '/jobs', { queue: 'mail' });
  await until(async () => {
    const { rows } = await holder.query('select 1 from pg_locks where not granted');
    return rows.length > 0;
  });
  await holder.query('select pg_sleep(1)');
  await holder.query('rollback');
  await holder.end();
  expect((await enqueued).status).toBe(201);
  const found = await until(() =>
    lines('a round trip to the database was slow').find(
      ({ statements, commitMs }) =>
        commitMs !== undefined && statements.some(({ name }: Line) => name === 'enqueue/insert_one'),
    ),
  );
  expect(found).toMatchObject({
    level: 40,
    connectionMs: expect.any(Number),
    commitMs: expect.any(Number),
    requests: [{ reqId: 'r1', traceId: TRACE }],
  });
  expect(found.ms).toBeGreaterThan(400);
  expect(found.lockMs).toBeGreaterThan(0);
});

test('when notifications are not heard any more, one line says so, and one when they are', async () => {
  await onServer(
    database.url,
    `select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen dibs' and datname = current_database()`,
  );
  await until(() => lines('are heard again').length > 0);
  expect(lines('are not heard').map(({ level }) => level)).toEqual([40]);
  expect(lines('are heard again').map(({ level }) => level)).toEqual([30]);
});

test('a collector that is away holds nothing up, and is a warning', async () => {
  collector.closeAllConnections();
  collector.close();
  expect((await call('POST', '/jobs', { queue: 'mail' })).status).toBe(201);
  const away = await until(() => lines('traces are not sent').at(0));
  expect(away.level).toBe(40);
  expect((await call('POST', '/jobs', { queue: 'mail' })).status).toBe(201);
  expect(lines('"level":50').map(({ msg }) => msg)).toEqual(['a request failed']);
  // It would be killed with another code if it took longer than 10 s.
  expect(await replica.end('SIGTERM')).toBe(0);
  expect(lines('the shutdown took longer')).toEqual([]);
});

test('without the packages for traces, the start ends with a line that says what to do', async () => {
  const missing = `export async function resolve(name, context, next) {
    if (!name.includes('sdk-trace')) return next(name, context);
    throw Object.assign(new Error('missing'), { code: 'ERR_MODULE_NOT_FOUND' });
  }`;
  const hooks = JSON.stringify(`data:text/javascript,${encodeURIComponent(missing)}`);
  const start = `import { register } from 'node:module'; register(${hooks});`;
  const { code, said } = await ended({
    OTEL_TRACES_EXPORTER: 'otlp',
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(start)}`,
  });
  expect(code).toBe(1);
  expect(said).toContain('OTEL_TRACES_EXPORTER');
  expect(said.trim().split('\n')).toHaveLength(1);
});
