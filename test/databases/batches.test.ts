import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase, createOtherDatabase } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let databases: Awaited<ReturnType<typeof createDatabase>>[];
let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  databases = [await createDatabase(), await createOtherDatabase(), await createOtherDatabase()];
  const [home, east, west] = databases.map(({ url }) => url) as [string, string, string];
  service = await startService({ databaseUrl: home, others: { east, west } });
  at = moves(service);
  for (const [queue, database] of Object.entries({
    here: 'home',
    there: 'east',
    beside: 'east',
    third: 'west',
  }))
    await at.ok('PUT', `/queues/${queue}`, { database });
});
afterAll(async () => {
  await service.stop();
  for (const { drop } of databases) await drop();
});

const create = (body: object): Promise<Json> => at.ok('POST', '/batches', body);

test('a batch is in the database of its queue, with its jobs and followers', async () => {
  const { id } = await create({
    queue: 'there',
    jobs: [{ queue: 'there' }, { queue: 'beside' }],
    on_success: { queue: 'beside', payload: 'after' },
  });
  expect((await at.enqueue({ queue: 'beside', batch: id })).batch).toBe(id);
  await at.ok('POST', `/batches/${id}/close`);
  const waiting = at.ok('GET', `/batches/${id}?wait_seconds=30`);
  for (const queue of ['there', 'beside'])
    for (const job of await at.claim(queue, { limit: 10 })) await at.settle('ack', job);
  expect(await waiting).toMatchObject({ state: 'succeeded', counts: { completed: 3 } });
  expect((await at.claimOne('beside')).payload).toBe('after');
  expect((await at.ok('GET', `/batches/${id}/explain`)).code).toBe('finished');
});

/** It is refused, and told which field is to be in another database. */
async function refusedElsewhere(path: string, body: object, detail: string) {
  const answer = await service.call('POST', path, body);
  expectProblem(answer, 409, 'queue_elsewhere', detail.split(' ')[0]);
  expect(answer.body.detail).toBe(detail);
}
const together = (whose: string, own: string, there: string) =>
  `must be in the same database as ${whose}: it is in "${own}", and that in "${there}".`;

test('jobs for a batch of another database are refused by name, and nothing is done', async () => {
  const { id } = await create({ queue: 'there' });
  const here = { queue: 'here', batch: id };
  const there = { queue: 'there', batch: id };
  const third = { queue: 'third', batch: id };
  const withHere = together('queue here', 'east', 'home');
  await refusedElsewhere('/jobs', here, `/batch ${withHere}`);
  await refusedElsewhere('/jobs', third, `/batch ${together('queue third', 'east', 'west')}`);
  await refusedElsewhere('/jobs/batch', { jobs: [there, here] }, `/jobs/1/batch ${withHere}`);
  await refusedElsewhere(
    '/jobs/batch',
    { jobs: [there, { queue: 'here' }, third, here] },
    `/jobs/2/batch ${together('queue third', 'east', 'west')}`,
  );
  const withFirst = together('the first job', 'east', 'west');
  await refusedElsewhere('/jobs/batch', { jobs: [{ queue: 'third' }, there] }, `/jobs/1/batch ${withFirst}`);
  const once = await service.call('POST', '/jobs', here, { 'idempotency-key': 'elsewhere' });
  expectProblem(once, 409, 'queue_elsewhere', '/batch');
  const { batches } = await at.ok('GET', '/batches?queue=there&limit=1');
  expect(batches[0]).toMatchObject({ id, counts: { ready: 0 } });
  for (const queue of ['here', 'third', 'there']) expect(await at.claim(queue)).toEqual([]);
});

test('a batch that no database has is not found, wherever the queues are', async () => {
  const { id } = await create({ queue: 'there' });
  const unknown = id.replace(/^......../, '00000000');
  for (const batch of [unknown, unknown.replace(/......$/, 'ffffff')]) {
    for (const queue of ['here', 'there', 'third', 'not.there.yet'])
      expectProblem(await service.call('POST', '/jobs', { queue, batch }), 404, 'batch_not_found');
    const jobs = [{ queue: 'here' }, { queue: 'third', batch }];
    expectProblem(await service.call('POST', '/jobs/batch', { jobs }), 404, 'batch_not_found');
    const nested = { queue: 'here', on_end: { queue: 'here', batch } };
    expectProblem(await service.call('POST', '/batches', nested), 404, 'batch_not_found');
  }
});

test('follow-ups for a batch of another database are refused by name, and their job stays leased', async () => {
  const { id } = await create({ queue: 'there' });
  for (const [queue, refusal] of [
    ['there', together('queue here', 'east', 'home')],
    ['third', together('queue here', 'east', 'home')],
    ['here', together('queue here', 'east', 'home')],
  ] as const) {
    await at.enqueue({ queue });
    const lease = await at.claimOne(queue);
    const enqueue = [{ queue }, { queue: 'here', batch: id }];
    for (const [verb, more] of [
      ['ack', {}],
      ['nack', { retry: false }],
    ] as const) {
      const refused = await at.settle(verb, lease, { enqueue, ...more });
      expectProblem(refused, 409, 'queue_elsewhere', '/enqueue/1/batch');
      expect(refused.body.detail).toBe(`/enqueue/1/batch ${refusal}`);
    }
    const ack = { id: lease.id, lease_token: lease.lease_token, enqueue };
    const { body } = await service.call('POST', '/jobs/settle', { acks: [ack] });
    expect(body.acks).toMatchObject([
      { status: 409, problem: { code: 'queue_elsewhere', detail: `/acks/0/enqueue/1/batch ${refusal}` } },
    ]);
    await at.settle('ack', lease);
  }
  await at.enqueue({ queue: 'third' });
  const lease = await at.claimOne('third');
  const refused = await at.settle('ack', lease, { enqueue: [{ queue: 'there', batch: id }] });
  expectProblem(refused, 409, 'queue_elsewhere', '/enqueue/0/batch');
  expect(refused.body.detail).toContain(together('the job that adds it', 'east', 'west'));
  await at.settle('ack', lease);
});

test('a new batch with jobs or followers in another database is refused by name', async () => {
  const refused = (body: object, detail: string) =>
    refusedElsewhere('/batches', { queue: 'there', ...body }, detail);
  const jobs = [{ queue: 'beside' }, { queue: 'here' }, { queue: 'here' }];
  await refused({ jobs }, `/jobs/1/queue ${together('queue there', 'home', 'east')}`);
  await refused({ on_end: { queue: 'here' } }, `/on_end/queue ${together('queue there', 'home', 'east')}`);
  const { id } = await create({ queue: 'here' });
  const inner = { on_success: { queue: 'beside', batch: id } };
  await refused(inner, `/on_success/batch ${together('queue beside', 'home', 'east')}`);
});

test('a new queue of a batch whose follower joins another one is created beside that', async () => {
  const { id } = await create({ queue: 'there' });
  for (const queue of ['inner.one', 'within.one', 'nested.one'])
    expect((await create({ queue, on_end: { queue, batch: id } })).queue).toBe(queue);
});

test('batches of all databases are listed, newest first', async () => {
  const made: string[] = [];
  for (const queue of ['here', 'there', 'third']) made.push((await create({ queue })).id);
  const listed = async (limit: number) =>
    (await at.ok('GET', `/batches?limit=${limit}`)).batches.map(({ id }: Json) => id);
  const all = await listed(100);
  expect(all).toEqual(expect.arrayContaining(made));
  // Each database has a clock of its own. Their ids are by these clocks.
  expect(all).toEqual(all.toSorted().toReversed());
  expect(await listed(3)).toEqual(all.slice(0, 3));
  const { jobs } = await at.ok('GET', `/jobs?batch=${made[1]}`);
  expect(jobs).toEqual([]);
});

test('a queue with a batch that has not ended stays in its database', async () => {
  const { id } = await create({ queue: 'there', jobs: [{ queue: 'beside' }], on_end: { queue: 'later' } });
  for (const queue of ['there', 'beside'])
    expectProblem(await service.call('POST', `/queues/${queue}/relocate`, { to: 'home' }), 409, 'queue_busy');
  await at.ok('DELETE', `/batches/${id}`);
});

test('a job that is moved to another database leaves its batch, as cancelled', async () => {
  const { id } = await create({ queue: 'there', jobs: [{ queue: 'beside' }], closed: true });
  const filter = { states: ['ready'] };
  await at.ok('POST', '/operations', { verb: 'move', queue: 'beside', to: 'here', filter });
  const batch = await at.ok('GET', `/batches/${id}?wait_seconds=30`);
  expect(batch).toMatchObject({ state: 'ended', counts: { cancelled: 1 } });
  expect((await at.claimOne('here', { wait_seconds: 10 })).batch).toBe(null);
});

test('a follower whose queue was made again in another database arrives there, and holds up no other', async () => {
  await at.ok('PUT', '/queues/again', { database: 'home' });
  const after = { queue: 'again', payload: { a: 1 }, headers: { x: 'y' }, priority: 3 };
  const { id } = await create({ queue: 'here', jobs: [{ queue: 'here' }], on_end: after, closed: true });
  await at.ok('DELETE', '/queues/again?force=true');
  await at.ok('PUT', '/queues/again', { database: 'east' });
  await at.settle('ack', await at.claimOne('here'));
  expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({ state: 'succeeded' });
  const [follower] = await at.claim('again', { wait_seconds: 20 });
  expect(follower).toMatchObject({ payload: { a: 1 }, headers: { x: 'y', 'dibs-batch': id }, priority: 3 });
  expect(follower.max_attempts).toBe(5);
  await at.settle('ack', follower);
  expect(await at.claim('again')).toEqual([]);
});
