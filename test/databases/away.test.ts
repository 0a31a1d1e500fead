import { afterAll, beforeAll, expect, test } from 'vitest';
import { reachable } from '../support/reachable.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

type Reachable = Awaited<ReturnType<typeof reachable>>;
let home: Reachable;
let a: Reachable;
let b: Reachable;
let service: Service;
const options = () => ({ databaseUrl: home.url, others: { a: a.url, b: b.url } });

beforeAll(async () => {
  [home, a, b] = await Promise.all([reachable(), reachable(), reachable()]);
  service = await startService(options());
  for (const database of ['home', 'a', 'b'])
    expect((await service.call('PUT', `/queues/in-${database}`, { database })).status).toBe(200);
});
afterAll(async () => {
  await service.stop();
  for (const database of [home, a, b]) await database.drop();
});

const enqueue = (queue: string) => service.call('POST', '/jobs', { queue });
const claim = (queues: string[], wait_seconds = 0) =>
  service.call('POST', '/jobs/claim', { queues, wait_seconds, limit: 10 });

/** It serves the database again when an enqueue there is answered, and no look calls it away. */
async function isBack(name: string) {
  await until(async () => (await enqueue(`in-${name}`)).status === 201);
  await until(async () => (await service.call('GET', '/queues')).body.away === undefined);
  await claim([`in-${name}`]);
}

test('a database that is away stops its own queues only, and comes back by itself', async () => {
  await b.leave();
  expect(await enqueue('in-b')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  for (const name of ['home', 'a']) {
    const { body: job } = await enqueue(`in-${name}`);
    const { body } = await claim(['in-b', `in-${name}`]);
    expect(body.jobs).toMatchObject([{ id: job.id }]);
    const [{ id, lease_token }] = body.jobs;
    expect((await service.call('POST', `/jobs/${id}/ack`, { lease_token })).status).toBe(200);
  }
  expect(await service.call('GET', '/readyz')).toMatchObject({
    status: 200,
    body: {
      status: 'ok',
      not_ready: [{ name: 'b', reason: expect.stringMatching(/^The database .*answer/) }],
    },
  });
  const { body } = await service.call('GET', '/queues');
  expect(body.away).toEqual(['b']);
  expect(body.queues.map(({ name }: { name: string }) => name)).toEqual(['in-a', 'in-home']);
  const { body: list } = await service.call('GET', '/databases');
  expect(list.databases.map(({ name, state }: { name: string; state: string }) => [name, state])).toEqual([
    ['home', 'open'],
    ['a', 'open'],
    ['b', 'away'],
  ]);
  await b.comeBack();
  await isBack('b');
  expect((await service.call('GET', '/readyz')).body).toEqual({ status: 'ok' });
});

test('a claim that does not wait is served again by a database that has returned, though nobody else calls it', async () => {
  const { body: job } = await enqueue('in-b');
  await b.leave();
  await until(async () => (await service.call('GET', '/queues')).body.away !== undefined);
  expect((await claim(['in-a', 'in-b'])).body.jobs).toEqual([]);
  await b.comeBack();
  await until(async () => (await claim(['in-a', 'in-b'])).body.jobs[0]?.id === job.id);
});

test('a claim that waits for queues of a database that goes away is served from the others', async () => {
  const waiting = claim(['in-b', 'in-a'], 30);
  await until(() => service.engine.ledger.held().claims === 1);
  await b.leave();
  await until(async () => (await service.call('GET', '/queues')).body.away !== undefined);
  const { body: job } = await enqueue('in-a');
  expect((await waiting).body.jobs).toMatchObject([{ id: job.id }]);
  await b.comeBack();
  await isBack('b');
});

test('a job for a batch whose database is away is refused as unavailable, not as if there were no such batch', async () => {
  const { body: batch } = await service.call('POST', '/batches', { queue: 'in-b' });
  await b.leave();
  await until(async () => (await service.call('GET', '/queues')).body.away !== undefined);
  expect(await service.call('POST', '/jobs', { queue: 'in-a', batch: batch.id })).toMatchObject({
    status: 503,
    body: { code: 'unavailable', outcome: 'not_done' },
  });
  await b.comeBack();
  await isBack('b');
});

test('with home away, queues of others go on, and what needs home is refused', async () => {
  await enqueue('in-a');
  await claim(['in-a']);
  await home.leave();
  const { status, body: job } = await enqueue('in-a');
  expect(status).toBe(201);
  expect((await service.call('GET', `/jobs/${job.id}`)).status).toBe(200);
  expect((await claim(['in-a'])).body.jobs).toMatchObject([{ id: job.id }]);
  for (const done of [
    await service.call('PUT', '/queues/in-a', { max_attempts: 7 }),
    await service.call('POST', '/queues/in-a/pause'),
    await service.call('POST', '/queues/in-a/resume'),
  ])
    expect(done).toMatchObject({ status: 200, body: { name: 'in-a', database: 'a' } });
  for (const refused of [
    service.call('PUT', '/queues/new', { database: 'a' }),
    service.call('PUT', '/queues/in-a', { dead_letter_queue: 'in-a.dead' }),
    service.call('DELETE', '/queues/in-a?force=true'),
    service.call('PUT', '/schedules/s', { cron: '0 0 * * *', job: { queue: 'in-a' } }),
    enqueue('never-seen'),
    enqueue('in-home'),
  ])
    expect(await refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect((await service.call('GET', `/jobs/${job.id}`)).body).toMatchObject({ state: 'leased' });
  expect((await service.call('GET', '/readyz')).body.not_ready).toMatchObject([{ name: 'home' }]);
  await home.comeBack();
  await isBack('home');
});

test('with home away, a replica settles the jobs that it claims of a queue that another one has created anew', async () => {
  const two = await startService(options());
  const at = (path: string, body: object) => two.call('POST', path, body);
  const claimed = async () => (await at('/jobs/claim', { queues: ['anew'] })).body.jobs[0];
  await service.call('PUT', '/queues/anew', { database: 'a' });
  await at('/jobs', { queue: 'anew' });
  const old = await until(claimed);
  expect(await at(`/jobs/${old.id}/ack`, { lease_token: old.lease_token })).toMatchObject({ status: 200 });
  expect((await service.call('DELETE', '/queues/anew?force=true')).status).toBe(204);
  await service.call('PUT', '/queues/anew', { database: 'a' });
  await enqueue('anew');
  await home.leave();
  const { id, lease_token } = await until(claimed);
  expect((await two.call('GET', `/jobs/${id}`)).status).toBe(200);
  expect(await at(`/jobs/${id}/ack`, { lease_token })).toMatchObject({ status: 200 });
  await home.comeBack();
  await isBack('home');
  await two.stop();
});

test('a replica starts while a database is away that home knows, and serves its queues once it is back', async () => {
  await b.leave();
  await service.stop();
  service = await startService(options());
  expect((await enqueue('in-a')).status).toBe(201);
  expect(await enqueue('in-b')).toMatchObject({ status: 503 });
  await b.comeBack();
  await isBack('b');
});

test('it is not ready when all databases are away', async () => {
  for (const database of [home, a, b]) await database.leave();
  await until(async () => (await service.call('GET', '/readyz')).status === 503);
  for (const database of [home, a, b]) await database.comeBack();
  for (const name of ['home', 'a', 'b']) await isBack(name);
});
