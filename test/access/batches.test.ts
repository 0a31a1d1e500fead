import { afterAll, beforeAll, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let root: ReturnType<typeof as>;
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  root = as(service, 'admin@*#root');
});
afterAll(() => service.stop());

test('a key cancels a batch only if it may use all queues in which jobs of it wait, and is told of no other', async () => {
  const { body } = await root('POST', '/batches', {
    queue: 'books.a',
    jobs: [{ queue: 'books.a' }, { queue: 'books.b' }],
  });
  const path = `/batches/${body.id}`;
  const own = as(service, 'admin@books.a');
  expect((await own('GET', path)).status).toBe(200);
  const refused = await own('DELETE', path);
  expectProblem(refused, 403, 'forbidden');
  expect(refused.body.detail).not.toContain('books.b');
  expect((await root('GET', path)).body).toMatchObject({ state: 'open', counts: { ready: 2 } });
  expect((await as(service, 'admin@books.*')('DELETE', path)).body).toMatchObject({
    counts: { cancelled: 2 },
  });
});

test('of the jobs of a batch, a key sees those of its queues', async () => {
  const { body } = await root('POST', '/batches', {
    queue: 'pages.a',
    jobs: [{ queue: 'pages.a' }, { queue: 'pages.b' }],
  });
  const { body: listed } = await as(service, 'read@pages.a')('GET', `/jobs?batch=${body.id}`);
  expect(listed.jobs.map(({ queue }: { queue: string }) => queue)).toEqual(['pages.a']);
});

test('a settlement whose follow-up names a batch of others is refused for that item alone', async () => {
  const { body } = await root('POST', '/batches', { queue: 'notes.b' });
  await root('POST', '/jobs/batch', { jobs: [{ queue: 'notes.a' }, { queue: 'notes.a' }] });
  const own = as(service, 'consume,produce@notes.a');
  const { body: claimed } = await own('POST', '/jobs/claim', { queues: ['notes.a'], limit: 2 });
  const [one, two] = claimed.jobs.map(({ id, lease_token }: { id: string; lease_token: string }) => ({
    id,
    lease_token,
  }));
  const acks = [{ ...one, enqueue: [{ queue: 'notes.a', batch: body.id }] }, two];
  const { status, body: settled } = await own('POST', '/jobs/settle', { acks });
  expect(status).toBe(200);
  expect(settled.acks).toMatchObject([
    { status: 404, problem: { code: 'batch_not_found' } },
    { id: two.id, status: 200 },
  ]);
});

test('a key of some queues gets the answer of a repeated enqueue, also when its batch is long gone', async () => {
  await root('PUT', '/queues/notes.kept', {});
  const { body } = await root('POST', '/batches', { queue: 'notes.gone' });
  const own = as(service, 'produce@notes.*');
  const job = { queue: 'notes.kept', batch: body.id };
  const send = () => own('POST', '/jobs', job, { 'idempotency-key': 'once' });
  const first = await send();
  expect(first.status).toBe(201);
  expect((await root('DELETE', '/queues/notes.gone?force=true')).status).toBe(204);
  // A replica remembers queues for a time.
  const other = await startService({ access: speakingAccess(), databaseUrl: service.databaseUrl });
  try {
    const there = as(other, 'produce@notes.*');
    expectProblem(await there('POST', '/jobs', job), 404, 'batch_not_found');
    expect(await there('POST', '/jobs', job, { 'idempotency-key': 'once' })).toMatchObject({
      status: 201,
      body: first.body,
    });
  } finally {
    await other.stop();
  }
});
