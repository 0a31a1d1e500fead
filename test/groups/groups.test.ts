import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

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

/** Enqueues a job into group `g`. */
const enqueue = (payload: unknown, more: object = {}) => at.enqueue({ queue, group: 'g', payload, ...more });
const enqueueAll = (payloads: unknown[], more: object = {}): Promise<Json[]> =>
  at.enqueueAll(payloads.map((payload) => ({ queue, group: 'g', payload, ...more })));
const stateOf = async (job: Json) => (await at.get(job.id)).state;

/** Claims and acks until no job is left. Returns the payloads. */
async function workOff(): Promise<unknown[]> {
  const done: unknown[] = [];
  for (;;) {
    const jobs = await at.claim(queue, { limit: 10 });
    if (jobs.length === 0) return done;
    for (const job of jobs) {
      done.push(job.payload);
      await at.settle('ack', job);
    }
  }
}

describe('jobs of one group', () => {
  test('are leased in order of arrival, the next one only after the one before it is acked', async () => {
    const first = await enqueue(1);
    const [second, third] = await enqueueAll([2, 3]);
    expect([first, second, third].map((job) => [job.state, job.group])).toEqual([
      ['ready', 'g'],
      ['blocked', 'g'],
      ['blocked', 'g'],
    ]);
    for (const payload of [1, 2, 3]) {
      const job = await at.claimOne(queue, { limit: 10 });
      expect(job).toMatchObject({ payload, group: 'g' });
      expect(await at.claim(queue)).toEqual([]);
      expect((await at.settle('ack', job)).body).toEqual({ id: job.id, state: 'completed', enqueued: [] });
    }
  });

  test('are never together in one claim, which has one job of each group and jobs without a group', async () => {
    await at.enqueueAll(
      ['a1', 'a2', 'b1', 'b2', 'none'].map((payload) => ({
        queue,
        payload,
        ...(payload === 'none' ? {} : { group: payload[0] }),
      })),
    );
    expect((await at.drain(queue)).sort()).toEqual(['a1', 'b1', 'none']);
  });

  test('are of one queue, and the same group in another queue is another group', async () => {
    const other = at.newQueue();
    await enqueue(1);
    expect(await at.enqueue({ queue: other, group: 'g' })).toMatchObject({ state: 'ready' });
    await at.claimOne(queue);
    await at.claimOne(other);
  });

  test('have the order of arrival alone, and the priorities of the heads order the groups', async () => {
    await at.enqueueAll([
      { queue, group: 'low', payload: 'low head', priority: 0 },
      { queue, group: 'low', payload: 'low urgent', priority: 100 },
      { queue, group: 'high', payload: 'high head', priority: 1 },
      { queue, group: 'high', payload: 'high idle', priority: -100 },
    ]);
    expect(await workOff()).toEqual(['high head', 'low head', 'low urgent', 'high idle']);
  });

  test('wake a waiting claim when they become the head', async () => {
    const [, second] = await enqueueAll([1, 2]);
    const head = await at.claimOne(queue);
    const waiting = at.claim(queue, { wait_seconds: 30 });
    await at.settle('ack', head);
    expect((await waiting)[0].id).toBe(second.id);
    const arriving = at.claim(queue, { wait_seconds: 30 });
    const lone = await enqueue('alone', { group: 'lone' });
    expect((await arriving)[0].id).toBe(lone.id);
  });

  test('name their group with 1 to 256 characters without NUL', async () => {
    for (const group of ['', 'x'.repeat(257), 'a\0b', 7, null])
      expectProblem(await service.call('POST', '/jobs', { queue, group }), 400, 'invalid_request', '/group');
    const long = 'ü '.repeat(128);
    await enqueue(1, { group: long });
    await enqueue(2, { group: long });
    expect(await workOff()).toEqual([1, 2]);
  });

  test('have the order of their batch, also when it mixes many groups', async () => {
    const jobs = Array.from({ length: 1000 }, (_, i) => ({ queue, group: `g${i % 250}`, payload: i }));
    const answered = await at.enqueueAll(jobs);
    expect(answered.map((job, i) => job.state === (i < 250 ? 'ready' : 'blocked'))).not.toContain(false);
    for (let nth = 0; nth < 4; nth++) {
      const leased = await at.claim(queue, { limit: 1000 });
      expect(leased.map((job) => Math.floor(job.payload / 250))).toEqual(Array(250).fill(nth));
      const acks = leased.map(({ id, lease_token }) => ({ id, lease_token }));
      await at.ok('POST', '/jobs/settle', { acks });
    }
    expect(await at.claim(queue)).toEqual([]);
  });

  test('have the order of their batch, also when the first of them has a time that is over', async () => {
    const past = new Date(Date.now() - 60_000).toISOString();
    await at.enqueueAll(
      [1, 2, 3].map((payload) => ({ queue, group: 'g', payload, ...(payload === 1 && { run_at: past }) })),
    );
    expect(await workOff()).toEqual([1, 2, 3]);
  });

  test('may come from a schedule, or with an Idempotency-Key', async () => {
    await at.ok('PUT', `/schedules/${queue}`, {
      cron: '0 0 1 1 *',
      job: { queue, group: 'g', payload: 'scheduled' },
    });
    await at.ok('POST', `/schedules/${queue}/trigger`);
    await at.ok('POST', '/jobs', { queue, group: 'g', payload: 'with a key' }, { 'idempotency-key': queue });
    expect(await workOff()).toEqual(['scheduled', 'with a key']);
  });
});

describe('the head of a group', () => {
  test('keeps its place when it is released, with and without a delay', async () => {
    const [first, second] = await enqueueAll([1, 2]);
    expect((await at.settle('release', await at.claimOne(queue))).body.state).toBe('ready');
    const again = await at.claimOne(queue);
    expect(again.id).toBe(first.id);
    expect((await at.settle('release', again, { delay_seconds: 0.2 })).body.state).toBe('scheduled');
    expect(await at.claim(queue)).toEqual([]);
    expect(await stateOf(second)).toBe('blocked');
    const [late] = await at.claim(queue, { wait_seconds: 30 });
    expect(late.id).toBe(first.id);
  });

  test('holds the group during the backoff of its retry', async () => {
    const [first, second] = await enqueueAll([1, 2]);
    expect((await at.settle('nack', await at.claimOne(queue), { delay_seconds: 0 })).body.state).toBe(
      'ready',
    );
    const again = await at.claimOne(queue);
    expect(again.id).toBe(first.id);
    expect((await at.settle('nack', again, { delay_seconds: 600 })).body.state).toBe('scheduled');
    expect(await at.claim(queue)).toEqual([]);
    expect(await stateOf(second)).toBe('blocked');
    expect((await at.ok('POST', `/jobs/${first.id}/retry`)).state).toBe('ready');
    expect((await at.claimOne(queue, { limit: 10 })).id).toBe(first.id);
  });

  test('keeps its place when its lease runs out', async () => {
    const [first] = await enqueueAll([1, 2]);
    await at.claimOne(queue, { lease_seconds: 0.1 });
    const again = await at.claimOne(queue, { wait_seconds: 30 });
    expect(again).toMatchObject({ id: first.id, attempt: 2 });
    expect(await at.claim(queue)).toEqual([]);
  });

  test.each([
    ['it is dead by a nack', (job: Json) => at.settle('nack', job, { retry: false })],
    ['it is cancelled while leased, and then released', (job: Json) => cancelled(job, 'release')],
    ['it is cancelled while leased, and then nacked', (job: Json) => cancelled(job, 'nack')],
    ['it is cancelled while leased, and then acked', (job: Json) => cancelled(job, 'ack')],
    ['a batch settles it', (job: Json) => at.ok('POST', '/jobs/settle', { acks: [leaseOf(job)] })],
  ])('is followed by the next one when %s', async (_, settle) => {
    const [, second] = await enqueueAll([1, 2]);
    await settle(await at.claimOne(queue));
    expect((await at.claimOne(queue, { limit: 10 })).id).toBe(second.id);
  });
  const leaseOf = ({ id, lease_token }: Json) => ({ id, lease_token });
  async function cancelled(job: Json, verb: 'ack' | 'nack' | 'release') {
    expect((await service.call('DELETE', `/jobs/${job.id}`)).status).toBe(202);
    expect(await at.claim(queue)).toEqual([]);
    expect((await at.settle(verb, job)).status).toBe(200);
  }

  test('is followed by the next one when it is dead because its lease ran out too often', async () => {
    const [, second] = await enqueueAll([1, 2], { max_attempts: 1 });
    await at.claimOne(queue, { lease_seconds: 0.1 });
    expect((await at.claimOne(queue, { wait_seconds: 30 })).id).toBe(second.id);
  });

  test('is followed by the next one when it is cancelled while ready, or while backing off', async () => {
    const [first, second, third] = await enqueueAll([1, 2, 3]);
    await at.ok('DELETE', `/jobs/${first.id}`);
    expect(await stateOf(second)).toBe('ready');
    await at.settle('nack', await at.claimOne(queue), { delay_seconds: 600 });
    await at.ok('DELETE', `/jobs/${second.id}`);
    expect((await at.claimOne(queue)).id).toBe(third.id);
  });

  test('is followed by the next one when it is kept as completed', async () => {
    await at.configure(queue, { retention_seconds: 600 });
    const [first, second] = await enqueueAll([1, 2]);
    await at.settle('ack', await at.claimOne(queue));
    expect(await stateOf(first)).toBe('completed');
    expect((await at.claimOne(queue)).id).toBe(second.id);
  });
});

describe('a job delayed at enqueue', () => {
  test('holds up no other job, and goes into the group when its delay is over', async () => {
    const late = await enqueue('late', { delay_seconds: 0.3 });
    const now = await enqueue('now');
    expect([late.state, now.state]).toEqual(['scheduled', 'ready']);
    const head = await at.claimOne(queue);
    expect(head.payload).toBe('now');
    const after = await at.reaches(late.id, 'blocked').then(() => enqueue('after'));
    await at.settle('ack', head);
    expect(await stateOf(after)).toBe('blocked');
    expect(await workOff()).toEqual(['late', 'after']);
  });

  test('becomes ready when no job of its group is before it', async () => {
    const late = await enqueue('late', { delay_seconds: 0.2 });
    expect((await at.claimOne(queue, { wait_seconds: 30 })).id).toBe(late.id);
  });

  test('goes into the group at once when it is retried', async () => {
    const late = await enqueue('late', { delay_seconds: 600 });
    const head = await enqueue('now');
    expect((await at.ok('POST', `/jobs/${late.id}/retry`)).state).toBe('blocked');
    await at.ok('DELETE', `/jobs/${head.id}`);
    expect(await workOff()).toEqual(['late']);
    const alone = await enqueue('alone', { delay_seconds: 600 });
    expect((await at.ok('POST', `/jobs/${alone.id}/retry`)).state).toBe('ready');
  });
});

describe('a dead job', () => {
  /** Two dead jobs, and a ready one. */
  async function twoDead() {
    const jobs = await enqueueAll([1, 2, 3], { max_attempts: 1 });
    for (const _ of [1, 2]) await at.settle('nack', await at.claimOne(queue));
    return jobs;
  }

  test('goes to the end of its group when it is redriven', async () => {
    await twoDead();
    await enqueue(4);
    expect(await at.ok('POST', `/queues/${queue}/redrive`, {})).toEqual({ count: 2 });
    expect(await workOff()).toEqual([3, 4, 1, 2]);
  });

  test('goes to the end of its group when it is retried', async () => {
    const [first] = await twoDead();
    expect((await at.ok('POST', `/jobs/${first.id}/retry`)).state).toBe('blocked');
    expect(await workOff()).toEqual([3, 1]);
  });

  test('is ready when it is retried or redriven into an empty group', async () => {
    const [first, second] = await twoDead();
    await workOff();
    expect((await at.ok('POST', `/jobs/${first.id}/retry`)).state).toBe('ready');
    await workOff();
    await at.ok('POST', `/queues/${queue}/redrive`, {});
    expect(await stateOf(second)).toBe('ready');
  });

  test('that is released late, after the group has a new head, is blocked behind it', async () => {
    const [first, second] = await enqueueAll([1, 2], { max_attempts: 1 });
    const lease = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(first.id, 'dead');
    await at.reaches(second.id, 'ready');
    expect((await at.settle('release', lease)).body).toMatchObject({ state: 'blocked', attempt: 0 });
    expect(await workOff()).toEqual([2, 1]);
  });

  test('that is released late with a delay holds up no other job meanwhile', async () => {
    const [first] = await enqueueAll([1, 2], { max_attempts: 1 });
    const lease = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(first.id, 'dead');
    expect((await at.settle('release', lease, { delay_seconds: 0.2 })).body.state).toBe('scheduled');
    const second = await at.claimOne(queue);
    expect(second.payload).toBe(2);
    await at.reaches(first.id, 'blocked');
    await at.settle('ack', second);
    expect(await workOff()).toEqual([1]);
  });

  test('that was retried and is nacked late does not overtake the others', async () => {
    const [first] = await enqueueAll([1, 2], { max_attempts: 1 });
    const lease = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(first.id, 'dead');
    await at.ok('POST', `/jobs/${first.id}/retry`);
    expect((await at.settle('nack', lease, { delay_seconds: 0 })).body.state).toBe('blocked');
    expect(await workOff()).toEqual([2, 1]);
  });
});

describe('a blocked job', () => {
  test('that is cancelled is left out', async () => {
    const [, second] = await enqueueAll([1, 2, 3]);
    expect((await at.ok('DELETE', `/jobs/${second.id}`)).state).toBe('cancelled');
    expect(await workOff()).toEqual([1, 3]);
  });

  test('is left as it is by a retry', async () => {
    const [, second] = await enqueueAll([1, 2]);
    expect((await at.ok('POST', `/jobs/${second.id}/retry`)).state).toBe('blocked');
  });
});

describe('a purge', () => {
  const purge = (...states: string[]) => at.ok('POST', `/queues/${queue}/purge`, { states });

  test('of ready jobs gives the groups new heads', async () => {
    await at.enqueueAll([1, 2, 3, 4].map((n) => ({ queue, group: n % 2 ? 'odd' : 'even', payload: n })));
    expect(await purge('ready')).toEqual({ count: 2 });
    expect((await workOff()).sort()).toEqual([3, 4]);
  });

  test('of scheduled jobs gives the groups new heads', async () => {
    await enqueueAll([1, 2]);
    await at.settle('nack', await at.claimOne(queue), { delay_seconds: 600 });
    expect(await purge('scheduled')).toEqual({ count: 1 });
    expect(await workOff()).toEqual([2]);
  });

  test('of blocked jobs leaves the heads', async () => {
    await enqueueAll([1, 2, 3]);
    expect(await purge('blocked')).toEqual({ count: 2 });
    await enqueue(4);
    expect(await workOff()).toEqual([1, 4]);
  });

  test('of all waiting jobs leaves none', async () => {
    await at.enqueueAll(Array.from({ length: 100 }, (_, i) => ({ queue, group: `g${i % 7}` })));
    await enqueue(0, { delay_seconds: 600 });
    expect(await purge('ready', 'scheduled', 'blocked')).toEqual({ count: 101 });
    const { counts } = await at.ok('GET', `/queues/${queue}`);
    expect(Object.values(counts)).toEqual(Array(7).fill(0));
  });
});

describe('GET /jobs', () => {
  test('lists the jobs of a group', async () => {
    const jobs = await enqueueAll([1, 2, 3]);
    await enqueue('other', { group: 'other' });
    const list = async (query: string) => (await at.ok('GET', `/jobs?queue=${queue}&${query}`)).jobs;
    expect((await list('group=g')).map((job: Json) => job.id)).toEqual(
      jobs.map((job) => job.id).toReversed(),
    );
    expect(await list('group=g&state=blocked&order=oldest')).toHaveLength(2);
    expect(await list('group=none')).toEqual([]);
    const { next_cursor } = await at.ok('GET', `/jobs?queue=${queue}&group=g&limit=1`);
    const foreign = await service.call(
      'GET',
      `/jobs?queue=${queue}&group=other&limit=1&cursor=${next_cursor}`,
    );
    expectProblem(foreign, 400, 'invalid_request', '/cursor');
  });
});

describe('a group without a head', () => {
  /** A job that is blocked with no job before it, as after a crash between a commit and the advance of the group. */
  async function stuck(group: string) {
    const job = await enqueue('stuck', { group });
    await onAll(
      service.databaseUrl,
      `update dibs.jobs set state = 'blocked', is_head = false where id = $1`,
      [job.id],
    );
    return job;
  }

  test('soon gets one from any replica', async () => {
    const jobs = [await stuck('a'), await stuck('b')];
    const claimed = async () => at.claim(queue, { limit: 10, wait_seconds: 30 });
    const first = await claimed();
    const found = [...first, ...(first.length === 2 ? [] : await claimed())];
    expect(found.map((job) => job.id).sort()).toEqual(jobs.map((job) => job.id).sort());
  });

  test('gets one within 2 s, also beside 3,000 queues that have blocked jobs, and where all of them lost a head', async () => {
    const sql = <Row extends Record<string, unknown>>(text: string) =>
      onServer<Row>(service.databaseUrl, text);
    await sql(`insert into dibs.queues (name) select 'crowd-' || n from generate_series(1, 3000) n`);
    await sql(`insert into dibs.jobs (queue_id, id, state, is_head, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
      select q.id, gen_random_uuid(), (case when head then 'ready' else 'blocked' end)::dibs.job_state, head, now(), 5, 1, 0, '{}', '1', 'g'
      from dibs.queues q cross join (values (true), (false), (false)) as place (head) where q.name like 'crowd-%'`);
    const headless = async () =>
      (
        await sql<{
          count: number;
        }>(`select count(*)::integer as count from dibs.queues q where q.name like 'crowd-%'
          and not exists (select from dibs.jobs j where j.queue_id = q.id and j.is_head)`)
      )[0]?.count;
    const worst: number[] = [];
    for (const which of ["q.name = 'crowd-2999'", "q.name = 'crowd-1'", "q.name like 'crowd-%'"]) {
      await sql(`update dibs.jobs j set state = 'dead', is_head = false, finished_at = now() from dibs.queues q
        where q.id = j.queue_id and ${which} and j.is_head`);
      const started = performance.now();
      while ((await headless()) !== 0) await new Promise((resolve) => setTimeout(resolve, 50));
      worst.push(performance.now() - started);
    }
    // 2 s are promised. The rest is for a busy machine. Each queue by itself took over 200 s.
    expect(Math.max(...worst)).toBeLessThan(20_000);
  });
});
