import { afterAll, beforeAll, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let root: ReturnType<typeof as>;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  root = as(service, 'admin@*');
  at = moves({ ...service, call: root });
  await at.enqueueAll([{ queue: 'mail.a' }, { queue: 'mail.a' }, { queue: 'images' }]);
});
afterAll(() => service.stop());

/** A duty counts for a fiftieth of the time: on a busy machine, the next count may come late. */
const SLOW = { withinMs: 170_000 };

test('the only database is home, open, with its queues and jobs', async () => {
  const { databases } = await until(async () => {
    const body = await at.ok('GET', '/databases');
    return body.databases[0].counts?.ready === 3 && body;
  }, SLOW);
  expect(databases).toMatchObject([
    { name: 'home', state: 'open', queues: 2, counts: { ready: 3, dead: 0 } },
  ]);
});

test('a caller for some queues is told of its own only', async () => {
  const mail = as(service, 'read@mail.*');
  const { databases } = await until(async () => {
    const { body } = await mail('GET', '/databases');
    return body.databases[0].counts?.ready === 2 && body;
  }, SLOW);
  expect(databases).toMatchObject([{ name: 'home', queues: 1, counts: { ready: 2 } }]);
});

test('the only database stays open for new queues', async () => {
  expect(await at.ok('PUT', '/databases/home', { accepts_queues: true })).toMatchObject({
    name: 'home',
    state: 'open',
    queues: 2,
  });
  const answer = await root('PUT', '/databases/home', { accepts_queues: false });
  expectProblem(answer, 400, 'invalid_request');
  expect(answer.body.errors).toMatchObject([{ in: 'body', path: '/accepts_queues' }]);
});

test('a database that there is not is 404', async () => {
  expectProblem(await root('PUT', '/databases/east', { accepts_queues: true }), 404, 'database_not_found');
});

test('a queue may be put into home, and into no unknown database', async () => {
  expect(await at.ok('PUT', '/queues/chosen', { database: 'home', max_attempts: 2 })).toMatchObject({
    config: { max_attempts: 2 },
  });
  const answer = await root('PUT', '/queues/nowhere', { database: 'east' });
  expectProblem(answer, 400, 'invalid_request');
  expect(answer.body.errors).toMatchObject([{ in: 'body', path: '/database' }]);
  expectProblem(await root('GET', '/queues/nowhere'), 404, 'queue_not_found');
});

test('with one database, no answer names it, and none is away', async () => {
  const configured = await at.ok('PUT', '/queues/plain', { database: 'home' });
  const one = await at.ok('GET', '/queues/plain');
  for (const queue of [configured, one]) {
    expect(queue).not.toHaveProperty('database');
    expect(queue.config).not.toHaveProperty('database');
  }
  for (const path of ['/queues', '/jobs', '/workers', '/operations', '/overview', '/overview/samples'])
    expect(await at.ok('GET', path), path).not.toHaveProperty('away');
});
