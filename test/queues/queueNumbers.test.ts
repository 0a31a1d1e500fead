import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createNewQueueLimit } from '../../src/access/newQueues.ts';
import { MOST_QUEUE_NUMBERS } from '../../src/ids.ts';
import { createQueueNumbers } from '../../src/queues/numbers.ts';
import { as, speakingAccess } from '../support/access.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { eventually, expectProblem, moves, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { AT_HOME } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());
beforeEach(() => {
  queue = at.newQueue();
});

const sql = (text: string, values: unknown[] = []) =>
  onServer<Record<string, unknown>>(service.databaseUrl, text, values);

const numberOf = (jobId: string) => Number.parseInt(jobId.slice(30), 16);

/** All numbers are given. */
const end = () => sql(`select setval('dibs.queue_ids', ${MOST_QUEUE_NUMBERS})`);
/** These numbers have rested for so many days more. The totals, where their queues may still be for a second, name them no more. */
const rest = async (days: number, ...numbers: number[]) => {
  await sql('delete from dibs.totals where queue_id = any ($1)', [numbers]);
  await sql(
    `update dibs.free_queue_ids set since = since - $1::integer * interval '1 day' where queue_id = any ($2)`,
    [days, numbers],
  );
};

/** Enqueues a job into a new queue and deletes the queue. */
async function deletedQueue(job: object = {}) {
  const name = at.newQueue('gone');
  const { id } = await at.enqueue({ queue: name, ...job });
  await at.ok('DELETE', `/queues/${name}?force=true`);
  return { id, number: numberOf(id) };
}

const refused = async (name = at.newQueue()) => {
  const answer = await service.call('POST', '/jobs', { queue: name });
  expectProblem(answer, 409, 'too_many_queues');
  return answer;
};

describe('when all numbers of queues are given', () => {
  let begun = 0;
  beforeEach(async () => {
    begun += 1000;
    await sql(`select setval('dibs.queue_ids', ${begun})`);
  });

  test('a new queue is 409 too_many_queues, by every way, and queues that exist go on', async () => {
    await at.enqueue({ queue });
    await end();
    expect((await refused()).body.detail).toContain('16,777,215');
    const name = at.newQueue();
    expectProblem(
      await service.call('POST', '/jobs/batch', { jobs: [{ queue }, { queue: name }] }),
      409,
      'too_many_queues',
    );
    expectProblem(await service.call('PUT', `/queues/${name}`, {}), 409, 'too_many_queues');
    expectProblem(await service.call('POST', `/queues/${name}/pause`), 409, 'too_many_queues');
    expectProblem(
      await service.call('POST', '/jobs', { queue: name }, { 'idempotency-key': name }),
      409,
      'too_many_queues',
    );
    const [job] = await at.claim(queue);
    expectProblem(await at.settle('ack', job, { enqueue: [{ queue: name }] }), 409, 'too_many_queues');
    await expect(sql(`select dibs.enqueue($1)`, [name])).rejects.toThrow('there can be no more queues');
    expect((await service.call('GET', `/queues/${name}`)).status).toBe(404);
    await at.enqueue({ queue });
    await at.ok('PUT', `/queues/${queue}`, {});
    expect((await at.settle('ack', job)).status).toBe(200);
    expect(service.errors).toEqual([]);
  });

  test('a follower of a batch whose queue was deleted holds up no other follower', async () => {
    const [lost, other] = [at.newQueue(), at.newQueue()];
    for (const name of [queue, lost, other]) await at.configure(name, AT_HOME);
    for (const follower of [lost, other])
      await at.ok('POST', '/batches', { queue, on_end: { queue: follower }, jobs: [{ queue }] });
    await at.ok('DELETE', `/queues/${lost}?force=true`);
    await end();
    // As if an open transaction had held their unique keys when their batches ended.
    await sql('update dibs.batch_followers set due_at = now()');
    await eventually(async () => expect(await at.drain(other)).toHaveLength(1));
    await sql('delete from dibs.batch_followers');
  });

  test('the number of a deleted queue is used again after 31 days, and old ids lead to no job', async () => {
    const old = await deletedQueue();
    await end();
    await refused();
    await rest(30, old.number);
    await refused();
    await rest(2, old.number);
    const { id } = await at.enqueue({ queue });
    expect(numberOf(id)).toBe(old.number);
    for (const path of ['', '/history', '/explain'])
      expectProblem(await service.call('GET', `/jobs/${old.id}${path}`), 404, 'job_not_found');
    for (const verb of ['ack', 'nack', 'release'])
      expectProblem(
        await service.call('POST', `/jobs/${old.id}/${verb}`, { lease_token: UNKNOWN_TOKEN }),
        404,
        'job_not_found',
      );
    expect(await at.drain(queue)).toHaveLength(1);
    // It is used once.
    await refused();
  });

  test.each([
    [
      'a window of a unique key',
      `insert into dibs.unique_windows (queue_id, unique_key, until, job_id, job)
       select $1, 'k', now() + interval '1 day', gen_random_uuid(), '{}'`,
    ],
    [
      'the history of a job',
      `insert into dibs.history (queue_id, job_id, event, state, attempt, deliveries, expires_at)
       select $1, gen_random_uuid(), 'nacked', 'dead', 1, 1, clock_timestamp() + interval '2 s'`,
    ],
    [
      'a running operation',
      `insert into dibs.operations (id, verb, queue_id, queue, states, dry_run, last_position, open_transactions, next_transaction, worked_at)
       select gen_random_uuid(), 'cancel', $1, 'gone', '{dead}', true, 0, '{}', 0, now() + interval '1 hour'`,
    ],
    ['the totals of its jobs', 'insert into dibs.totals (queue_id, acked) values ($1, 5)'],
  ])('%s keeps a number from being used again', async (_, insert) => {
    const { number } = await deletedQueue();
    await end();
    await rest(32, number);
    const before = await sql('select dibs.is_queue_named($1, now() - interval $$32 days$$) as named', [
      number,
    ]);
    expect(before).toEqual([{ named: false }]);
    // Undone, and never seen by the service: it would work on the operation, and end it.
    const client = await openClient(service.databaseUrl);
    await client.query('begin');
    await client.query(insert, [number]);
    const { rows: named } = await client.query(
      'select dibs.is_queue_named($1, now() - interval $$29 days$$) as named',
      [number],
    );
    await client.end();
    expect(named).toEqual([{ named: true }]);
    expect(numberOf((await at.enqueue({ queue })).id)).toBe(number);
  });

  test('an answer under an Idempotency-Key from before its end keeps a number from being used again', async () => {
    const named = () => sql(`select dibs.is_queue_named(7000000, now() - interval '12 hours') as named`);
    // The replica may have put down a minute since the test began.
    await sql('delete from dibs.samples');
    expect(await named()).toEqual([{ named: false }]);
    await at.configure(queue, AT_HOME);
    await service.call('POST', '/jobs', { queue }, { 'idempotency-key': 'kept' });
    expect(await named()).toEqual([{ named: true }]);
    await sql('delete from dibs.idempotency_keys');
  });

  test('a number that is still named rests anew, and is in no way of the next', async () => {
    const first = await deletedQueue();
    const second = await deletedQueue();
    await end();
    await rest(34, first.number);
    await rest(33, second.number);
    await sql(
      `insert into dibs.unique_windows (queue_id, unique_key, until, job_id, job)
       select $1, 'k', now() + interval '1 day', gen_random_uuid(), '{}'`,
      [first.number],
    );
    expect(numberOf((await at.enqueue({ queue })).id)).toBe(second.number);
    const [rests] = await sql(
      `select since > now() - interval '1 minute' as anew from dibs.free_queue_ids where queue_id = $1`,
      [first.number],
    );
    expect(rests).toEqual({ anew: true });
    await sql('delete from dibs.unique_windows where queue_id = $1', [first.number]);
  });

  test('many who create queues at once get a number each', async () => {
    const numbers: number[] = [];
    for (let i = 0; i < 8; i++) numbers.push((await deletedQueue()).number);
    await end();
    await rest(32, ...numbers);
    const made = await Promise.all(
      Array.from({ length: 12 }, () => service.call('POST', '/jobs', { queue: at.newQueue() })),
    );
    const given = made.filter(({ status }) => status === 201).map(({ body }) => numberOf(body.id));
    expect(given.sort()).toEqual(numbers.sort());
    expect(made.filter(({ status }) => status === 409)).toHaveLength(4);
  });
});

describe('the search for numbers that no queue has', () => {
  test('finds those of an older Dibs and of undone transactions, 10,000 at a time', async () => {
    const database = await createDatabase();
    const other = await startService({ databaseUrl: database.url });
    try {
      const query = (text: string) => onServer<{ n: number }>(database.url, text);
      const numbers = createQueueNumbers({ db: other.db });
      await query(`insert into dibs.queues (id, name) values (3, 'a'), (12000, 'b'), (15000, 'c')`);
      await query(`select setval('dibs.queue_ids', 15000)`);
      await numbers.run();
      expect(numbers.used()).toBe(15_000);
      expect(await query('select queue_id as n from dibs.free_queue_ids')).toEqual([]);
      await query(`select setval('dibs.queue_ids', ${MOST_QUEUE_NUMBERS})`);
      await numbers.run();
      await numbers.run();
      const found = await query('select queue_id as n from dibs.free_queue_ids order by 1');
      expect(found).toHaveLength(19_997);
      expect(found.slice(0, 3).map(({ n }) => n)).toEqual([1, 2, 4]);
      await query(`update dibs.free_queue_ids set since = now() - interval '32 days' where queue_id > 10000`);
      await numbers.run();
      expect(numbers.used()).toBe(MOST_QUEUE_NUMBERS - 9998);
    } finally {
      await other.stop();
      await database.drop();
    }
  });
});

describe('new queues', () => {
  test('of a key are limited to so many a second: 429 rate_limited, by every way, and those that exist go on', async () => {
    const limited = await startService({ access: speakingAccess(), newQueuesPerSecond: 1 });
    try {
      const call = as(limited, 'produce,consume,admin@x.*');
      const enqueue = (name: string) => call('POST', '/jobs', { queue: name });
      // More than are left of this second may be created at once. Then the caller waits.
      const jobs = Array.from({ length: 60 }, (_, i) => ({ queue: `x.${i}` }));
      expect((await call('POST', '/jobs/batch', { jobs })).status).toBe(201);
      const answer = await enqueue('x.more');
      expectProblem(answer, 429, 'rate_limited');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(5);
      expectProblem(await call('PUT', '/queues/x.more', {}), 429, 'rate_limited');
      expectProblem(await call('POST', '/queues/x.more/pause'), 429, 'rate_limited');
      const spec = { cron: '0 0 1 1 *', job: { queue: 'x.more' } };
      expectProblem(await call('PUT', '/schedules/x.more', spec), 429, 'rate_limited');
      expect((await enqueue('x.7')).status).toBe(201);
      const [job] = (await call('POST', '/jobs/claim', { queues: ['x.7'] })).body.jobs;
      const ack = { lease_token: job.lease_token, enqueue: [{ queue: 'x.more' }] };
      expectProblem(await call('POST', `/jobs/${job.id}/ack`, ack), 429, 'rate_limited');
      expect((await as(limited, 'produce@y.*')('POST', '/jobs', { queue: 'y.1' })).status).toBe(201);
    } finally {
      await limited.stop();
    }
  });

  test('are counted by the second, and names that exist cost nothing', async () => {
    const existing = new Set(['known', 'found']);
    const limit = createNewQueueLimit(
      {
        isKnown: (name) => name === 'known',
        refresh: async (names) => new Set(names.filter((name) => existing.has(name))),
      },
      2,
    );
    expect(limit?.('a', ['known'])).toBeUndefined();
    for (let i = 0; i < 5; i++) await limit?.('a', ['known', 'found']);
    await limit?.('a', ['new', 'new']);
    await limit?.('a', ['another']);
    await expect(limit?.('a', ['third'])).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 1,
    });
    await limit?.('b', ['third']);
    expect(createNewQueueLimit({ isKnown: () => false, refresh: async () => new Set() }, 0)).toBeUndefined();
  });
});
