import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
});
afterAll(() => service.stop());

const look = () => service.call('GET', `/queues/${queue}`);
const call = (verb: string, body?: unknown) => service.call('POST', `/queues/${queue}/${verb}`, body);
const stateOf = async (id: string) => (await service.call('GET', `/jobs/${id}`)).body.state;

/** Makes jobs dead one after the other, with these errors. */
async function dead(errors: string[]) {
  const jobs = await at.enqueueAll(errors.map((_, payload) => ({ queue, payload })));
  const leased = await at.claim(queue, { limit: errors.length });
  for (const [i, job] of leased.entries()) await at.settle('nack', job, { error: errors[i], retry: false });
  return jobs;
}

/** One job in each state but `blocked`. */
async function oneOfEach() {
  await at.configure(queue, { retention_seconds: 1000 });
  await at.enqueueAll(Array(4).fill({ queue }));
  const [leased, completed, cancelled, died] = await at.claim(queue, { limit: 4 });
  await at.settle('ack', completed);
  await at.ok('DELETE', `/jobs/${cancelled.id}`);
  await at.settle('nack', cancelled);
  await at.settle('nack', died, { retry: false });
  const [ready, scheduled] = await at.enqueueAll([{ queue }, { queue, delay_seconds: 1000 }]);
  return { leased, completed, cancelled, dead: died, ready, scheduled } as Record<string, { id: string }>;
}

describe('DELETE /queues/{queue}', () => {
  const remove = (query = '') => service.call('DELETE', `/queues/${queue}${query}`);

  test('an empty queue is deleted: 204', async () => {
    await at.configure(queue, { max_attempts: 9 });
    const answer = await remove();
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expectProblem(await look(), 404, 'queue_not_found');
    expectProblem(await remove(), 404, 'queue_not_found');
    expect((await at.enqueue({ queue })).max_attempts).toBe(5);
  });

  test('a queue with jobs is not deleted, whatever their state, unless force is true', async () => {
    for (const more of [{}, { delay_seconds: 1000 }]) {
      const { id } = await at.enqueue({ queue, ...more });
      expectProblem(await remove(), 409, 'queue_not_empty');
      expectProblem(await remove('?force=false'), 409, 'queue_not_empty');
      await at.ok('DELETE', `/jobs/${id}`);
    }
    const jobs = await oneOfEach();
    expectProblem(await remove(), 409, 'queue_not_empty');
    expect((await remove('?force=true')).status).toBe(204);
    expectProblem(await look(), 404, 'queue_not_found');
    for (const { id } of Object.values(jobs))
      expectProblem(await service.call('GET', `/jobs/${id}`), 404, 'job_not_found');
    expectProblem(await at.settle('ack', jobs.leased), 404, 'job_not_found');
  });

  test('a queue without jobs that has a batch which is not finished is not deleted, and the answer says so', async () => {
    await at.ok('POST', '/batches', { queue });
    const answer = await remove();
    expectProblem(answer, 409, 'queue_not_empty');
    expect(answer.body.detail).toBe(
      `Queue ${queue} has a batch that is not finished. With ?force=true, the queue is deleted all the same.`,
    );
    expect((await remove('?force=true')).status).toBe(204);
  });

  test('a queue that is deleted and created again has none of its old jobs', async () => {
    for (let i = 0; i < 3; i++) await at.enqueueAll(Array(900).fill({ queue }));
    expect((await remove('?force=true')).status).toBe(204);
    const { id } = await at.enqueue({ queue });
    expect((await look()).body.counts).toMatchObject({ ready: 1 });
    expect((await at.claimOne(queue)).id).toBe(id);
  });

  test('force=1 is force=true, and force=0 is force=false', async () => {
    await at.enqueue({ queue });
    expectProblem(await remove('?force=0'), 409, 'queue_not_empty');
    expectProblem(await remove('?force=false'), 409, 'queue_not_empty');
    expect((await remove('?force=1')).status).toBe(204);
  });

  test('force is true or false and nothing else', async () => {
    for (const query of ['force=', 'force=yes', 'force=TRUE', 'force=2', 'force=01'])
      expectProblem(await remove(`?${query}`), 400, 'invalid_request', '/force');
    expectProblem(await remove('?forced=true'), 400, 'invalid_request', '/forced');
  });
});

describe('POST /queues/{queue}/purge', () => {
  test('without states is refused, and deletes nothing', async () => {
    const jobs = await oneOfEach();
    expectProblem(await call('purge'), 400, 'invalid_request', '');
    expectProblem(await call('purge', ''), 400, 'invalid_request', '');
    expectProblem(await call('purge', {}), 400, 'invalid_request', '/states');
    for (const [state, { id }] of Object.entries(jobs)) expect(await stateOf(id)).toBe(state);
  });

  test('deletes the jobs in the named states, and no others', async () => {
    for (const state of ['ready', 'scheduled', 'completed', 'cancelled', 'dead']) {
      queue = at.newQueue();
      const jobs = await oneOfEach();
      expect((await call('purge', { states: [state, state] })).body, state).toEqual({ count: 1 });
      for (const [other, { id }] of Object.entries(jobs))
        expect(await stateOf(id)).toBe(other === state ? undefined : other);
    }
    expect((await call('purge', { states: ['blocked'] })).body).toEqual({ count: 0 });
  });

  test('never deletes leased jobs, and refuses unknown states', async () => {
    await at.enqueue({ queue });
    for (const [body, field] of [
      [{ states: ['ready', 'leased'] }, '/states/1'],
      [{ states: ['open'] }, '/states/0'],
      [{ states: [] }, '/states'],
      [{ states: null }, '/states'],
      [{ states: 'ready' }, '/states'],
      [{ states: ['ready'], limit: 1 }, '/limit'],
      [null, ''],
    ] as const)
      expectProblem(await call('purge', body), 400, 'invalid_request', field);
    expect((await look()).body.counts.ready).toBe(1);
  });

  test('deletes thousands of jobs, and none of other queues', async () => {
    const other = at.newQueue();
    await at.enqueue({ queue: other });
    for (let i = 0; i < 3; i++) await at.enqueueAll(Array(1000).fill({ queue }));
    expect((await call('purge', { states: ['ready'] })).body).toEqual({ count: 3000 });
    expect(await at.claim(queue)).toEqual([]);
    expect(await at.claim(other)).toHaveLength(1);
  });
});

describe('POST /queues/{queue}/redrive', () => {
  test('makes dead jobs ready, oldest first, with their attempts reset', async () => {
    const jobs = await dead(['a', 'b', 'c']);
    await at.enqueue({ queue, payload: 'before' });
    expect((await call('redrive')).body).toEqual({ count: 3 });
    expect(await at.get(jobs[0].id)).toMatchObject({
      state: 'ready',
      attempt: 0,
      deliveries: 1,
      finished_at: null,
    });
    expect(await at.drain(queue)).toEqual(['before', 0, 1, 2]);
    expect((await call('redrive')).body).toEqual({ count: 0 });
  });

  test('takes the oldest jobs up to its limit', async () => {
    await dead(['a', 'b', 'c', 'd']);
    expect((await call('redrive', { limit: 3 })).body).toEqual({ count: 3 });
    expect(await at.drain(queue)).toEqual([0, 1, 2]);
    expect((await call('redrive', { limit: 100 })).body).toEqual({ count: 1 });
  });

  test('takes only jobs whose error contains the text, without wildcards', async () => {
    await dead(['SMTP 421', 'SMTP 550', '100% sure', 'a_b', 'axb', 'smtp 421', 'SMTP 421 again']);
    const redrive = async (wish: object) => (await call('redrive', wish)).body.count;
    expect(await redrive({ error_contains: 'SMTP 421', limit: 1 })).toBe(1);
    expect(await redrive({ error_contains: 'SMTP 421' })).toBe(1);
    expect(await redrive({ error_contains: '%' })).toBe(1);
    expect(await redrive({ error_contains: 'a_b' })).toBe(1);
    expect(await redrive({ error_contains: 'nothing of that' })).toBe(0);
    expect(await at.drain(queue)).toEqual([0, 6, 2, 3]);
  });

  test.each([
    ['batch', 'select from dibs.batches where id = $1 for update'],
    ['jobs', 'select from dibs.jobs where batch_id = $1 for update'],
  ])('a redrive waits for who has locked the %s for a second, and leaves no job dead', async (_, lock) => {
    const batch = await at.ok('POST', '/batches', { queue, jobs: Array(3).fill({ queue }), closed: true });
    for (const job of await at.claim(queue, { limit: 3 })) await at.settle('nack', job, { retry: false });
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query(lock, [batch.id]);
    const redriven = call('redrive', {});
    await sleep(1000);
    await user.end('commit');
    expect((await redriven).body).toEqual({ count: 3 });
  });

  test('a redrive that has to wait for too long is 503, and says so', async () => {
    const [job] = (await dead(['e'])) as [{ id: string }];
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query('select from dibs.jobs where id = $1 for update', [job.id]);
    const refused = await call('redrive', {});
    expectProblem(refused, 503, 'unavailable');
    expect(refused.body.outcome).toBe('not_done');
    await user.end('rollback');
    expect((await call('redrive', {})).body).toEqual({ count: 1 });
  });

  test('takes the next jobs of the page in place of those that cannot come back', async () => {
    await at.enqueueAll(
      ['held', 'taken', 'a', 'b', 'c'].map((payload) => ({
        queue,
        payload,
        ...(payload.length > 1 && { unique_key: payload }),
      })),
    );
    for (const job of await at.claim(queue, { limit: 5 })) await at.settle('nack', job, { retry: false });
    await at.enqueue({ queue, payload: 'holder', unique_key: 'taken', delay_seconds: 600 });
    // Its transaction is open: the redrive learns of it only when it waits for its lock.
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query(`select dibs.enqueue($1, unique_key => 'held')`, [queue]);
    expect((await call('redrive', { limit: 1 })).body).toEqual({ count: 1 });
    expect(await at.drain(queue)).toEqual(['a']);
    expect((await call('redrive', { limit: 2 })).body).toEqual({ count: 2 });
    expect(await at.drain(queue)).toEqual(['b', 'c']);
    expect((await call('redrive', { limit: 2 })).body).toEqual({ count: 0 });
    await user.end('rollback');
    expect((await call('redrive', { limit: 2 })).body).toEqual({ count: 1 });
  });

  test('finds the few jobs that match among thousands', async () => {
    const errors = Array.from({ length: 1000 }, (_, i) => (i % 400 === 399 ? 'needle' : 'hay'));
    for (let i = 0; i < 2; i++) {
      await at.enqueueAll(errors.map((_, k) => ({ queue, payload: i * 1000 + k })));
      const leased = await at.claim(queue, { limit: 1000 });
      const nacks = leased.map(({ id, lease_token }, k) => ({
        id,
        lease_token,
        error: errors[k],
        retry: false,
      }));
      await at.ok('POST', '/jobs/settle', { nacks });
    }
    expect((await call('redrive', { error_contains: 'needle', limit: 3 })).body).toEqual({ count: 3 });
    expect((await at.drain(queue)).length).toBe(3);
    expect((await call('redrive', { error_contains: 'needle' })).body).toEqual({ count: 1 });
    expect((await call('redrive')).body).toEqual({ count: 1996 });
  });

  test('refuses malformed bodies', async () => {
    await at.configure(queue, {});
    for (const [body, field] of [
      [{ limit: 0 }, '/limit'],
      [{ limit: 1.5 }, '/limit'],
      [{ limit: null }, '/limit'],
      [{ error_contains: '' }, '/error_contains'],
      [{ error_contains: 'a\u0000' }, '/error_contains'],
      [{ states: ['dead'] }, '/states'],
      [null, ''],
    ] as const)
      expectProblem(await call('redrive', body), 400, 'invalid_request', field);
  });
});
