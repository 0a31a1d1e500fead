import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openClient } from '../support/database.ts';
import { eventually, expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';
import { rowsOf } from '../support/statements.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
/** Where followers go. */
let after: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
  after = `${queue}.after`;
});
afterAll(() => service.stop());

const FOLLOWERS = () => ({
  on_success: { queue: after, payload: 'success' },
  on_end: { queue: after, payload: 'end' },
});

const create = (body: object = {}): Promise<Json> => at.ok('POST', '/batches', { queue, ...body });
const look = (id: string): Promise<Json> => at.ok('GET', `/batches/${id}`);
const close = (id: string): Promise<Json> => at.ok('POST', `/batches/${id}/close`);
const payloads = async (name = after): Promise<string[]> =>
  (await at.ok('GET', `/jobs?queue=${name}&include=payload&order=oldest`)).jobs.map(
    (job: Json) => job.payload,
  );
const jobs = (count: number, job: object = {}) => Array.from({ length: count }, () => ({ queue, ...job }));
const counts = (some: object = {}) => ({
  ...{ scheduled: 0, ready: 0, blocked: 0, leased: 0, completed: 0, cancelled: 0, dead: 0 },
  ...some,
});

async function ackAll(name = queue, more: object = {}) {
  const leased = await at.claim(name, { limit: 1000 });
  for (const job of leased) expect((await at.settle('ack', job, more)).status).toBe(200);
  return leased;
}
const dies = async (name = queue) =>
  expect((await at.settle('nack', await at.claimOne(name), { retry: false })).status).toBe(200);

describe('when a batch is closed and its last job is finished', () => {
  test.each([0, 3600])(
    'both followers are enqueued if all are completed, with a retention of %i s',
    async (seconds) => {
      await at.configure(queue, { retention_seconds: seconds });
      const { id, ...batch } = await create({ name: 'pages', jobs: jobs(3), ...FOLLOWERS() });
      expect(batch).toMatchObject({
        ...{ name: 'pages', queue, state: 'open', closed_at: null, finished_at: null },
        followers: ['on_end', 'on_success'],
        counts: counts({ ready: 3 }),
      });
      expect(await close(id)).toMatchObject({ state: 'running', closed_at: expect.any(String) });
      const [first, ...others] = await at.claim(queue, { limit: 3 });
      expect(first.batch).toBe(id);
      await at.settle('ack', first);
      expect((await look(id)).counts).toEqual(counts({ leased: 2, completed: 1 }));
      expect(await payloads()).toEqual([]);
      for (const job of others) await at.settle('ack', job);
      expect(await payloads()).toEqual(['end', 'success']);
      expect(await look(id)).toMatchObject({
        ...{ state: 'succeeded', followers: [], finished_at: expect.any(String) },
        counts: counts({ completed: 3 }),
      });
    },
  );

  test('only on_end if one is dead, and on_success once that is redriven and completed', async () => {
    const { id } = await create({ jobs: jobs(2), closed: true, ...FOLLOWERS() });
    await dies();
    await ackAll();
    expect(await payloads()).toEqual(['end']);
    expect(await look(id)).toMatchObject({
      ...{ state: 'ended', followers: ['on_success'], counts: counts({ completed: 1, dead: 1 }) },
    });
    expect((await at.ok('GET', `/batches/${id}/explain`)).code).toBe('jobs_dead');
    await at.ok('POST', `/queues/${queue}/redrive`, {});
    await dies();
    expect(await payloads()).toEqual(['end']);
    await at.ok('POST', `/queues/${queue}/redrive`, {});
    await ackAll();
    expect(await payloads()).toEqual(['end', 'success']);
    expect(await look(id)).toMatchObject({ state: 'succeeded', counts: counts({ completed: 2 }) });
  });

  test('only on_end if one is cancelled, and on_success never', async () => {
    const { id } = await create({ jobs: jobs(2), closed: true, ...FOLLOWERS() });
    const [job] = (await at.ok('GET', `/jobs?batch=${id}`)).jobs;
    await at.ok('DELETE', `/jobs/${job.id}`);
    await ackAll();
    expect(await payloads()).toEqual(['end']);
    expect(await look(id)).toMatchObject({
      ...{ state: 'ended', followers: [], counts: counts({ completed: 1, cancelled: 1 }) },
    });
  });

  test('a batch without jobs succeeds as soon as it is closed', async () => {
    expect(await create({ closed: true, ...FOLLOWERS() })).toMatchObject({ state: 'succeeded' });
    expect(await payloads()).toEqual(['end', 'success']);
    const { id } = await create(FOLLOWERS());
    expect(await close(id)).toMatchObject({ state: 'succeeded', followers: [] });
  });

  test('whichever queues of a database its jobs are in', async () => {
    const other = at.queueBeside(queue);
    const { id } = await create({ jobs: [...jobs(1), { queue: other }], closed: true, ...FOLLOWERS() });
    await ackAll();
    expect(await look(id)).toMatchObject({ state: 'running', counts: counts({ ready: 1, completed: 1 }) });
    await ackAll(other);
    expect(await payloads()).toEqual(['end', 'success']);
  });

  test('a follower has every field that a job may have', async () => {
    const job = {
      ...{ payload: 1.0, headers: { a: 'b' }, priority: 7, max_attempts: 2, group: 'g', fairness_key: 'f' },
      ...{ unique_key: 'k', delay_seconds: 600, backoff: { kind: 'constant' as const } },
    };
    await create({ closed: true, on_end: { queue: after, ...job } });
    const [made] = (await at.ok('GET', `/jobs?queue=${after}&include=payload`)).jobs;
    const { delay_seconds: _, backoff: __, ...shown } = job;
    expect(made).toMatchObject({ ...shown, state: 'scheduled' });
  });

  test('a follower whose unique key another job has is a duplicate', async () => {
    const { id } = await at.enqueue({ queue: after, unique_key: 'k' });
    await create({ closed: true, on_end: { queue: after, unique_key: 'k' } });
    expect((await at.ok('GET', `/jobs?queue=${after}`)).jobs).toMatchObject([{ id }]);
  });

  test('a wait for it is over', async () => {
    const { id } = await create({ jobs: jobs(1), closed: true });
    const waiting = at.ok('GET', `/batches/${id}?wait_seconds=30`);
    await ackAll();
    expect(await waiting).toMatchObject({ state: 'succeeded' });
    expect(await at.ok('GET', `/batches/${id}?wait_seconds=30`)).toMatchObject({ state: 'succeeded' });
  });
});

describe('jobs come into a batch', () => {
  test('while it is open, alone and many at once', async () => {
    const { id } = await create();
    expect((await at.enqueue({ queue, batch: id })).batch).toBe(id);
    await at.ok('POST', '/jobs/batch', { jobs: jobs(150, { batch: id }) });
    await at.ok('POST', '/jobs/batch', { jobs: [{ queue, batch: id, group: 'g' }, ...jobs(1)] });
    const { counts: found } = await close(id);
    expect(found).toEqual(counts({ ready: 152 }));
    expectProblem(await service.call('POST', '/jobs', { queue, batch: id }), 409, 'batch_closed');
    const many = { jobs: [...jobs(60), ...jobs(60, { batch: id })] };
    expectProblem(await service.call('POST', '/jobs/batch', many), 409, 'batch_closed');
    expect((await at.ok('GET', `/queues/${queue}`)).counts.ready).toBe(153);
  });

  test('a refused one holds up no other enqueue of its queue', async () => {
    const { id } = await create({ closed: true });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        service.call('POST', '/jobs', { queue, ...(i % 3 === 0 && { batch: id }) }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, i) => (i % 3 === 0 ? 409 : 201)));
  });

  test('a duplicate joins none', async () => {
    const { id } = await create();
    const first = await at.enqueue({ queue, unique_key: 'k' });
    expect(await at.enqueue({ queue, unique_key: 'k', batch: id })).toMatchObject({
      id: first.id,
      batch: null,
    });
    const fresh = await at.enqueue({ queue, unique_key: 'new', unique_for_seconds: 60, batch: id });
    expect(fresh.batch).toBe(id);
    expect((await look(id)).counts).toEqual(counts({ ready: 1 }));
    await ackAll();
    const again = await at.enqueue({ queue, unique_key: 'new', unique_for_seconds: 60, batch: id });
    expect(again).toMatchObject({ id: fresh.id, deduplicated: true });
    expect((await look(id)).counts).toEqual(counts({ completed: 1 }));
  });

  test('once for each Idempotency-Key, and the answer says so again', async () => {
    const { id } = await create();
    const headers = { 'idempotency-key': queue };
    const first = await service.call('POST', '/jobs', { queue, batch: id }, headers);
    const again = await service.call('POST', '/jobs', { queue, batch: id }, headers);
    expect(again.body).toEqual(first.body);
    expect(again.body.batch).toBe(id);
    expect((await look(id)).counts).toEqual(counts({ ready: 1 }));
  });

  test('a job of a closed batch adds more in its ack, and in a nack that makes it dead', async () => {
    const { id } = await create({ jobs: jobs(2), closed: true, ...FOLLOWERS() });
    const [one, two] = await at.claim(queue, { limit: 2 });
    const more = { enqueue: [{ queue, batch: id }] };
    expect((await at.settle('ack', one, more)).body.enqueued).toMatchObject([{ batch: id }]);
    expect((await at.settle('nack', two, { retry: false, ...more })).status).toBe(200);
    expect(await look(id)).toMatchObject({
      state: 'running',
      counts: counts({ ready: 2, completed: 1, dead: 1 }),
    });
    const settled = await at.claim(queue, { limit: 2 });
    const item = ({ id, lease_token }: Json) => ({ id, lease_token });
    const answer = await at.ok('POST', '/jobs/settle', {
      acks: settled.map((job: Json, i: number) => ({ ...item(job), ...(i === 0 && more) })),
    });
    expect(answer.acks).toHaveLength(2);
    expect(await payloads()).toEqual([]);
    await ackAll();
    expect(await payloads()).toEqual(['end']);
  });

  test('a job of no batch, or of another one, adds none to a closed one', async () => {
    const { id } = await create({ jobs: jobs(1), closed: true });
    await at.enqueue({ queue });
    await ackAll(queue);
    await at.enqueue({ queue });
    const answer = await at.settle('ack', await at.claimOne(queue), { enqueue: [{ queue, batch: id }] });
    expectProblem(answer, 409, 'batch_closed');
    await create({ jobs: jobs(1) });
    await at.claim(queue);
  });
});

describe('a job counts in its batch as it ended, also when it is gone', () => {
  test.each([
    ['purged', (_: Json) => at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] })],
    ['of a deleted queue', (_: Json) => at.ok('DELETE', `/queues/${queue}.in?force=true`)],
    [
      'deleted by an operation',
      async () => {
        const filter = { states: ['ready'] };
        const { id } = await at.ok('POST', '/operations', { verb: 'delete', queue: `${queue}.in`, filter });
        await expect.poll(async () => (await at.ok('GET', `/operations/${id}`)).state).toBe('done');
      },
    ],
    [
      'cancelled by an operation',
      async () => {
        const filter = { states: ['ready'] };
        const { id } = await at.ok('POST', '/operations', { verb: 'cancel', queue: `${queue}.in`, filter });
        await expect.poll(async () => (await at.ok('GET', `/operations/${id}`)).state).toBe('done');
      },
    ],
  ])('%s: cancelled', async (_, end) => {
    const own = `${queue}.in`;
    const { id } = await create({ jobs: [{ queue: own }], closed: true, ...FOLLOWERS() });
    if (_ === 'purged') await at.ok('POST', `/queues/${own}/purge`, { states: ['ready'] });
    else await end(id);
    await expect.poll(async () => (await look(id)).counts).toEqual(counts({ cancelled: 1 }));
    expect(await look(id)).toMatchObject({ state: 'ended', followers: [] });
    expect(await payloads()).toEqual(['end']);
  });

  test('expired: dead', async () => {
    const { id } = await create({ jobs: jobs(1, { expires_in_seconds: 0.1 }), closed: true, ...FOLLOWERS() });
    await expect.poll(async () => (await look(id)).counts, { timeout: 10_000 }).toEqual(counts({ dead: 1 }));
    expect(await payloads()).toEqual(['end']);
  });

  test.each([0, 3600])(
    'in a dead letter queue: dead, with a retention of %i s',
    async (retention_seconds) => {
      await at.configure(queue, { dead_letter_queue: `${queue}.dead`, retention_seconds });
      const { id } = await create({ jobs: jobs(1), closed: true, ...FOLLOWERS() });
      await dies();
      expect(await look(id)).toMatchObject({ state: 'ended', followers: [], counts: counts({ dead: 1 }) });
      expect(await payloads()).toEqual(['end']);
      expect((await at.claimOne(`${queue}.dead`)).batch).toBe(null);
    },
  );

  test('rescued and dead, then acked late: completed', async () => {
    const { id } = await create({ jobs: jobs(1, { max_attempts: 1 }), closed: true, ...FOLLOWERS() });
    const job = await at.claimOne(queue, { lease_seconds: 0.1 });
    await expect.poll(async () => (await look(id)).counts, { timeout: 10_000 }).toEqual(counts({ dead: 1 }));
    expect((await at.settle('ack', job)).status).toBe(200);
    expect(await look(id)).toMatchObject({ state: 'succeeded', counts: counts({ completed: 1 }) });
    expect(await payloads()).toEqual(['end', 'success']);
  });

  test('moved to another queue: it stays in its batch', async () => {
    const { id } = await create({ jobs: jobs(1), closed: true });
    const to = at.queueBeside(queue);
    await at.configure(to, {});
    const moved = await at.ok('POST', '/operations', {
      verb: 'move',
      queue,
      to,
      filter: { states: ['ready'] },
    });
    await expect.poll(async () => (await at.ok('GET', `/operations/${moved.id}`)).state).toBe('done');
    expect(await look(id)).toMatchObject({ state: 'running', counts: counts({ ready: 1 }) });
    expect((await ackAll(to))[0].batch).toBe(id);
    expect(await look(id)).toMatchObject({ state: 'succeeded' });
  });

  describe('a dead one can be completed no more, so on_success comes never', () => {
    const inJobs = () => `${queue}.jobs`;
    const withOneDead = async () => {
      const { id } = await create({ jobs: [{ queue: inJobs() }], closed: true, ...FOLLOWERS() });
      await dies(inJobs());
      return id;
    };
    const has = (some: object) => ({ state: 'ended', followers: [], counts: counts(some) });

    test.each<[string, (job: string) => Promise<unknown>]>([
      ['it is cancelled', (job) => at.ok('DELETE', `/jobs/${job}`)],
      ['it is purged', () => at.ok('POST', `/queues/${inJobs()}/purge`, { states: ['dead'] })],
      [
        'an operation deletes it',
        () => at.ok('POST', '/operations', { verb: 'delete', queue: inJobs(), filter: { states: ['dead'] } }),
      ],
      ['its queue is deleted', () => service.call('DELETE', `/queues/${inJobs()}?force=true`)],
    ])('when %s: it counts as cancelled', async (_, remove) => {
      const id = await withOneDead();
      const [{ id: job }] = (await at.ok('GET', `/jobs?queue=${inJobs()}`)).jobs;
      await remove(job);
      await eventually(async () => expect(await look(id)).toMatchObject(has({ cancelled: 1 })));
    });

    test.each([
      ['its dead_retention_seconds are over', () => ({ dead_retention_seconds: 0.1 })],
      ['it goes to a dead letter queue', () => ({ dead_letter_queue: `${queue}.letters` })],
    ])('when %s: it stays counted as dead', async (_, config) => {
      await at.configure(inJobs(), config());
      const id = await withOneDead();
      await eventually(async () => expect((await at.ok('GET', `/jobs?queue=${inJobs()}`)).jobs).toEqual([]));
      expect(await look(id)).toMatchObject(has({ dead: 1 }));
    });
  });
});

describe('a follower that belongs to another batch', () => {
  test('counts there as unfinished until it is enqueued', async () => {
    const outer = await create({ ...FOLLOWERS() });
    const step = `${queue}.step`;
    const inner = await create({ jobs: jobs(1), on_success: { queue: step, batch: outer.id }, closed: true });
    expect(await close(outer.id)).toMatchObject({ state: 'running' });
    expect(await at.ok('GET', `/batches/${outer.id}/explain`)).toMatchObject({
      code: 'follower_awaited',
      detail: expect.stringContaining(inner.id),
    });
    await ackAll();
    expect(await look(outer.id)).toMatchObject({ state: 'running', counts: counts({ ready: 1 }) });
    await ackAll(step);
    expect(await look(outer.id)).toMatchObject({ state: 'succeeded' });
    expect(await payloads()).toEqual(['end', 'success']);
  });

  test('counts there as cancelled when it cannot be enqueued any more', async () => {
    const outer = await create({ ...FOLLOWERS() });
    const inner = await create({ jobs: jobs(1), on_success: { queue, batch: outer.id }, closed: true });
    await close(outer.id);
    await at.ok('DELETE', `/batches/${inner.id}`);
    expect(await look(outer.id)).toMatchObject({ state: 'ended', counts: counts({ cancelled: 1 }) });
    expect(await payloads()).toEqual(['end']);
  });
});

test('followers of hundreds of batches may belong to one: it ends with the last of them', async () => {
  const count = 200;
  const outer = await create(FOLLOWERS());
  const step = { queue: `${queue}.step`, batch: outer.id };
  const inner = { jobs: jobs(1), closed: true, on_end: step };
  for (let made = 0; made < count; made += 10)
    await Promise.all(Array.from({ length: 10 }, () => create(inner)));
  expect(await close(outer.id)).toMatchObject({ state: 'running', counts: counts() });
  await ackAll();
  expect((await look(outer.id)).counts).toEqual(counts({ ready: count }));
  expect(await payloads()).toEqual([]);
  await ackAll(step.queue);
  expect(await look(outer.id)).toMatchObject({ state: 'succeeded', counts: counts({ completed: count }) });
  expect(await payloads()).toEqual(['end', 'success']);
});

test('when the innermost of a hundred nested batches is cancelled, all of them end', async () => {
  const chain = [await create(FOLLOWERS())];
  for (let i = 1; i < 100; i++) chain.unshift(await create({ on_success: { queue, batch: chain[0].id } }));
  for (const { id } of chain.slice(1)) await close(id);
  await at.ok('DELETE', `/batches/${chain[0].id}`);
  for (const { id } of chain.slice(1))
    expect(await look(id)).toMatchObject({ state: 'ended', counts: counts({ cancelled: 1 }) });
  expect(await payloads()).toEqual(['end']);
});

test('a cancelled batch is closed, its waiting jobs are cancelled, and nothing follows', async () => {
  const { id } = await create({ jobs: [...jobs(3), ...jobs(2, { delay_seconds: 600 })], ...FOLLOWERS() });
  const leased = await at.claimOne(queue);
  const { counts: after } = await at.ok('DELETE', `/batches/${id}`);
  expect(after).toEqual(counts({ leased: 1, cancelled: 4 }));
  expectProblem(await service.call('POST', '/jobs', { queue, batch: id }), 409, 'batch_closed');
  await at.settle('ack', leased);
  expect(await look(id)).toMatchObject({
    state: 'ended',
    followers: [],
    counts: counts({ completed: 1, cancelled: 4 }),
  });
  expect(await payloads()).toEqual([]);
  await at.ok('DELETE', `/batches/${id}`);
});

test('a hundred cancelled batches whose jobs workers hold keep no other one from being cancelled', async () => {
  const held: Json[] = [];
  for (let i = 0; i < 100; i++) held.push(await create({ jobs: jobs(1) }));
  await at.claim(queue, { limit: 100 });
  const last = await create({ jobs: jobs(1) });
  // As if the replica was killed before it cancelled the jobs.
  const client = await openClient(await databaseOf(service.databaseUrl, queue));
  for (const { id } of [...held, last]) await client.query('select dibs.cancel_batch($1)', [id]);
  await client.end();
  await eventually(async () => expect((await look(last.id)).counts).toEqual(counts({ cancelled: 1 })));
  expect((await look(held[0].id)).counts).toEqual(counts({ leased: 1 }));
});

test.each(['nack', 'release'] as const)(
  'a leased job of a cancelled batch is cancelled after its %s',
  async (verb) => {
    const { id } = await create({ jobs: jobs(2) });
    const leased = await at.claimOne(queue);
    await at.ok('DELETE', `/batches/${id}`);
    await at.settle(verb, leased);
    await eventually(async () =>
      expect(await look(id)).toMatchObject({ state: 'ended', counts: counts({ cancelled: 2 }) }),
    );
  },
);

test('explain says what a batch waits for', async () => {
  const { id } = await create();
  const explained = () => at.ok('GET', `/batches/${id}/explain`);
  expect(await explained()).toMatchObject({ id, state: 'open', code: 'open' });
  const job = await at.enqueue({ queue, batch: id });
  expect(await explained()).toMatchObject({
    ...{ code: 'jobs_unfinished', job_id: job.id },
    detail: `Jobs are unfinished: 1 ready. One of them is in the queue ${queue}, and is ready. And it is open: it ends only after it is closed.`,
  });
  await ackAll();
  await close(id);
  expect(await explained()).toMatchObject({ state: 'succeeded', code: 'finished' });
});

test('explain says of a batch that it was cancelled: so nothing follows its end', async () => {
  const { id } = await create({ jobs: jobs(2), ...FOLLOWERS() });
  const leased = await at.claimOne(queue);
  await at.ok('DELETE', `/batches/${id}`);
  const explained = () => at.ok('GET', `/batches/${id}/explain`);
  expect(await explained()).toMatchObject({
    code: 'jobs_unfinished',
    detail: `Jobs are unfinished: 1 leased. One of them is in the queue ${queue}, and is leased. The batch was cancelled: nothing follows its end.`,
  });
  await at.settle('ack', leased);
  expect(await explained()).toMatchObject({
    code: 'finished',
    detail: 'All of its jobs are finished. The batch was cancelled: nothing follows its end.',
  });
});

test('lists have batches newest first, and the jobs of one', async () => {
  const made: string[] = [];
  for (let i = 0; i < 3; i++) made.unshift((await create({ jobs: jobs(2), closed: i === 0 })).id);
  const ids = ({ batches }: Json) => batches.map(({ id }: Json) => id);
  const first = await at.ok('GET', `/batches?queue=${queue}&limit=2`);
  expect(ids(first)).toEqual(made.slice(0, 2));
  const rest = await at.ok('GET', `/batches?queue=${queue}&limit=2&cursor=${first.next_cursor}`);
  expect(ids(rest)).toEqual(made.slice(2));
  expect(rest.next_cursor).toBe(null);
  expect(ids(await at.ok('GET', `/batches?queue=${queue}&state=running`))).toEqual(made.slice(2));
  expect(ids(await at.ok('GET', `/batches?queue=${queue}&state=succeeded`))).toEqual([]);

  const [id] = made;
  const listed = await at.ok('GET', `/jobs?batch=${id}&limit=1`);
  expect(listed.jobs).toMatchObject([{ batch: id }]);
  const next = await at.ok('GET', `/jobs?batch=${id}&limit=1&cursor=${listed.next_cursor}`);
  expect(next.jobs[0].id < listed.jobs[0].id).toBe(true);
  expect((await at.ok('GET', `/jobs?batch=${id}&state=leased`)).jobs).toEqual([]);
  expect((await at.ok('GET', `/jobs?batch=${id}&queue=${after}`)).jobs).toEqual([]);
  const oldest = await at.ok('GET', `/jobs?batch=${id}&order=oldest`);
  expect(oldest.jobs.map((job: Json) => job.id)).toEqual([next.jobs[0].id, listed.jobs[0].id]);
  expectProblem(await service.call('GET', `/jobs?batch=${id}&worker=w`), 400, 'invalid_request', '/worker');
});

describe('what does not fit is refused, and changes nothing', () => {
  test.each(['nonsense', UNKNOWN_ID])('a batch that there is not: %s', async (id) => {
    expectProblem(await service.call('POST', '/jobs', { queue, batch: id }), 404, 'batch_not_found');
    expectProblem(await service.call('GET', `/batches/${id}`), 404, 'batch_not_found');
    expectProblem(await service.call('GET', `/batches/${id}?wait_seconds=1`), 404, 'batch_not_found');
    expectProblem(await service.call('GET', `/batches/${id}/explain`), 404, 'batch_not_found');
    expectProblem(await service.call('POST', `/batches/${id}/close`), 404, 'batch_not_found');
    expectProblem(await service.call('DELETE', `/batches/${id}`), 404, 'batch_not_found');
    const joining = { queue, on_end: { queue, batch: id } };
    expectProblem(await service.call('POST', '/batches', joining), 404, 'batch_not_found');
    expect((await at.ok('GET', `/batches?queue=${queue}`)).batches).toEqual([]);
  });

  test('nor is a queue created', async () => {
    const job = { queue, batch: UNKNOWN_ID };
    const { id } = await at.enqueue({ queue: at.queueBeside(queue) });
    const leased = await at.claimOne((await at.get(id)).queue);
    for (const answer of [
      await service.call('POST', '/jobs', job),
      await service.call('POST', '/jobs', job, { 'idempotency-key': queue }),
      await service.call('POST', '/jobs/batch', { jobs: [{ queue }, job] }),
      await service.call('POST', '/batches', { queue, on_end: job }),
      await service.call('POST', '/batches', { queue: leased.queue, on_end: job }),
      await at.settle('ack', leased, { enqueue: [job] }),
    ])
      expectProblem(answer, 404, 'batch_not_found');
    expectProblem(await service.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
  });

  test('a batch that is closed twice, and a follower that joins a closed one', async () => {
    const { id } = await create({ closed: true });
    const again = await service.call('POST', `/batches/${id}/close`);
    expectProblem(again, 409, 'batch_closed');
    expect(again.body.detail).toBe(`Batch ${id} is closed already. A second close changes nothing.`);
    const joining = { queue, jobs: jobs(1), on_end: { queue, batch: id } };
    expectProblem(await service.call('POST', '/batches', joining), 409, 'batch_closed');
    expect((await at.ok('GET', `/jobs?queue=${queue}`)).jobs).toEqual([]);
  });

  test.each<[object, string]>([
    [{ jobs: [{ batch: UNKNOWN_ID }] }, '/jobs/0/batch'],
    [{ jobs: [{}, { unique_for_seconds: 1 }] }, '/jobs/1/unique_for_seconds'],
    [{ on_success: { on_duplicate: 'keep' } }, '/on_success/on_duplicate'],
    [{ on_end: { run_at: '2099-01-01T00:00:00Z' } }, '/on_end/run_at'],
    [{ on_end: [{}, {}] }, '/on_end'],
    [{ name: '' }, '/name'],
    [{ closed: 'yes' }, '/closed'],
    [{ unknown: 1 }, '/unknown'],
  ])('%j', async (body, path) => {
    expectProblem(await service.call('POST', '/batches', { queue, ...body }), 400, 'invalid_request', path);
    expect((await service.call('GET', `/queues/${queue}`)).status).toBe(404);
  });

  test('what follows is said when a batch is created: so none follows itself', async () => {
    const { id } = await create();
    const itself = { on_end: { queue, batch: id } };
    for (const verb of ['PUT', 'PATCH'] as const)
      expectProblem(await service.call(verb, `/batches/${id}`, itself), 405, 'method_not_allowed');
    const nested = { queue, on_end: { queue, on_end: { queue } } };
    expectProblem(await service.call('POST', '/batches', nested), 400, 'invalid_request', '/on_end/on_end');
    expect(await close(id)).toMatchObject({ state: 'succeeded', followers: [] });
    expect((await at.ok('GET', `/jobs?queue=${queue}`)).jobs).toEqual([]);
  });

  test('a batch in a schedule', async () => {
    const { id } = await create();
    const schedule = { cron: '* * * * *', job: { queue, batch: id } };
    expectProblem(
      await service.call('PUT', `/schedules/${queue}`, schedule),
      400,
      'invalid_request',
      '/job/batch',
    );
  });
});

test('a batch is kept for the retention_seconds of its queue, and for an hour at least', async () => {
  const { id } = await create({ closed: true });
  const client = await openClient(await databaseOf(service.databaseUrl, queue));
  const isKept = async (minutes: number) => {
    await client.query(
      `update dibs.batches
       set finished_at = now() - $2 * interval '1 minute', ended_at = now() - $2 * interval '1 minute'
       where id = $1`,
      [id, minutes],
    );
    await rowsOf(client, 'batches/prune', { limit: 1000 });
    return (await service.call('GET', `/batches/${id}`)).status === 200;
  };
  expect(await isKept(59)).toBe(true);
  await at.configure(queue, { retention_seconds: 7200 });
  expect(await isKept(119)).toBe(true);
  expect(await isKept(121)).toBe(false);
  await client.end();
});

describe('an end that is not the last word', () => {
  test('a cancelled batch takes no follower of another one in, and cancels what its leased jobs add', async () => {
    const outer = await create({ jobs: jobs(1) });
    const inner = await create({ on_end: { queue: after, batch: outer.id } });
    const leased = await at.claimOne(queue);
    await at.ok('DELETE', `/batches/${outer.id}`);
    expect((await look(outer.id)).counts).toEqual(counts({ leased: 1, cancelled: 1 }));
    await close(inner.id);
    expect(await payloads()).toEqual([]);
    const more = { enqueue: [{ queue, batch: outer.id }] };
    expect((await at.settle('ack', leased, more)).status).toBe(200);
    await expect
      .poll(async () => (await look(outer.id)).counts, { timeout: 20_000 })
      .toEqual(counts({ completed: 1, cancelled: 2 }));
    expect(await look(outer.id)).toMatchObject({ state: 'ended' });
  });

  test('a batch is running again when dead jobs are retried, and a wait ends when it has succeeded', async () => {
    const { id } = await create({ jobs: jobs(1), closed: true, ...FOLLOWERS() });
    await dies();
    await at.ok('POST', `/queues/${queue}/redrive`, {});
    expect(await look(id)).toMatchObject({ state: 'running', followers: ['on_success'] });
    const ids = ({ batches }: Json) => batches.map((batch: Json) => batch.id);
    expect(ids(await at.ok('GET', `/batches?queue=${queue}&state=running`))).toEqual([id]);
    expect(ids(await at.ok('GET', `/batches?queue=${queue}&state=ended`))).toEqual([]);
    const waiting = at.ok('GET', `/batches/${id}?wait_seconds=30`);
    await ackAll();
    expect(await waiting).toMatchObject({ state: 'succeeded' });
  });

  test.each(['succeeded', 'ended'])(
    'a batch that %s after a redrive is kept for an hour from then on, and tells its first end',
    async (state) => {
      const { id } = await create({ jobs: jobs(1), closed: true });
      const url = await databaseOf(service.databaseUrl, queue);
      const client = await openClient(url);
      const later = () =>
        client.query(
          `update dibs.batches
           set finished_at = finished_at - interval '61 minutes', ended_at = ended_at - interval '61 minutes'
           where id = $1`,
          [id],
        );
      const prune = () => rowsOf(client, 'batches/prune', { limit: 1000 });
      await dies();
      await later();
      const { finished_at } = await look(id);
      await at.ok('POST', `/queues/${queue}/redrive`, {});
      await prune();
      expect(await look(id)).toMatchObject({ state: 'running', finished_at });
      await (state === 'ended' ? dies() : ackAll());
      await prune();
      expect(await look(id)).toMatchObject({ state, finished_at });
      await later();
      await prune();
      expectProblem(await service.call('GET', `/batches/${id}`), 404, 'batch_not_found');
      await client.end();
    },
  );
});
