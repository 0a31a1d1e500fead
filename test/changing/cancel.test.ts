import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const cancel = (id: string) => service.call('DELETE', `/jobs/${id}`);
const look = (id: string) => service.call('GET', `/jobs/${id}`);

// A cancelled job stays visible for the retention of its queue. The default retention is 0.
describe.each([0, 1000])('with a retention of %i s', (retention_seconds) => {
  async function newQueue(): Promise<string> {
    const queue = at.newQueue();
    await at.configure(queue, { retention_seconds, max_attempts: 3 });
    return queue;
  }

  async function leased(lease_seconds = 30) {
    const queue = await newQueue();
    await at.enqueue({ queue });
    return at.claimOne(queue, { lease_seconds, worker: 'w' });
  }

  async function expectCancelled(id: string): Promise<void> {
    await eventually(async () => {
      const found = await look(id);
      if (retention_seconds === 0) expectProblem(found, 404, 'job_not_found');
      else
        expect(found.body).toMatchObject({
          state: 'cancelled',
          lease_expires_at: null,
          finished_at: expect.any(String),
        });
    });
    const again = await cancel(id);
    if (retention_seconds === 0) expectProblem(again, 404, 'job_not_found');
    else expectProblem(again, 409, 'job_finished');
  }

  test('a waiting job is cancelled at once, and never claimed', async () => {
    const queue = await newQueue();
    const [ready, scheduled] = await at.enqueueAll([{ queue }, { queue, delay_seconds: 0.2 }]);
    for (const job of [ready, scheduled]) {
      const { status, body } = await cancel(job.id);
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: job.id, queue, state: 'cancelled', finished_at: expect.any(String) });
      expect(body).not.toHaveProperty('payload');
      await expectCancelled(job.id);
    }
    expect(await at.claim(queue, { wait_seconds: 0.5 })).toEqual([]);
  });

  test('a dead job is cancelled at once', async () => {
    const job = await leased();
    await at.settle('nack', job, { retry: false });
    const { status, body } = await cancel(job.id);
    expect({ status, state: body.state }).toEqual({ status: 200, state: 'cancelled' });
    await expectCancelled(job.id);
  });

  test('a leased job is asked to stop: 202, and its worker sees `cancel_requested`', async () => {
    const job = await leased();
    for (let i = 0; i < 2; i++) {
      const { status, body } = await cancel(job.id);
      expect(status).toBe(202);
      expect(body).toMatchObject({ id: job.id, state: 'leased', worker: 'w', finished_at: null });
    }
    const { body } = await at.settle('extend', job, { lease_seconds: 30 });
    expect(body).toMatchObject({ state: 'leased', cancel_requested: true });
    const { lease_token, id } = job;
    const { body: settled } = await service.call('POST', '/jobs/settle', {
      extends: [{ id, lease_token, lease_seconds: 30 }],
    });
    expect(settled.extends[0]).toMatchObject({ status: 200, cancel_requested: true });
  });

  test('an ack still completes a job that was asked to stop', async () => {
    const job = await leased();
    await cancel(job.id);
    expect((await at.settle('ack', job, { result: 1 })).body.state).toBe('completed');
    const found = await look(job.id);
    if (retention_seconds === 0) expectProblem(found, 404, 'job_not_found');
    else expect(found.body).toMatchObject({ state: 'completed', result: 1 });
  });

  test.each(['nack', 'release'] as const)(
    'a %s makes a job cancelled that was asked to stop',
    async (verb) => {
      const job = await leased();
      await cancel(job.id);
      const { status, body } = await at.settle(verb, job, { delay_seconds: 5 });
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: job.id, state: 'cancelled', finished_at: expect.any(String) });
      await expectCancelled(job.id);
      expect(await at.claim(job.queue)).toEqual([]);
    },
  );

  test('the end of its lease makes a job cancelled that was asked to stop', async () => {
    const job = await leased(0.2);
    await cancel(job.id);
    await expectCancelled(job.id);
    expect(await at.claim(job.queue)).toEqual([]);
    const late = await at.settle('ack', job);
    if (retention_seconds === 0) expectProblem(late, 404, 'job_not_found');
    else expectProblem(late, 409, 'lease_lost');
  });

  test('a late ack does not complete a job that was cancelled after its lease ran out', async () => {
    const job = await leased(0.1);
    await at.reaches(job.id, 'ready');
    expect((await cancel(job.id)).status).toBe(200);
    expect([404, 409]).toContain((await at.settle('ack', job)).status);
    await expectCancelled(job.id);
  });
});

test('a completed job cannot be cancelled', async () => {
  const queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 1000 });
  await at.enqueue({ queue });
  const job = await at.claimOne(queue);
  await at.settle('ack', job);
  expectProblem(await cancel(job.id), 409, 'job_finished');
  expect((await at.get(job.id)).state).toBe('completed');
});

test('a job that does not exist is 404', async () => {
  for (const id of [UNKNOWN_ID, 'x', '%00', '%F0%9F%98%80', 'a%2Fb', 'x'.repeat(16_000)])
    for (const method of ['GET', 'DELETE'] as const)
      expectProblem(await service.call(method, `/jobs/${id}`), 404, 'job_not_found');
});
