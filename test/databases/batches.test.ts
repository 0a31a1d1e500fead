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
  databases = [await createDatabase(), await createOtherDatabase()];
  const [home, east] = databases as unknown as [{ url: string }, { url: string }];
  service = await startService({ databaseUrl: home.url, others: { east: east.url } });
  at = moves(service);
  for (const [queue, database] of Object.entries({ here: 'home', there: 'east', beside: 'east' }))
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

test('jobs and followers for queues of another database are refused, and nothing is done', async () => {
  const { id } = await create({ queue: 'there' });
  expectProblem(await service.call('POST', '/jobs', { queue: 'here', batch: id }), 404, 'batch_not_found');
  const both = {
    jobs: [
      { queue: 'there', batch: id },
      { queue: 'here', batch: id },
    ],
  };
  expectProblem(await service.call('POST', '/jobs/batch', both), 409, 'queue_elsewhere');
  for (const more of [{ jobs: [{ queue: 'here' }] }, { on_end: { queue: 'here' } }])
    expectProblem(
      await service.call('POST', '/batches', { queue: 'there', ...more }),
      409,
      'queue_elsewhere',
    );
  await at.enqueue({ queue: 'there' });
  const followUp = { enqueue: [{ queue: 'here', batch: id }] };
  expectProblem(await at.settle('ack', await at.claimOne('there'), followUp), 409, 'queue_elsewhere');
  const { batches } = await at.ok('GET', '/batches?queue=there&limit=1');
  expect(batches[0]).toMatchObject({ id, counts: { ready: 0 } });
});

test('batches of all databases are listed, newest first', async () => {
  const made: string[] = [];
  for (const queue of ['here', 'there', 'here']) made.unshift((await create({ queue })).id);
  const { batches } = await at.ok('GET', '/batches?limit=3');
  expect(batches.map(({ id }: Json) => id)).toEqual(made);
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
