import { execFileSync } from 'node:child_process';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import { createCaller, type Scope } from '../../src/caller.ts';
import { version } from '../../src/version.ts';
import { parseMetrics } from '../support/exposition.ts';
import { scrape, scrapeUntil } from '../support/metrics.ts';
import { moves } from '../support/moves.ts';
import { hasPromtool } from '../support/promtool.ts';
import { type Service, startService } from '../support/service.ts';

const callers = new Map(
  (
    [
      ['all', ['read'], ['*']],
      ['narrow', ['read'], ['mail', 'a_b', 'shop.*']],
      ['producer', ['produce'], ['*']],
    ] as [string, Scope[], string[]][]
  ).map(([name, scopes, queues]) => [name, createCaller({ id: name, name }, { scopes, queues })]),
);

let service: Service;
beforeAll(async () => {
  service = await startService();
  const { enqueue } = moves(service);
  for (const queue of ['mail', 'a_b', 'axb', 'shop.eu', 'other']) await enqueue({ queue });
  await scrapeUntil(service, 'all rows', (read) => read.sum('dibs_jobs_enqueued_total') === 5);
});
afterAll(() => service.stop());

describe('the text', () => {
  test('is that of Prometheus, or of OpenMetrics for whoever accepts it', async () => {
    const plain = await service.call('GET', '/metrics');
    expect(plain.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const open = await service.call('GET', '/metrics', undefined, {
      accept: 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3',
    });
    expect(open.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(open.text.endsWith('\n# EOF\n')).toBe(true);
    const [a, b] = [parseMetrics(plain.text), parseMetrics(open.text)];
    expect(b.value('dibs_jobs_enqueued_total', { queue: 'mail' })).toBe(1);
    // In OpenMetrics, the family of a counter has no `_total`.
    expect([...a.types.keys()].map((name) => name.replace(/_total$/, ''))).toEqual([...b.types.keys()]);
  });

  test.skipIf(!hasPromtool)('promtool finds nothing to say', async () => {
    const { text } = await service.call('GET', '/metrics');
    const said = execFileSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect(said).toBe('');
  });

  test('every metric has a help that tells how to aggregate it', async () => {
    const { text } = await service.call('GET', '/metrics');
    const helps = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)];
    expect(helps.length).toBeGreaterThan(30);
    const silent = helps.filter(
      ([, , help]) => !/(Sum over|take the m|Take the m|Of each) ?/.test(help as string),
    );
    expect(silent.map(([, name]) => name)).toEqual([]);
  });
});

test('what a replica tells of itself', async () => {
  const read = await scrape(service);
  expect(read.sum('dibs_build_info', { version })).toBe(1);
  expect(read.value('dibs_database_up')).toBe(1);
  expect(read.value('dibs_database_connections_max')).toBe(10);
  expect(read.value('dibs_claims_waiting')).toBe(0);
  expect(read.sum('dibs_memory_budget_bytes')).toBe(256 * 2 ** 20);
  expect(read.value('dibs_duty_failures_total', { duty: 'rescue' })).toBe(0);
  expect(read.value('dibs_duty_last_success_timestamp_seconds', { duty: 'rescue' })).toBeGreaterThan(1.7e9);
  expect(read.value('dibs_event_loop_lag_seconds')).toBeGreaterThanOrEqual(0);
  expect(read.value('dibs_round_trip_rows_count')).toBeGreaterThanOrEqual(5);
  expect(read.value('dibs_totals_age_seconds')).toBeLessThan(60);
});

test('a claim that waits is counted while it waits', async () => {
  const claim = service.call('POST', '/jobs/claim', { queues: ['nothing'], wait_seconds: 3 });
  await scrapeUntil(service, 'the claim', (read) => read.value('dibs_claims_waiting') === 1);
  await claim;
  await scrapeUntil(service, 'its end', (read) => read.value('dibs_claims_waiting') === 0);
});

test('batches that have not ended are counted, and how long the oldest one runs', async () => {
  const { ok } = moves(service);
  await ok('POST', '/batches', { queue: 'other' });
  for (let i = 0; i < 2; i++)
    await ok('POST', '/batches', { queue: 'other', jobs: [{ queue: 'other' }], closed: true });
  const read = await scrapeUntil(
    service,
    'three batches',
    ({ value }) => value('dibs_batches_unfinished', { state: 'running' }) === 2,
  );
  expect(read.value('dibs_batches_unfinished', { state: 'open' })).toBe(1);
  expect(read.value('dibs_batches_oldest_running_seconds')).toBeGreaterThan(0);
});

test('requests are counted by the pattern of their route, and by status', async () => {
  const before = await scrape(service);
  await service.call('GET', '/jobs/1');
  await service.call('GET', '/jobs/2');
  await service.call('GET', '/nothing/3');
  await service.call('TRACE', '/jobs');
  const after = await scrape(service);
  const moved = (name: string, labels: Record<string, string>) =>
    (after.value(name, labels) ?? 0) - (before.value(name, labels) ?? 0);
  expect(moved('dibs_http_requests_total', { route: 'GET /jobs/:id', status: '404' })).toBe(2);
  expect(moved('dibs_http_requests_total', { route: '(none)', status: '404' })).toBe(1);
  expect(moved('dibs_http_requests_total', { route: '(none)', status: '405' })).toBe(1);
  expect(moved('dibs_refusals_total', { code: 'job_not_found' })).toBe(2);
  expect(moved('dibs_refusals_total', { code: 'route_not_found' })).toBe(1);
  expect([...after.series.keys()].filter((key) => /jobs\/\d|nothing/.test(key))).toEqual([]);
});

describe('with access keys', () => {
  const callerOf = ({ token = '' }: { token: string | undefined }) =>
    callers.get(token) ?? (callers.get('producer') as never);
  const access = { isOpen: () => false, awaitsFirstKey: () => false, identify: callerOf, known: callerOf };
  let app: Awaited<ReturnType<typeof buildApp>>;
  beforeAll(async () => {
    const logger = pino({ level: 'silent' });
    app = await buildApp({ engine: service.engine, logger, maxPayloadBytes: 2 ** 20, access });
  });
  afterAll(() => app.close());
  const get = (name: string) => app.inject({ url: '/metrics', headers: { authorization: `Bearer ${name}` } });

  test('a caller without the scope `read` is refused', async () => {
    expect((await get('producer')).statusCode).toBe(403);
  });

  test('a caller with queue patterns gets the series of its queues, and none of the process or of all', async () => {
    const { statusCode, body } = await get('narrow');
    expect(statusCode).toBe(200);
    const keys = [...parseMetrics(body).series.keys()];
    const queues = keys.map((key) => /queue="([^"]*)"/.exec(key)?.[1]);
    expect([...new Set(queues)].sort()).toEqual(['a_b', 'mail', 'shop.eu']);
  });

  test('a caller of all queues gets everything', async () => {
    const read = parseMetrics((await get('all')).body);
    expect(read.value('dibs_jobs_enqueued_total', { queue: 'axb' })).toBe(1);
    expect(read.value('dibs_database_up')).toBe(1);
  });
});

test('GET /version tells the version, to anybody', async () => {
  expect((await service.call('GET', '/version')).body).toEqual({ version, node: process.versions.node });
});
