import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const seconds = (job: { run_at: string; created_at: string }) =>
  (Date.parse(job.run_at) - Date.parse(job.created_at)) / 1000;

async function refused(job: object, field: string, inBatch = true): Promise<void> {
  expectProblem(await service.call('POST', '/jobs', job), 400, 'invalid_request', field);
  if (!inBatch) return;
  const batch = await service.call('POST', '/jobs/batch', { jobs: [{}, job] });
  expectProblem(batch, 400, 'invalid_request', `/jobs/1${field}`);
}

test('a delayed job is scheduled, is not claimed, and becomes ready by itself', async () => {
  const queue = at.newQueue();
  const job = await at.enqueue({ queue, delay_seconds: 0.5 });
  expect(job.state).toBe('scheduled');
  expect(seconds(job)).toBeCloseTo(0.5, 3);
  expect(await at.claim(queue)).toEqual([]);
  const ready = await at.reaches(job.id, 'ready');
  expect(ready.run_at).toBe(job.run_at);
  expect((await at.claimOne(queue)).id).toBe(job.id);
});

test('a job with a delay of 0 is ready at once', async () => {
  for (const delay of ['0', '-0', '0.0', '1e-400']) {
    const answer = await service.call('POST', '/jobs', `{"delay_seconds":${delay}}`);
    expect(answer.body.state, delay).toBe('ready');
  }
});

test('run_at is kept to the millisecond, whatever its offset', async () => {
  const instant = new Date(Date.now() + 3_600_000);
  const shifted = new Date(instant.getTime() + 2 * 3_600_000).toISOString().replace('Z', '+02:00');
  expect((await at.enqueue({ run_at: instant.toISOString() })).run_at).toBe(instant.toISOString());
  expect((await at.enqueue({ run_at: shifted })).run_at).toBe(instant.toISOString());
  const lower = instant.toISOString().toLowerCase();
  expect((await at.enqueue({ run_at: lower })).run_at).toBe(instant.toISOString());
});

test('a run_at in the past means now', async () => {
  for (const run_at of [
    new Date(Date.now() - 1000).toISOString(),
    '1970-01-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '0000-01-01T00:00:00+23:59',
    '0001-01-01T00:00:00.000000001-23:59',
  ]) {
    const job = await at.enqueue({ run_at });
    expect(job.state, run_at).toBe('ready');
    expect(seconds(job)).toBe(0);
  }
});

test('delay_seconds and run_at together are refused', async () => {
  await refused({ delay_seconds: 0, run_at: new Date().toISOString() }, '/run_at');
});

test('a time without an offset is refused', async () => {
  await refused({ run_at: '2026-11-21T09:30:00' }, '/run_at');
  await refused({ run_at: '2026-11-21T09:30:00.000' }, '/run_at');
});

test('a text that is not a time, and a time that does not exist, are refused', async () => {
  for (const run_at of [
    '',
    'now',
    'tomorrow',
    '2026-11-21',
    '09:30:00Z',
    '2026-11-21 09:30:00Z',
    '2026-11-21\t09:30:00Z',
    '2026-11-21T09:30:00+02',
    '2026-11-21T09:30:00+0200',
    '2026-11-21T09:30Z',
    '2026-11-21T09:30:00.Z',
    '2026-11-21T09:30:00,5Z',
    ' 2026-11-21T09:30:00Z',
    '20261121T093000Z',
    '2026-11-21T09:30:00 Z',
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T25:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:61Z',
    '2026-06-30T23:59:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+01:60',
    '+002026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\u0000',
    '2026-01-01T00:00:00Z 2026-01-01T00:00:00Z',
  ])
    await refused({ run_at }, '/run_at', false);
});

test('a run_at more than 366 days from now is refused', async () => {
  await refused({ run_at: '9999-12-31T23:59:59Z' }, '/run_at');
  await refused({ run_at: new Date(Date.now() + 366.01 * 86_400_000).toISOString() }, '/run_at');
});
