import { afterAll, beforeAll, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let root: ReturnType<typeof as>;
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  root = as(service, 'admin,read@*#root');
});
afterAll(() => service.stop());

const configOf = async (queue: string) => (await root('GET', `/queues/${queue}`)).body.config;

test('a key keeps the dead letter queue that is there, also one that it may not use', async () => {
  await root('PUT', '/queues/keep', { dead_letter_queue: 'hidden' });
  const own = as(service, 'admin@keep');
  const put = await own('PUT', '/queues/keep', { dead_letter_queue: 'hidden', max_attempts: 3 });
  expect(put.status).toBe(200);
  expect(put.body.config).toMatchObject({ dead_letter_queue: 'hidden', max_attempts: 3 });
  expect((await own('PUT', '/queues/keep', {})).status).toBe(200);
  expect(await configOf('keep')).not.toHaveProperty('dead_letter_queue');
});

test('a dead letter queue that is not there needs a key that may use it, whether that queue exists or not', async () => {
  await root('PUT', '/queues/change', { dead_letter_queue: 'hidden.one' });
  await root('PUT', '/queues/hidden.two', {});
  const own = as(service, 'admin@change,change.new,change.dead');
  const texts = [];
  for (const [queue, to] of [
    ['change', 'hidden.two'],
    ['change', 'hidden.nowhere'],
    ['change.new', 'hidden.two'],
    ['change.new', 'hidden.nowhere'],
  ] as const) {
    const answer = await own('PUT', `/queues/${queue}`, { dead_letter_queue: to, max_attempts: 3 });
    expectProblem(answer, 403, 'forbidden');
    texts.push(answer.body.detail.replace(to, 'QUEUE'));
  }
  expect(new Set(texts).size).toBe(1);
  expect(await configOf('change')).toMatchObject({ dead_letter_queue: 'hidden.one', max_attempts: 5 });
  for (const queue of ['change.new', 'hidden.nowhere'])
    expect((await root('GET', `/queues/${queue}`)).status).toBe(404);

  await own('PUT', '/queues/change', { dead_letter_queue: 'change.dead' });
  const back = await own('PUT', '/queues/change', { dead_letter_queue: 'hidden.one' });
  expectProblem(back, 403, 'forbidden');
});

test('a queue of others is refused before anybody looks what its dead letter queue is', async () => {
  await root('PUT', '/queues/foreign', { dead_letter_queue: 'hidden' });
  const answer = await as(service, 'admin@keep')('PUT', '/queues/foreign', { dead_letter_queue: 'hidden' });
  expectProblem(answer, 403, 'forbidden');
  expect(answer.body.detail).toContain('"foreign"');
});

test('a circle that is refused names no queue that the key may not use', async () => {
  await root('PUT', '/queues/circle.two', { dead_letter_queue: 'hidden.b' });
  await root('PUT', '/queues/hidden.b', { dead_letter_queue: 'hidden.a' });
  await root('PUT', '/queues/hidden.a', { dead_letter_queue: 'circle.one' });
  const close = (key: string) =>
    as(service, key)('PUT', '/queues/circle.one', { dead_letter_queue: 'circle.two' });
  const answer = await close('admin@circle.*');
  expectProblem(answer, 400, 'invalid_request', '/dead_letter_queue');
  expect(JSON.stringify(answer.body)).not.toContain('hidden');
  const seen = await close('admin@circle.*,hidden.*');
  expect(seen.body.detail).toContain('circle.one → circle.two → hidden.b → hidden.a → circle.one');
});
