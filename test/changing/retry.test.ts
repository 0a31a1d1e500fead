import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const retry = (id: string) => service.call('POST', `/jobs/${id}/retry`);

async function leased(more: object = {}) {
  const queue = at.newQueue();
  await at.enqueue({ queue, ...more });
  return at.claimOne(queue);
}

test('a dead job becomes ready: its attempts start at 0 again, its deliveries do not', async () => {
  const job = await leased({ max_attempts: 1 });
  await at.settle('nack', job, { error: 'no' });
  const { status, body } = await retry(job.id);
  expect(status).toBe(200);
  expect(body).toMatchObject({ state: 'ready', attempt: 0, deliveries: 1, finished_at: null });
  expect(body).not.toHaveProperty('payload');
  expect(await at.claimOne(job.queue)).toMatchObject({ id: job.id, attempt: 1, deliveries: 2 });
});

test('a job that backs off becomes ready at once', async () => {
  const job = await leased();
  await at.settle('nack', job, { delay_seconds: 1000 });
  expect((await retry(job.id)).body).toMatchObject({ state: 'ready', attempt: 0 });
  expect((await at.claimOne(job.queue)).id).toBe(job.id);
});

test('a delayed job becomes ready at once', async () => {
  const queue = at.newQueue();
  const { id, run_at } = await at.enqueue({ queue, delay_seconds: 1000 });
  const { body } = await retry(id);
  expect(body.state).toBe('ready');
  expect(Date.parse(body.run_at)).toBeLessThan(Date.parse(run_at));
  expect((await at.claimOne(queue)).id).toBe(id);
});

test('a ready job is answered as it is, and keeps its place', async () => {
  const queue = at.newQueue();
  const [first] = await at.enqueueAll([
    { queue, payload: 1 },
    { queue, payload: 2 },
  ]);
  const { status, body } = await retry(first.id);
  expect({ status, body }).toEqual({ status: 200, body: first });
  expect(await at.drain(queue)).toEqual([1, 2]);
});

test('a leased job is 409 job_leased, and its worker keeps it', async () => {
  const job = await leased();
  expectProblem(await retry(job.id), 409, 'job_leased');
  expect((await at.settle('ack', job)).status).toBe(200);
});

test('a finished job is 409 job_finished while it is kept, then 404', async () => {
  const queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 1000 });
  await at.enqueueAll([{ queue }, { queue }]);
  const [done, cancelled] = await at.claim(queue, { limit: 2 });
  await at.settle('ack', done);
  await service.call('DELETE', `/jobs/${cancelled.id}`);
  await at.settle('nack', cancelled);
  expectProblem(await retry(done.id), 409, 'job_finished');
  expectProblem(await retry(cancelled.id), 409, 'job_finished');
  const gone = await leased();
  await at.settle('ack', gone);
  for (const id of [gone.id, UNKNOWN_ID, 'x']) expectProblem(await retry(id), 404, 'job_not_found');
});
