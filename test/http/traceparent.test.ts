import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idsOf } from '../../src/traceparent.ts';
import { type Service, startService } from '../support/service.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
const other = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

async function headersOf(body: object, headers: Record<string, string>, queue = 'mail') {
  const answer = await service.call('POST', '/jobs', { queue, ...body }, headers);
  expect(answer.status).toBe(201);
  const { body: claimed } = await service.call('POST', '/jobs/claim', { queues: [queue] });
  expect(claimed.jobs).toHaveLength(1);
  expect(answer.body.headers).toEqual(claimed.jobs[0].headers);
  return claimed.jobs[0].headers;
}

describe('the traceparent of an enqueue stays with its job, with no SDK at all', () => {
  test('a job without a traceparent has that of its request, with its tracestate', async () => {
    expect(await headersOf({}, { traceparent })).toEqual({ traceparent });
    expect(await headersOf({ headers: { tenant: 'a' } }, { traceparent, tracestate: 'v=1' })).toEqual({
      tenant: 'a',
      traceparent,
      tracestate: 'v=1',
    });
  });

  test('headers that name a trace stay as they were sent', async () => {
    for (const headers of [{ traceparent: other }, { Traceparent: 'x' }, { tracestate: 'v=2' }])
      expect(await headersOf({ headers }, { traceparent })).toEqual(headers);
  });

  test('without one, or with one that is none, nothing is added', async () => {
    expect(await headersOf({}, {})).toEqual({});
    for (const bad of ['nonsense', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, `ff${traceparent.slice(2)}`])
      expect(await headersOf({}, { traceparent: bad })).toEqual({});
  });

  test('a job never has more headers than its sender may send', async () => {
    const headers = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`h${i}`, '']));
    expect(await headersOf({ headers }, { traceparent })).toEqual(headers);
  });

  test('jobs of a batch, of an Idempotency-Key and of a trigger have it, too', async () => {
    const jobs = [{ queue: 'batch' }, { queue: 'batch', headers: { traceparent: other } }];
    const batch = await service.call('POST', '/jobs/batch', { jobs }, { traceparent });
    expect(batch.body.jobs.map((job: { headers: object }) => job.headers)).toEqual([
      { traceparent },
      { traceparent: other },
    ]);
    const key = { traceparent, 'idempotency-key': 'k' };
    const first = await service.call('POST', '/jobs', { queue: 'once' }, key);
    expect(first.body.headers).toEqual({ traceparent });
    // The trace of a repeat is another one, and does not make it another request.
    const repeat = await service.call('POST', '/jobs', { queue: 'once' }, { ...key, traceparent: other });
    expect(repeat.text).toBe(first.text);
    await service.call('PUT', '/schedules/s', { cron: '0 0 1 1 *', job: { queue: 'tick' } });
    const triggered = await service.call('POST', '/schedules/s/trigger', undefined, { traceparent });
    expect(triggered.body.headers).toEqual({ traceparent });
  });

  test('a chained job belongs to the trace of the ack, or else to that of the job before it', async () => {
    const queue = 'chain';
    const enqueue = [{ queue: 'next' }];
    for (const [sent, expected] of [
      [{ traceparent: other }, other],
      [{}, traceparent],
    ] as const) {
      await service.call('POST', '/jobs', { queue }, { traceparent });
      const { body } = await service.call('POST', '/jobs/claim', { queues: [queue] });
      const [{ id, lease_token }] = body.jobs;
      const acked = await service.call('POST', `/jobs/${id}/ack`, { lease_token, enqueue }, sent);
      expect(acked.body.enqueued[0].headers).toEqual({ traceparent: expected });
    }
    await service.call('POST', '/jobs', { queue }, { traceparent });
    const { body } = await service.call('POST', '/jobs/claim', { queues: [queue] });
    const [{ id, lease_token }] = body.jobs;
    const nacks = [{ id, lease_token, retry: false, enqueue }];
    const settled = await service.call('POST', '/jobs/settle', { nacks });
    expect(settled.body.nacks[0].enqueued[0].headers).toEqual({ traceparent });
  });
});

test('the ids of a traceparent are those of W3C Trace Context', () => {
  expect(idsOf(traceparent)).toEqual({ traceId: TRACE, spanId: '00f067aa0ba902b7', flags: 1 });
  expect(idsOf(`01${traceparent.slice(2)}-more`)?.traceId).toBe(TRACE);
  for (const bad of [undefined, '', `${traceparent}-more`, traceparent.toUpperCase(), [traceparent]])
    expect(idsOf(bad)).toBeUndefined();
});
