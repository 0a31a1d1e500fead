import { expect } from 'vitest';
import type { Service } from './service.ts';

/*
 * Everything that an export has, for tests of export and import.
 */

export const PAYLOADS = [
  '1.0',
  '1e400',
  '12345678901234567890',
  '{"a":1,"b":{},"a":2}',
  String.raw`"\u0000 \ud800 \\ \" \n"`,
  '{ "spaced" :\n\t[ 1 , 2 ]\r\n}',
  '"ünï 💜 \u2028"',
  'null',
  JSON.stringify('x'.repeat(2 ** 20 - 2)),
];

/** All that is exported of a job, as PostgreSQL has it, but for its position. */
export const JOB_COLUMNS = `
  queue_id, id, state, run_at, created_at, lease_expires_at, finished_at, lease_token, attempt, deliveries, max_attempts,
  payload_bytes, priority, cancel_requested, worker, last_error, unique_key, group_key, is_head, fairness_key, expires_at,
  backoff::text, headers::text, progress::text, result::text, enqueued::text, md5(payload::text) as payload`;

/** Fills a Dibs. Returns the job whose lease still runs. */
export async function fill(call: Service['call']): Promise<{ id: string; lease_token: string }> {
  const post = async (path: string, body: unknown) => {
    const answer = await call('POST', path, body);
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };
  const enqueue = (queue: string, more: object = {}) => post('/jobs', { queue, payload: 1, ...more });
  const claim = async (queue: string, limit = 1) =>
    (await post('/jobs/claim', { queues: [queue], limit, lease_seconds: 3600, worker: 'w' })).jobs;

  for (const payload of PAYLOADS)
    expect((await call('POST', '/jobs', `{"queue":"exact","payload":${payload}}`)).status).toBe(201);
  await call('PUT', '/queues/kept', {
    retention_seconds: 3600,
    max_leased: 5,
    max_attempts: 7,
    backoff: { kind: 'linear', base_seconds: 2, max_seconds: 9, jitter: 0 },
  });
  for (let i = 0; i < 7; i++) await enqueue('kept', { headers: { i: String(i) }, max_attempts: 3 });
  const [done, dead, failing, cancelled, held] = await claim('kept', 5);
  const settle = (job: { id: string; lease_token: string }, verb: string, body: object = {}) =>
    post(`/jobs/${job.id}/${verb}`, { lease_token: job.lease_token, ...body });
  await settle(done, 'ack', { result: { sum: 1.5 }, enqueue: [{ queue: 'next', payload: 'follow' }] });
  await settle(dead, 'nack', { error: 'broken\nfor good', retry: false });
  await settle(failing, 'nack', { error: 'try later', delay_seconds: 3600 });
  await call('DELETE', `/jobs/${cancelled.id}`);
  await settle(cancelled, 'release');
  await settle(held, 'extend', { lease_seconds: 3600, progress: { at: '1.0' } });
  await enqueue('order', { priority: -5, payload: 'last' });
  await enqueue('order', { payload: 'second' });
  await enqueue('order', { priority: 9, payload: 'first' });
  await enqueue('order', { payload: 'third', delay_seconds: 3600 });
  for (const n of [1, 2, 3]) await enqueue('grouped', { group: 'g h', payload: n });
  for (const key of ['a', 'a', 'b']) await enqueue('fair', { fairness_key: key });
  await enqueue('unique', { unique_key: 'waiting' });
  await enqueue('unique', { unique_key: 'window', unique_for_seconds: 3600 });
  for (const job of await claim('unique', 2)) if (job.unique_key === 'window') await settle(job, 'ack');
  await enqueue('halted', { expires_in_seconds: 3600 });
  await post('/queues/halted/pause', undefined);
  await call('PUT', '/schedules/nightly', {
    cron: '0 3 * * *',
    timezone: 'Europe/Berlin',
    job: { queue: 'tick', payload: 1 },
  });
  return held;
}
