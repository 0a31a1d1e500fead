import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { bearer } from '../support/keys.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Answer, type Service, startService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
let queue: string;
let key: { 'idempotency-key': string };
beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
  key = { 'idempotency-key': randomUUID() };
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const create = (body: object = {}, at = service, headers: Record<string, string> = key): Promise<Answer> =>
  at.call('POST', '/batches', { queue, ...body }, headers);
const listed = async (): Promise<Json[]> => (await at.ok('GET', `/batches?queue=${queue}`)).batches;

function expectSame(again: Answer, first: Answer): void {
  expect(first.status, first.text).toBe(201);
  expect([again.status, again.text, again.headers.location]).toEqual([
    201,
    first.text,
    first.headers.location,
  ]);
  expect([first, again].map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, 'true']);
}

describe('a batch is created once for each Idempotency-Key, and a repeat is answered the same', () => {
  test.each<[string, () => object]>([
    ['open, without anything', () => ({})],
    ['with a name and followers', () => ({ name: 'pages', on_end: { queue }, on_success: { queue } })],
    [
      'with jobs in every state',
      () => ({
        jobs: [{ queue }, { queue, delay_seconds: 600 }, { queue, group: 'g' }, { queue, group: 'g' }],
        closed: true,
      }),
    ],
    ['that has ended at once', () => ({ closed: true, on_end: { queue: `${queue}.after` } })],
    [
      'with a duplicate',
      () => ({
        jobs: [
          { queue, unique_key: 'k' },
          { queue, unique_key: 'k' },
        ],
        on_end: { queue },
      }),
    ],
  ])('%s', async (_, body) => {
    const first = await create(body());
    expectSame(await create(body()), first);
    expectSame(await create(body(), other), first);
    expect(await listed()).toHaveLength(1);
    // It tells no more than what is so.
    const { counts, ...batch } = await at.ok('GET', `/batches/${first.body.id}`);
    expect(first.body).toMatchObject(batch);
    const sum = (all: Json) => Object.values<number>(all).reduce((a, b) => a + b, 0);
    expect(sum(first.body.counts)).toBe(sum(counts));
    expect((await at.ok('GET', `/jobs?batch=${first.body.id}`)).jobs).toHaveLength(sum(counts));
    const after = await at.ok('GET', `/jobs?queue=${queue}.after`);
    expect(after.jobs).toHaveLength(batch.finished_at === null ? 0 : 1);
  });

  test('when the batch has ended meanwhile, and when its queue is gone', async () => {
    const body = { jobs: [{ queue }], closed: true };
    const first = await create(body);
    await at.settle('ack', await at.claimOne(queue));
    expectSame(await create(body), first);
    await at.ok('DELETE', `/queues/${queue}?force=true`);
    expectSame(await create(body), first);
    expectProblem(await service.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
  });

  test('when they come at once, at two replicas', async () => {
    const body = { jobs: [{ queue }] };
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => create(body, i % 2 === 0 ? service : other)),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect(await listed()).toHaveLength(1);
  });

  test('until its 24 hours are over', async () => {
    const first = await create();
    const expire = `update dibs.idempotency_keys set expires_at = now() where key = '${key['idempotency-key']}'`;
    await onServer(service.databaseUrl, expire);
    const second = await create();
    expect(second.body.id).not.toBe(first.body.id);
    expectSame(await create(), second);
  });
});

test('another body with the key is refused, and creates nothing', async () => {
  await create();
  expectProblem(await create({ closed: true }), 422, 'idempotency_key_reused');
  expectProblem(await create({ name: 'other' }, other), 422, 'idempotency_key_reused');
  expect(await listed()).toHaveLength(1);
});

test('a refusal is not kept: the corrected request may use the key', async () => {
  expectProblem(await create({ on_end: { queue, batch: 'none' } }), 404, 'batch_not_found');
  expectProblem(await create({ jobs: [{ queue, priority: 1000 }] }), 400, 'invalid_request');
  const first = await create({ on_end: { queue } });
  expectSame(await create({ on_end: { queue } }), first);
});

test('without a key, each request creates one', async () => {
  const [one, two] = [await create({}, service, {}), await create({}, service, {})];
  expect(one.body.id).not.toBe(two.body.id);
});

test('a repeated enqueue into a batch that is long gone is answered the same', async () => {
  await at.configure(queue, {});
  const { id } = await at.ok('POST', '/batches', { queue: `${queue}.own` });
  const into = (of: Service, headers = {}) => of.call('POST', '/jobs', { queue, batch: id }, headers);
  const first = await into(service, key);
  await at.ok('DELETE', `/queues/${queue}.own?force=true`);
  for (const one of [service, other]) {
    expectProblem(await into(one), 404, 'batch_not_found');
    expectSame(await into(one, key), first);
  }
});

test('a key is of its route: POST /jobs and POST /batches share none', async () => {
  await at.ok('POST', '/jobs', { queue }, key);
  expect((await create()).headers['idempotent-replayed']).toBe(undefined);
});

test('access keys do not share keys', async () => {
  const keyed = await startService();
  try {
    const admin = (await keyed.call('POST', '/keys', { name: 'a', scopes: ['admin', 'produce'] })).body.key;
    const own = { ...bearer(admin), ...key };
    const { body } = await keyed.call('POST', '/keys', { name: 'b', scopes: ['produce'] }, bearer(admin));
    const first = await create({}, keyed, own);
    expect(first.status, first.text).toBe(201);
    const foreign = await create({}, keyed, { ...bearer(body.key), ...key });
    expect(foreign.headers['idempotent-replayed']).toBe(undefined);
    expect(foreign.body.id).not.toBe(first.body.id);
    expectSame(await create({}, keyed, own), first);
  } finally {
    await keyed.stop();
  }
});
