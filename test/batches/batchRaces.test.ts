import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase, openClient } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let database: Awaited<ReturnType<typeof createDatabase>>;
let services: Service[];
let at: ReturnType<typeof moves>;
let others: ReturnType<typeof moves>[];
let client: pg.Client;
let queue: string;
let names = 0;
beforeAll(async () => {
  database = await createDatabase();
  services = await Promise.all(
    Array.from({ length: 3 }, () => startService({ databaseUrl: database.url, others: {} })),
  );
  others = services.map(moves);
  at = others[0] as typeof at;
  client = await openClient(database.url);
});
beforeEach(() => {
  queue = `q-${++names}`;
});
afterEach(() => client.query('rollback'));
afterAll(async () => {
  await client.end();
  for (const service of services) await service.stop();
  await database.drop();
});

const create = (body: object = {}): Promise<Json> =>
  at.ok('POST', '/batches', {
    queue,
    closed: true,
    ...{ on_success: { queue: 'after', payload: queue }, on_end: { queue: 'after', payload: queue } },
    ...body,
  });
const followed = async (): Promise<number> => {
  const { rows } = await client.query(
    `select count(*)::integer as n from dibs.jobs j join dibs.queues q on q.id = j.queue_id
     where q.name = 'after' and payload #>> '{}' = $1`,
    [queue],
  );
  return rows[0].n;
};

describe('whoever finishes the last jobs at the same moment', () => {
  test.each([2, 3, 16, 64])('of %i workers at three replicas, each follower comes once', async (count) => {
    for (let round = 0; round < 10; round++) {
      queue = `q-${++names}`;
      const { id } = await create({ jobs: Array.from({ length: count }, () => ({ queue })) });
      const leased = await at.claim(queue, { limit: count });
      const answers = await Promise.all(
        leased.map((job, i) => (others[i % 3] as typeof at).settle('ack', job)),
      );
      expect(answers.map(({ status }) => status)).toEqual(leased.map(() => 200));
      expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({ state: 'succeeded', followers: [] });
      expect(await followed()).toBe(2);
    }
  });

  test('in transactions that overlap, of which neither sees the other', async () => {
    const { id } = await create({ jobs: [{ queue }, { queue }] });
    const [one, two] = await at.claim(queue, { limit: 2 });
    await client.query('begin');
    await client.query(`delete from dibs.jobs where id = $1`, [one?.id]);
    // It looks at the batch now, and sees a job that is unfinished.
    await client.query('set constraints all immediate');
    const second = at.settle('ack', two);
    await sleep(200);
    await client.query('commit');
    expect((await second).status).toBe(200);
    expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({ state: 'succeeded' });
    expect(await followed()).toBe(2);
  });

  test('in more transactions at once than take turns: the duty finds the batch', async () => {
    const count = 300;
    const { id } = await create({ jobs: Array.from({ length: count }, () => ({ queue })) });
    await at.claim(queue, { limit: count });
    // Each sees more unfinished jobs than take turns near the end.
    const half = async (rest: number) => {
      const own = await openClient(database.url);
      await own.query('begin');
      await own.query(
        `delete from dibs.jobs where id in (select id from dibs.jobs where batch_id = $1 and abs(hashtext(id::text)) % 2 = $2)`,
        [id, rest],
      );
      // What happens at the commit, while the other has not committed.
      await own.query('set constraints all immediate');
      return own;
    };
    const halves = [await half(0), await half(1)];
    for (const own of halves) await own.query('commit');
    await eventually(async () =>
      expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({
        ...{ state: 'succeeded', counts: { completed: count } },
      }),
    );
    expect(await followed()).toBe(2);
    for (const own of halves) await own.end();
  });
});

describe('a batch does not end while one of its jobs comes back at the moment of the last ack', () => {
  const settled = (jobs: Json[], more: object = {}) =>
    jobs.map(({ id, lease_token }) => ({ id, lease_token, ...more }));
  test.each([
    ['is released', {}, (jobs: Json[]) => ({ releases: settled(jobs) })],
    ['fails', {}, (jobs: Json[]) => ({ nacks: settled(jobs, { delay_seconds: 0 }) })],
    ['becomes the head of its group', { group: 'g' }, (jobs: Json[]) => ({ acks: settled(jobs) })],
  ])('as it %s', async (_, { group }: { group?: string }, comesBack) => {
    for (let round = 0; round < 12; round++) {
      queue = `q-${++names}`;
      const [last, back] = [`${queue}.last`, `${queue}.back`];
      // As many at once as a replica has connections: more would wait for one, on a busy machine for too long.
      for (let from = 0; from < 60; from += 10)
        await Promise.all(
          Array.from({ length: 10 }, (_, i) => {
            const job = { queue: back, ...(group && { group: `${from + i}` }) };
            return create({ jobs: [{ queue: last }, job, ...(group ? [job] : [])] });
          }),
        );
      const [acks, jobs] = [await at.claim(last, { limit: 60 }), await at.claim(back, { limit: 60 })];
      expect([acks.length, jobs.length]).toEqual([60, 60]);
      const one = at.ok('POST', '/jobs/settle', { acks: settled(acks) });
      await sleep(Math.random() * 30);
      const two = others[1]?.ok('POST', '/jobs/settle', comesBack(jobs));
      await Promise.all([one, two]);
      expect(await followed()).toBe(0);
    }
  });

  test('what it reads is of one moment', async () => {
    const { id } = await create({ jobs: [{ queue }] });
    const job = await at.claimOne(queue);
    const counted = client.query(
      'select dibs.unfinished_in_batch($1, 1) from (select pg_sleep(1) offset 0) as meanwhile',
      [id],
    );
    await sleep(200);
    expect((await at.settle('ack', job)).status).toBe(200);
    expect((await counted).rows).toEqual([{ unfinished_in_batch: 1 }]);
  });
});

describe('while somebody holds the batch', () => {
  test('the ack of its last job waits, and other jobs of the queue do not', async () => {
    const { id } = await create({ jobs: [{ queue }] });
    const last = await at.claimOne(queue);
    await client.query('begin');
    await client.query('select from dibs.batches where id = $1 for update', [id]);
    const acked = at.settle('ack', last);
    await sleep(20);
    for (let i = 0; i < 20; i++) {
      await at.enqueue({ queue });
      expect((await at.settle('ack', await at.claimOne(queue))).status).toBe(200);
    }
    await client.query('commit');
    expect((await acked).status).toBe(200);
    expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({ state: 'succeeded' });
    expect(await followed()).toBe(2);
  });

  test('a follower whose unique key an open transaction holds comes after that, and the batch has ended', async () => {
    const { id } = await create({
      jobs: [{ queue }],
      on_end: { queue: 'after', payload: queue, unique_key: queue },
    });
    await client.query('begin');
    await client.query(`select dibs.enqueue('after', unique_key => $1)`, [queue]);
    expect((await at.settle('ack', await at.claimOne(queue))).status).toBe(200);
    expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({ state: 'succeeded', followers: ['on_end'] });
    expect(await followed()).toBe(1);
    await client.query('rollback');
    await eventually(async () => expect(await followed()).toBe(2));
    expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({ followers: [] });
  });
});

test('a job that comes in while the batch is closed is in it before that, or refused', async () => {
  for (let round = 0; round < 30; round++) {
    queue = `q-${++names}`;
    const { id } = await create({ closed: false });
    const [closed, ...added] = await Promise.all([
      at.ok('POST', `/batches/${id}/close`),
      ...services.map((service) => service.call('POST', '/jobs', { queue, batch: id })),
    ]);
    const inside = added.filter(({ status }) => status === 201).length;
    expect(added.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect(closed.counts.ready).toBe(inside);
    for (const job of await at.claim(queue, { limit: 10 })) await at.settle('ack', job);
    expect(await at.ok('GET', `/batches/${id}`)).toMatchObject({
      ...{ state: 'succeeded', counts: { completed: inside } },
    });
    expect(await followed()).toBe(2);
  }
});

describe('a queue that is deleted while a batch is created', () => {
  const other = () => `${queue}-other`;

  test.each([
    ['its own queue', () => queue],
    ['the queue of a follower', other],
  ])('is made again: %s', async (_, deleted) => {
    for (const name of [queue, other()]) await at.ok('PUT', `/queues/${name}`, {});
    await client.query('begin');
    await client.query('delete from dibs.queues where name = $1', [deleted()]);
    const creating = create({ jobs: [{ queue: other() }], on_end: { queue: deleted() } });
    await eventually(async () => {
      const { rows } = await client.query("select from pg_stat_activity where wait_event_type = 'Lock'");
      expect(rows.length).toBeGreaterThan(0);
    });
    await client.query('commit');
    const { id } = await creating;
    await at.settle('ack', (await at.claim(other()))[0] as Json);
    await eventually(async () => expect((await at.ok('GET', `/batches/${id}`)).state).toBe('succeeded'));
    expect(await at.claim(deleted())).toMatchObject([{ headers: { 'dibs-batch': id } }]);
  });
});
