import { expect } from 'vitest';
import { onServer } from './database.ts';
import type { Method, Service } from './service.ts';
import { until } from './until.ts';

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The same answers of two databases have other ids and other times. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value === 'string') return value.replaceAll(TIME, 'a time').replaceAll(ID, 'an id');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      /_age_seconds$/.test(name) ? 'an age' : comparable(inner),
    ]),
  );
}

/** The arguments of a call of dibs.enqueue that tries all of them. The payload is long, and has quotes and backslashes. */
const IN_SQL = `select dibs.enqueue(
  'sql', payload => $1::json, headers => '{"a": "NULL"}', priority => 3, delay_seconds => 0.25, max_attempts => 4,
  backoff => '{"kind": "linear", "base_seconds": 0.5}', unique_key => 'NULL', unique_for_seconds => 60.125, "group" => 'g',
  fairness_key => 'f', expires_in_seconds => 600.5) as id`;
const PAYLOAD = JSON.stringify({ quotes: Array.from({ length: 300 }, () => 'a "quote" and a \\ ["{') });

/** One of everything, over HTTP and in SQL. Returns all answers, as they should be whatever the defaults of the sessions are. */
export async function lifecycle({ call, engine }: Service, databaseUrl: string): Promise<unknown> {
  const seen: unknown[] = [];
  async function ask(method: Method, path: string, body?: unknown, headers?: Record<string, string>) {
    const { status, body: answer } = await call(method, path, body, headers);
    seen.push([method, path.replaceAll(ID, 'an id'), status, comparable(answer)]);
    return answer;
  }
  const leaseOf = ({ jobs: [job] }: { jobs: { id: string; lease_token: string }[] }) => {
    const { id, lease_token } = job as { id: string; lease_token: string };
    return { id, lease_token };
  };

  await ask('PUT', '/queues/q', {
    retention_seconds: 600,
    rate_limit: { jobs: 100, per_seconds: 0.5 },
    max_leased: 50,
  });
  const run_at = new Date(Date.now() + 86_400_123).toISOString();
  const far = await ask('POST', '/jobs', {
    queue: 'far',
    run_at,
    expires_in_seconds: 99_999.5,
    headers: { n: 'NULL' },
  });
  expect(far.run_at).toBe(run_at);
  expect((await ask('GET', `/jobs/${far.id}`)).run_at).toBe(run_at);

  const once = { 'idempotency-key': 'k' };
  const first = await ask(
    'POST',
    '/jobs',
    { queue: 'q', payload: 'a\\b', unique_key: 'NULL', unique_for_seconds: 60 },
    once,
  );
  const again = await ask(
    'POST',
    '/jobs',
    { queue: 'q', payload: 'a\\b', unique_key: 'NULL', unique_for_seconds: 60 },
    once,
  );
  expect(again).toEqual(first);
  await ask('POST', '/jobs', { queue: 'q', unique_key: 'NULL' });
  const leased = leaseOf(
    await ask('POST', '/jobs/claim', { queues: ['q'], lease_seconds: 30.123456, claim_id: 'c' }),
  );
  await ask('POST', `/jobs/${leased.id}/extend`, { lease_token: leased.lease_token, lease_seconds: 33.25 });
  await ask('POST', `/jobs/${leased.id}/nack`, {
    lease_token: leased.lease_token,
    error: 'NULL',
    delay_seconds: 0,
  });
  const second = leaseOf(await ask('POST', '/jobs/claim', { queues: ['q'], wait_seconds: 5 }));
  await ask('POST', `/jobs/${second.id}/ack`, {
    lease_token: second.lease_token,
    result: { x: 1.5 },
    enqueue: [{ queue: 'next' }],
  });
  await ask('GET', `/jobs/${second.id}`);
  await ask('GET', `/jobs/${second.id}/history`);

  await ask('POST', '/jobs/batch', {
    jobs: [
      { queue: 'many' },
      { queue: 'many', fairness_key: 'NULL' },
      { queue: 'groups', group: 'a' },
      { queue: 'groups', group: 'a' },
    ],
  });
  const { jobs } = await ask('POST', '/jobs/claim', { queues: ['many', 'groups'], limit: 10 });
  await ask('POST', '/jobs/settle', {
    acks: jobs.map(({ id, lease_token }: typeof leased) => ({ id, lease_token })),
  });
  await ask('GET', '/jobs?queue=groups&state=ready');

  /** The server may end the test's own connection before it has asked anything (idle_session_timeout), or its slow statement (statement_timeout). */
  const insert = () =>
    until(() =>
      onServer<{ id: string }>(databaseUrl, IN_SQL, [PAYLOAD]).catch((error) => {
        if (!['57P05', '57014'].includes(error.code)) throw error;
        return undefined;
      }),
    );
  const [inSql] = await insert();
  expect(await insert()).toEqual([inSql]);
  // On a busy machine, its delay may be over.
  const { status, body } = await call('GET', `/jobs/${inSql?.id}`);
  seen.push(['GET', 'the job in SQL', status, comparable({ ...body, state: 'not leased' })]);
  expect((await ask('POST', '/jobs/claim', { queues: ['sql'], wait_seconds: 5 })).jobs[0].payload).toEqual(
    JSON.parse(PAYLOAD),
  );

  await ask('PUT', '/schedules/s', { cron: '0 5 * * *', timezone: 'Asia/Kolkata', job: { queue: 'cron' } });
  await ask('POST', '/schedules/s/trigger');
  await ask('GET', '/schedules/s');
  await ask('POST', '/queues/cron/purge', { states: ['ready'] });
  await ask('GET', '/queues/q/explain');
  await ask('GET', `/jobs/${far.id}/explain`);
  await ask('GET', '/queues');
  await ask('DELETE', `/jobs/${far.id}`);
  await ask('DELETE', '/queues/far?force=true');
  await ask('GET', '/readyz');
  await engine.keys.refresh();
  return seen;
}
