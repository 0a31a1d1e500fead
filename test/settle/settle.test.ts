import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_ID, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const settle = (body: unknown) => service.call('POST', '/jobs/settle', body);
const item = ({ id, lease_token }: Json, more: object = {}) => ({ id, lease_token, ...more });
const none = { acks: [], nacks: [], releases: [], extends: [] };

async function leased(count: number, queue = at.newQueue()): Promise<Json[]> {
  await at.enqueueAll(Array(count).fill({ queue }));
  return at.claim(queue, { limit: count });
}

test('each list is answered with a result for each item, in order', async () => {
  const [a, b, c, d, e, f] = await leased(6);
  const { status, body } = await settle({
    acks: [item(b), item(a, { result: { ok: true } })],
    nacks: [item(c, { error: 'no', delay_seconds: 1000 }), item(d, { retry: false })],
    releases: [item(e)],
    extends: [item(f, { lease_seconds: 4000, progress: 0.5 })],
  });
  expect(status).toBe(200);
  expect(body).toEqual({
    acks: [b, a].map(({ id }) => ({ id, status: 200, state: 'completed', enqueued: [] })),
    nacks: [
      { id: c.id, status: 200, state: 'scheduled', run_at: expect.any(String) },
      { id: d.id, status: 200, state: 'dead', run_at: expect.any(String) },
    ],
    releases: [{ id: e.id, status: 200, state: 'ready', run_at: expect.any(String) }],
    extends: [
      {
        id: f.id,
        status: 200,
        state: 'leased',
        lease_expires_at: expect.any(String),
        cancel_requested: false,
      },
    ],
  });
  expect(await at.get(c.id)).toMatchObject({ run_at: body.nacks[0].run_at, last_error: 'no' });
  expect(await at.get(f.id)).toMatchObject({
    lease_expires_at: body.extends[0].lease_expires_at,
    progress: 0.5,
  });
});

test('a stale lease refuses only its own item', async () => {
  const [a, b, c] = await leased(3);
  const stale = { ...b, lease_token: UNKNOWN_TOKEN };
  const gone = { id: UNKNOWN_ID, lease_token: UNKNOWN_TOKEN };
  const { status, body } = await settle({
    acks: [item(stale), item(a), item(gone), item({ ...gone, id: 'no id' })],
    nacks: [item(stale), item(gone)],
    releases: [item(stale)],
    extends: [
      item(gone, { lease_seconds: 5 }),
      item(c, { lease_seconds: 5 }),
      item(stale, { lease_seconds: 5 }),
    ],
  });
  expect(status).toBe(200);
  const seen = (list: Json[]) => list.map((result) => [result.status, result.problem?.code]);
  expect(seen(body.acks)).toEqual([
    [409, 'lease_lost'],
    [200, undefined],
    [404, 'job_not_found'],
    [404, 'job_not_found'],
  ]);
  expect(seen(body.nacks)).toEqual([
    [409, 'lease_lost'],
    [404, 'job_not_found'],
  ]);
  expect(seen(body.releases)).toEqual([[409, 'lease_lost']]);
  expect(seen(body.extends)).toEqual([
    [404, 'job_not_found'],
    [200, undefined],
    [409, 'lease_lost'],
  ]);
  const { problem } = body.acks[0];
  expect(problem).toEqual((await at.settle('ack', stale)).body);
  expect((await at.get(b.id)).state).toBe('leased');
});

test('a job that is named twice in a list is settled once', async () => {
  const [a, b, c] = await leased(3);
  const { body } = await settle({
    acks: [item(a), item(a)],
    nacks: [item(b, { error: 'first', delay_seconds: 9 }), item(b, { error: 'second', delay_seconds: 0 })],
    extends: [item(c, { lease_seconds: 50 }), item(c, { lease_seconds: 5000 })],
  });
  expect(body.acks.map((r: Json) => r.status)).toEqual([200, 404]);
  expect(body.nacks.map((r: Json) => r.status)).toEqual([200, 409]);
  expect(body.extends.map((r: Json) => r.status)).toEqual([200, 200]);
  expect((await at.get(b.id)).last_error).toBe('first');
  expect((await at.get(c.id)).lease_expires_at).toBe(body.extends[1].lease_expires_at);
});

test('a repeated ack of a retained job answers the same', async () => {
  const queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 1000 });
  const [job] = await leased(1, queue);
  const acks = [item(job, { result: 1 }), item(job, { result: 2 })];
  const { body } = await settle({ acks });
  expect(body.acks[0]).toEqual(body.acks[1]);
  expect((await settle({ acks })).body).toEqual(body);
  expect((await at.get(job.id)).result).toBe(1);
});

test('a job in two lists is settled by one of them', async () => {
  for (let i = 0; i < 10; i++) {
    const [job] = await leased(1);
    const { body } = await settle({ acks: [item(job)], releases: [item(job)] });
    const statuses = [body.acks[0].status, body.releases[0].status].sort();
    expect(statuses[0]).toBe(200);
    expect([404, 409]).toContain(statuses[1]);
  }
});

test('jobs of many queues are settled together', async () => {
  const jobs = (await Promise.all(Array.from({ length: 20 }, () => leased(5)))).flat();
  const { body } = await settle({ acks: jobs.map((job) => item(job)) });
  expect(body.acks.map((r: Json) => [r.id, r.status])).toEqual(jobs.map((job) => [job.id, 200]));
});

test('a request with no items settles nothing, and is answered 200', async () => {
  expect((await settle({})).body).toEqual(none);
  expect((await settle(none)).body).toEqual(none);
});

test('a request without a body is refused', async () => {
  expectProblem(await settle(''), 400, 'invalid_request', '');
});

test('a malformed item refuses the whole request, and nothing is settled', async () => {
  const [job] = await leased(1);
  for (const [bad, field] of [
    [{ acks: [item(job), { id: job.id }] }, '/acks/1/lease_token'],
    [{ acks: [item(job), { lease_token: job.lease_token }] }, '/acks/1/id'],
    [{ acks: [item(job), item(job, { error: 'x' })] }, '/acks/1/error'],
    [{ acks: [item(job), null] }, '/acks/1'],
    [{ acks: [item(job)], nacks: [item(job, { retry: 'no' })] }, '/nacks/0/retry'],
    [{ acks: [item(job)], nacks: [item(job, { error: 'a\u0000' })] }, '/nacks/0/error'],
    [{ acks: [item(job)], releases: [item(job, { delay_seconds: -1 })] }, '/releases/0/delay_seconds'],
    [{ acks: [item(job)], extends: [item(job)] }, '/extends/0/lease_seconds'],
    [{ acks: [item(job)], extends: [item(job, { lease_seconds: 43_201 })] }, '/extends/0/lease_seconds'],
    [{ acks: item(job) }, '/acks'],
    [{ acks: [item(job)], nacks: null }, '/nacks'],
    [{ acks: [item(job)], cancels: [] }, '/cancels'],
  ] as const)
    expectProblem(await settle(bad), 400, 'invalid_request', field);
  expect((await at.get(job.id)).state).toBe('leased');
});

test('a request has up to 1000 items, and one more refuses the whole request', async () => {
  const jobs = await leased(1000);
  const lists = { acks: jobs.slice(0, 400), nacks: jobs.slice(400, 600), releases: jobs.slice(600) };
  const body = Object.fromEntries(
    Object.entries(lists).map(([list, of]) => [list, of.map((job) => item(job))]),
  );
  const over = { ...body, extends: [item(jobs[0], { lease_seconds: 1 })] };
  expectProblem(await settle(over), 400, 'invalid_request', '');
  const acks = Array(1001).fill(item(jobs[0]));
  expectProblem(await settle({ acks }), 400, 'invalid_request', '/acks');
  const { body: answer } = await settle(body);
  for (const [list, of] of Object.entries(lists))
    expect(answer[list].map((r: Json) => [r.id, r.status])).toEqual(of.map((job) => [job.id, 200]));
});
