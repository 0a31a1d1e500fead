import { afterAll, beforeAll, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { complaintsIn, http, type Replica, startReplica } from '../support/replica.ts';
import { type DatabaseWithRoles, databaseWithRoles } from '../support/roles.ts';
import { until } from '../support/until.ts';

/*
 * A replica in a process of its own, in a database whose PUBLIC has no rights, with a role that only serves. The tests of
 * every verb serve as such a role too (test/support/service.ts). Here are the duties, and that nothing is logged.
 */

let at: DatabaseWithRoles;
let replica: Replica;
beforeAll(async () => {
  at = await databaseWithRoles();
  replica = await startReplica({ DATABASE_URL: at.urlAs('serve') });
});
afterAll(async () => {
  await replica.end('SIGTERM');
  await at.drop();
});

const asOwner = <Row extends object>(text: string) => onServer<Row>(at.urlAs('owner'), text);

async function ok(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
  const answer = await http(replica.url, method, path, body, { headers });
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
  return answer.body;
}
const enqueue = (queue: string, job: object = {}) => ok('POST', '/jobs', { queue, ...job });
const claim = async (queue: string, more: object = {}) =>
  (await ok('POST', '/jobs/claim', { queues: [queue], wait_seconds: 30, ...more })).jobs;
const stateOf = async (id: string) => (await http(replica.url, 'GET', `/jobs/${id}`)).body.state;
const rowsOf = async (table: string) =>
  (await asOwner<{ n: number }>(`select count(*)::integer as n from dibs.${table}`))[0]?.n;

test('leases are rescued, delays end, jobs expire and dead jobs come back', async () => {
  const [rescued, expired] = [await enqueue('sweep'), await enqueue('late', { expires_in_seconds: 0.2 })];
  await claim('sweep', { lease_seconds: 0.1 });
  const [again] = await claim('sweep');
  expect(again).toMatchObject({ id: rescued.id, last_error: 'lease expired' });
  await ok('POST', `/jobs/${again.id}/extend`, { lease_token: again.lease_token, lease_seconds: 60 });
  await ok('POST', `/jobs/${again.id}/nack`, { lease_token: again.lease_token, delay_seconds: 0.1 });
  const [promoted] = await claim('sweep');
  await ok('POST', `/jobs/${promoted.id}/release`, { lease_token: promoted.lease_token });
  await until(async () => (await stateOf(expired.id)) === 'dead');
  expect(await ok('POST', '/queues/late/redrive', {})).toEqual({ count: 1 });
});

test('what outlived its retention is pruned', async () => {
  await ok('PUT', '/queues/kept', { retention_seconds: 0.2 });
  await enqueue('kept', { unique_key: 'k', unique_for_seconds: 0.2 });
  await ok('POST', '/jobs', { queue: 'keyed' }, { 'idempotency-key': 'one' });
  await ok('POST', '/jobs', { queue: 'keyed' }, { 'idempotency-key': 'one' });
  const [job] = await claim('kept', { claim_id: 'mine' });
  await ok('POST', `/jobs/${job.id}/ack`, {
    lease_token: job.lease_token,
    result: 1,
    enqueue: [{ queue: 'next' }],
  });
  // Their time is over soon. A scan looks for what was over long ago only once a minute.
  await asOwner(`update dibs.idempotency_keys set expires_at = now() + interval '0.2 seconds'`);
  await asOwner(`update dibs.repeatable_claims set until = now() + interval '0.2 seconds'`);
  for (const table of ['idempotency_keys', 'unique_windows', 'repeatable_claims'])
    await until(async () => (await rowsOf(table)) === 0, { what: `pruned dibs.${table}` });
  await until(async () => (await http(replica.url, 'GET', `/jobs/${job.id}`)).status === 404);
});

test('groups, fairness keys and limits hold', async () => {
  for (const group of ['a', 'a', 'b']) await enqueue('groups', { group });
  const heads = await claim('groups', { limit: 10 });
  expect(heads).toHaveLength(2);
  const acks = heads.map(({ id, lease_token }: { id: string; lease_token: string }) => ({ id, lease_token }));
  await ok('POST', '/jobs/settle', { acks });
  expect(await claim('groups')).toHaveLength(1);
  for (const fairness_key of ['x', 'x', 'y']) await enqueue('fair', { fairness_key });
  expect(await claim('fair', { limit: 2 })).toHaveLength(2);
  await ok('PUT', '/queues/limited', {
    max_leased: 1,
    rate_limit: { jobs: 5, per_seconds: 1 },
    max_ready: 2,
  });
  await ok('POST', '/jobs/batch', { jobs: [{ queue: 'limited' }, { queue: 'limited' }] });
  expect((await http(replica.url, 'POST', '/jobs', { queue: 'limited' })).status).toBe(429);
  expect(await claim('limited', { limit: 2 })).toHaveLength(1);
  expect((await ok('GET', '/queues/limited/explain')).code).toBe('max_leased_reached');
});

test('what a producer enqueues by SQL is claimed, in an open transaction and with every key', async () => {
  const asProducer = (text: string) => onServer(at.urlAs('produce'), text);
  await asProducer(`begin; select dibs.enqueue('sql', '{"a":1}'); select pg_sleep(0.3); commit`);
  await asProducer(
    `select dibs.enqueue('sql', '2', "group" => 'g', unique_key => 'k', unique_for_seconds => 1)`,
  );
  await asProducer(`select dibs.enqueue('sql', '3', fairness_key => 'f')`);
  for (let left = 3; left > 0; left--) {
    const [job] = await claim('sql');
    await ok('POST', `/jobs/${job.id}/ack`, { lease_token: job.lease_token });
  }
});

test('schedules tick, and queues are paused, purged and deleted', async () => {
  const schedule = { cron: '* * * * * *', job: { queue: 'ticks' } };
  await ok('PUT', '/schedules/each-second', schedule);
  await ok('POST', '/schedules/each-second/trigger');
  expect(await claim('ticks')).toHaveLength(1);
  expect(await claim('ticks')).toHaveLength(1);
  await ok('DELETE', '/schedules/each-second');
  const { id } = await enqueue('gone', { delay_seconds: 60 });
  await ok('POST', '/queues/gone/pause');
  await ok('POST', `/jobs/${id}/retry`);
  await ok('GET', `/jobs/${id}/explain`);
  await ok('POST', '/queues/gone/resume');
  await ok('DELETE', `/jobs/${id}`);
  await enqueue('gone');
  expect(await ok('POST', '/queues/gone/purge', { states: ['ready'] })).toEqual({ count: 1 });
  await enqueue('gone');
  await ok('DELETE', '/queues/gone?force=true');
  await ok('GET', '/queues');
  await ok('GET', '/jobs?queue=sweep&include=payload');
});

test('no duty and no verb was refused anything: the log has no warning and no error', async () => {
  expect((await fetch(`${replica.url}/readyz`)).status).toBe(200);
  expect(complaintsIn(replica.lines)).toEqual([]);
  expect(replica.lines.filter((line) => line.includes('permission denied'))).toEqual([]);
});
