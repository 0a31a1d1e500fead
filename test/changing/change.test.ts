import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const change = (id: string, body: unknown) => service.call('PATCH', `/jobs/${id}`, body);
const inFuture = () => new Date(Date.now() + 3_600_000).toISOString();
const PAST = '2020-01-01T00:00:00Z';

/** Claims and acks jobs one by one, and returns their payloads. */
async function workOff(queue: string, count: number) {
  const payloads: unknown[] = [];
  for (let i = 0; i < count; i++) {
    const job = await at.claimOne(queue);
    payloads.push(job.payload);
    await at.settle('ack', job);
  }
  return payloads;
}

async function enqueued(more: object = {}) {
  const queue = at.newQueue();
  return { queue, ...(await at.enqueue({ queue, payload: 'old', ...more })) };
}

describe('PATCH /jobs/{id}', () => {
  test('changes what it names of a waiting job, and leaves the rest', async () => {
    const { queue, id, ...before } = await enqueued({ priority: 3, headers: { a: '1' } });
    const { status, body } = await service.call(
      'PATCH',
      `/jobs/${id}`,
      '{"payload": {"b": 1.0, "a":[1e400]}, "headers": {"c": "2"}, "max_attempts": 9}',
    );
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, queue, id, headers: { c: '2' }, max_attempts: 9 });
    const { text } = await service.call('GET', `/jobs/${id}?payload_format=text`);
    expect(JSON.parse(text).payload_text).toBe('{"b": 1.0, "a":[1e400]}');
    expect(await at.claimOne(queue)).toMatchObject({ id, priority: 3, headers: { c: '2' } });
  });

  test('null is a payload, and not "left out"', async () => {
    const { id } = await enqueued();
    await change(id, { payload: null });
    expect((await at.get(id)).payload).toBeNull();
  });

  test('a job with another priority takes its place among those of that priority', async () => {
    const queue = at.newQueue();
    const jobs = await at.enqueueAll(
      [1, 2, 3].map((payload) => ({ queue, payload, priority: payload === 3 ? 5 : 0 })),
    );
    await change(jobs[0].id, { priority: 5 });
    expect(await at.drain(queue)).toEqual([3, 1, 2]);
  });

  test('a job with a lower priority is found behind jobs that were claimed long since', async () => {
    const queue = at.newQueue();
    const first = await at.enqueue({ queue, payload: 'first', priority: 5 });
    for (let i = 0; i < 2; i++) await at.enqueueAll(Array(1000).fill({ queue }));
    await change(first.id, { run_at: inFuture() });
    for (let i = 0; i < 2; i++) {
      const jobs = await at.claim(queue, { limit: 1000 });
      await service.call('POST', '/jobs/settle', {
        acks: jobs.map(({ id, lease_token }: { id: string; lease_token: string }) => ({ id, lease_token })),
      });
    }
    expect(await at.claim(queue)).toEqual([]);
    await change(first.id, { priority: 0, run_at: PAST });
    expect((await at.claimOne(queue)).id).toBe(first.id);
  });

  test('run_at in the future delays a ready job, and in the past makes a scheduled one ready', async () => {
    const { queue, id } = await enqueued();
    const run_at = inFuture();
    expect((await change(id, { run_at })).body).toMatchObject({ state: 'scheduled', run_at });
    expect(await at.claim(queue)).toEqual([]);
    const waiting = at.claim(queue, { wait_seconds: 60 });
    expect((await change(id, { run_at: PAST })).body).toMatchObject({ state: 'ready' });
    expect(await waiting).toMatchObject([{ id, attempt: 1 }]);
  });

  test('a delayed job of a group arrives behind the others when it becomes ready', async () => {
    const queue = at.newQueue();
    const delayed = await at.enqueue({ queue, group: 'g', payload: 'delayed', delay_seconds: 1000 });
    await at.enqueue({ queue, group: 'g', payload: 'head' });
    expect((await change(delayed.id, { run_at: PAST })).body.state).toBe('blocked');
    expect(await workOff(queue, 2)).toEqual(['head', 'delayed']);
  });

  test('the only job of a group is its head at once', async () => {
    const { queue, id } = await enqueued({ group: 'g', delay_seconds: 1000 });
    expect((await change(id, { run_at: PAST })).body.state).toBe('ready');
    expect((await at.claimOne(queue)).id).toBe(id);
  });

  test('a head of a group that is delayed keeps its group', async () => {
    const queue = at.newQueue();
    const [head] = await at.enqueueAll([1, 2].map((payload) => ({ queue, group: 'g', payload })));
    await change(head.id, { run_at: inFuture() });
    expect(await at.claim(queue)).toEqual([]);
    await change(head.id, { run_at: PAST });
    expect(await workOff(queue, 2)).toEqual([1, 2]);
  });

  test('a dead job stays dead, and a retry runs it as it is now', async () => {
    const { queue, id } = await enqueued({ max_attempts: 1 });
    await at.settle('nack', await at.claimOne(queue), { error: 'bad payload' });
    const { body } = await change(id, { payload: 'mended', run_at: inFuture() });
    expect(body).toMatchObject({ state: 'dead', last_error: 'bad payload' });
    await service.call('POST', `/jobs/${id}/retry`);
    expect(await at.claimOne(queue)).toMatchObject({ id, payload: 'mended' });
  });

  test('expires_in_seconds counts from now', async () => {
    const { queue, id } = await enqueued({ expires_in_seconds: 3600 });
    await change(id, { expires_in_seconds: 0.001 });
    expect(await at.claim(queue)).toEqual([]);
    await expect.poll(async () => (await at.get(id)).last_error, { timeout: 20_000 }).toBe('expired');
  });

  test('max_attempts must leave an attempt to a job that waits', async () => {
    const { queue, id } = await enqueued();
    await at.settle('nack', await at.claimOne(queue), { delay_seconds: 0 });
    const refused = await change(id, { max_attempts: 1, payload: 'new' });
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors).toMatchObject([{ in: 'body', path: '/max_attempts' }]);
    expect((await at.get(id)).payload).toBe('old');
    expect((await change(id, { max_attempts: 2 })).status).toBe(200);
    expect(await at.claimOne(queue)).toMatchObject({ attempt: 2 });
  });

  test('a leased job is 409 job_leased, a finished one 409 job_finished, an unknown one 404', async () => {
    const { queue, id } = await enqueued();
    await service.call('PUT', `/queues/${queue}`, { retention_seconds: 600 });
    const job = await at.claimOne(queue);
    expectProblem(await change(id, { priority: 1 }), 409, 'job_leased');
    await at.settle('ack', job);
    await expect
      .poll(async () => (await change(id, { priority: 1 })).body.code, { timeout: 20_000 })
      .toBe((await at.get(id).catch(() => undefined)) ? 'job_finished' : 'job_not_found');
    expectProblem(await change(UNKNOWN_ID, { priority: 1 }), 404, 'job_not_found');
    expectProblem(await change('x', { priority: 1 }), 404, 'job_not_found');
  });

  test.each([
    ['nothing to change', {}, ''],
    ['an unknown field', { state: 'ready' }, '/state'],
    ['a priority that is too high', { priority: 101 }, '/priority'],
    ['a time without an offset', { run_at: '2030-01-01T00:00:00' }, '/run_at'],
    ['a time too far away', { run_at: '2300-01-01T00:00:00Z' }, '/run_at'],
    ['a header that is no string', { headers: { a: 1 } }, '/headers/a'],
    ['null for a priority', { priority: null }, '/priority'],
  ])('is 400 and changes nothing: %s', async (_, body, path) => {
    const { id } = await enqueued();
    const before = await at.get(id);
    const refused = await change(id, body);
    expectProblem(refused, 400, 'invalid_request');
    expect(refused.body.errors).toEqual([expect.objectContaining({ in: 'body', path })]);
    expect(await at.get(id)).toEqual(before);
  });

  test('a payload that is too large is 413', async () => {
    const { id } = await enqueued();
    expectProblem(await change(id, { payload: 'x'.repeat(2 ** 20) }), 413, 'payload_too_large');
  });

  test('claims and changes at the same time never change a leased job', async () => {
    const queue = at.newQueue();
    const jobs: { id: string }[] = await at.enqueueAll(Array(20).fill({ queue, payload: 'old' }));
    const changes = Promise.all(jobs.map(({ id }) => change(id, { payload: 'new' })));
    const claimed = (await Promise.all(jobs.map(() => at.claim(queue)))).flat();
    const statuses = new Map((await changes).map(({ status }, i) => [jobs[i]?.id, status]));
    const changed = claimed.filter(({ id }: { id: string }) => statuses.get(id) === 200);
    const refused = claimed.filter(({ id }: { id: string }) => statuses.get(id) === 409);
    expect(changed.map(({ payload }: { payload: string }) => payload)).toEqual(
      Array(changed.length).fill('new'),
    );
    expect(refused.map(({ payload }: { payload: string }) => payload)).toEqual(
      Array(refused.length).fill('old'),
    );
  });
});
