import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FIRST_ID } from '../../src/ids.ts';
import { aroundQueries } from '../support/aroundQueries.ts';
import { onServer, openClient } from '../support/database.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

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

const job = (more: object = {}) => ({ queue, unique_key: 'k', unique_until: 'claimed', ...more });
const post = (more: object = {}) => service.call('POST', '/jobs', job(more));
const isNew = async (more: object = {}) => (await post(more)).status === 201;

describe('unique_until claimed', () => {
  test('a claim frees the key, and the next enqueue is a new job', async () => {
    const { body: first } = await post();
    expect(first.unique_key).toBe('k');
    expect(await isNew()).toBe(false);
    const leased = await at.claimOne(queue);
    expect(leased).toMatchObject({ id: first.id, unique_key: null });
    const { status, body: second } = await post();
    expect({ status, key: second.unique_key }).toEqual({ status: 201, key: 'k' });
    expect(await isNew()).toBe(false);
    expect((await at.settle('ack', leased)).status).toBe(200);
    expect(await at.claimOne(queue)).toMatchObject({ id: second.id });
  });

  test('finished: the key holds until the end, as without it', async () => {
    await post({ unique_until: 'finished' });
    const leased = await at.claimOne(queue);
    expect(leased.unique_key).toBe('k');
    expect(await isNew()).toBe(false);
    await at.settle('ack', leased);
    expect(await isNew()).toBe(true);
  });

  test.each<['nack' | 'release', object]>([
    ['nack', {}],
    ['nack', { delay_seconds: 600 }],
    ['release', {}],
  ])('a job that comes back by a %s %j holds it again', async (verb, how) => {
    await at.configure(queue, { backoff: { kind: 'constant', base_seconds: 0 } });
    await post();
    const leased = await at.claimOne(queue);
    const { body } = await at.settle(verb, leased, how);
    expect(body).toMatchObject({ id: leased.id, unique_key: 'k' });
    expect((await post()).body).toMatchObject({ id: leased.id, deduplicated: true });
  });

  test('the answer has the key, also where the duty has given it back first', async () => {
    const { body: first } = await post();
    const leased = await at.claimOne(queue);
    const undo = aroundQueries(service, async ({ file }, { ids }, run) => {
      if (file === 'enqueue/regain_keys' && ids !== null)
        await onServer(await databaseOf(service.databaseUrl, queue), 'select from dibs.regain_keys(0, $1)', [
          FIRST_ID,
        ]);
      return run();
    });
    try {
      expect((await at.settle('release', leased)).body).toMatchObject({ id: first.id, unique_key: 'k' });
    } finally {
      undo();
    }
  });

  test('so does one whose lease ran out, and one that is retried or redriven', async () => {
    const { body: first } = await post({ max_attempts: 2 });
    await at.claim(queue, { lease_seconds: 0.1 });
    const holds = () =>
      eventually(async () =>
        expect(await at.get(first.id)).toMatchObject({ state: 'ready', unique_key: 'k' }),
      );
    await holds();
    const dies = async () => at.settle('nack', await at.claimOne(queue), { retry: false });
    expect((await dies()).body).toMatchObject({ state: 'dead', unique_key: null });
    await at.ok('POST', `/jobs/${first.id}/retry`);
    await holds();
    await dies();
    await at.ok('POST', `/queues/${queue}/redrive`, {});
    await holds();
    expect((await post()).body).toMatchObject({ id: first.id, deduplicated: true });
  });

  /** Jobs with the keys k0, k1, ..., all of them dead. */
  async function dead(count: number): Promise<Json[]> {
    const jobs = await at.enqueueAll(Array.from({ length: count }, (_, i) => job({ unique_key: `k${i}` })));
    const leased = await at.claim(queue, { limit: count });
    const nacks = leased.map(({ id, lease_token }) => ({ id, lease_token, retry: false }));
    await at.ok('POST', '/jobs/settle', { nacks });
    return jobs;
  }

  /** No second job of these keys is taken. */
  async function holdTheirKeys(jobs: Json[]) {
    const again = jobs.map((_, i) => job({ unique_key: `k${i}` }));
    const { jobs: answered } = await at.ok('POST', '/jobs/batch', { jobs: again });
    expect(answered.filter(({ deduplicated }: Json) => !deduplicated)).toEqual([]);
  }

  test('jobs that come back by a redrive hold their keys when it is answered, however many', async () => {
    const jobs = await dead(150);
    expect((await at.ok('POST', `/queues/${queue}/redrive`, {})).count).toBe(150);
    await holdTheirKeys(jobs);
  });

  test('so does a job that is retried, and the answer has its key', async () => {
    const jobs = await dead(1);
    expect(await at.ok('POST', `/jobs/${jobs[0].id}/retry`)).toMatchObject({
      unique_key: 'k0',
      state: 'ready',
    });
    await holdTheirKeys(jobs);
  });

  test('jobs that come back by nacks hold their keys at once, however many', async () => {
    const jobs = await at.enqueueAll(Array.from({ length: 150 }, (_, i) => job({ unique_key: `k${i}` })));
    const leased = await at.claim(queue, { limit: 150 });
    const nacks = leased.map(({ id, lease_token }) => ({ id, lease_token }));
    await at.ok('POST', '/jobs/settle', { nacks });
    await holdTheirKeys(jobs);
  });

  test('one that comes back when another has taken the key stays without', async () => {
    await post();
    const first = await at.claimOne(queue);
    const { body: second } = await post();
    expect((await at.settle('release', first)).body).toMatchObject({ state: 'ready', unique_key: null });
    const [next, again] = await at.claim(queue, { limit: 2 });
    expect([next.id, again.id]).toEqual([second.id, first.id]);
    await at.settle('release', again);
    await at.settle('ack', next);
    // It is free now, and the first job does not take it again.
    expect((await at.get(first.id)).unique_key).toBe(null);
    expect(await isNew()).toBe(true);
  });

  test('in batches of jobs, with new keys and with taken ones', async () => {
    const all = (n: number) => ({ jobs: Array.from({ length: n }, (_, i) => job({ unique_key: `k${i}` })) });
    await at.ok('POST', '/jobs/batch', all(3));
    const { jobs } = await at.ok('POST', '/jobs/batch', all(5));
    expect(jobs.map(({ deduplicated = false }: Json) => deduplicated)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(await at.claim(queue, { limit: 10 })).toHaveLength(5);
    expect((await at.ok('POST', '/jobs/batch', all(5))).jobs.some((one: Json) => one.deduplicated)).toBe(
      false,
    );
  });

  test('with a window, on_duplicate, and in a follow-up', async () => {
    expect(await isNew({ unique_for_seconds: 60 })).toBe(true);
    await at.claimOne(queue);
    expect(await isNew()).toBe(false);

    const other = { queue, unique_key: 'other', unique_until: 'claimed', on_duplicate: 'replace' };
    await at.enqueue({ ...other, payload: 1 });
    await at.enqueue({ ...other, payload: 2 });
    const leased = await at.claimOne(queue);
    expect(leased.payload).toBe(2);
    expect((await service.call('POST', '/jobs', other)).status).toBe(201);

    const follows = { enqueue: [job({ unique_key: 'next' })] };
    expect((await at.settle('ack', leased, follows)).status).toBe(200);
    await at.claim(queue, { limit: 10 });
    expect((await service.call('POST', '/jobs', job({ unique_key: 'next' }))).status).toBe(201);
  });

  /** In the database of the queue. */
  const connected = async (): Promise<pg.Client> => {
    await at.configure(queue, {});
    return openClient(await databaseOf(service.databaseUrl, queue));
  };

  test('of dibs.enqueue', async () => {
    const client = await connected();
    const inSql = (more: string) => client.query(`select dibs.enqueue('${queue}', ${more})`);
    await inSql(`unique_key => 'k', unique_until => 'claimed'`);
    expect(await at.claimOne(queue)).toMatchObject({ unique_key: null });
    expect(await isNew()).toBe(true);
    await expect(inSql(`unique_until => 'claimed'`)).rejects.toThrow('unique_until needs a unique_key');
    await expect(inSql(`unique_key => 'x', unique_until => 'x'`)).rejects.toThrow(
      'unique_until must be finished or claimed',
    );
    await client.end();
  });

  test('of a schedule', async () => {
    await at.ok('PUT', `/schedules/${queue}`, { cron: '0 0 1 1 *', job: job() });
    await at.ok('POST', `/schedules/${queue}/trigger`);
    expect(await at.claimOne(queue)).toMatchObject({ unique_key: null });
  });

  test('a job whose key an open transaction is taking gets it when that is undone, and holds up nobody', async () => {
    await post();
    const leased = await at.claimOne(queue);
    const client = await connected();
    await client.query('begin');
    await client.query(`select dibs.enqueue($1, unique_key => 'k')`, [queue]);
    expect((await at.settle('release', leased)).body).toMatchObject({ state: 'ready', unique_key: null });
    const other = await at.enqueue({ queue, unique_key: 'another', priority: 1 });
    expect(await at.claimOne(queue)).toMatchObject({ id: other.id });
    await client.query('rollback');
    await client.end();
    await eventually(async () => expect(await at.get(leased.id)).toMatchObject({ unique_key: 'k' }));
  });

  test.each([
    [{ unique_key: undefined }, '/unique_until'],
    [{ unique_until: 'leased' }, '/unique_until'],
  ])('%j is refused', async (more, path) => {
    expectProblem(await post(more), 400, 'invalid_request', path);
  });
});
