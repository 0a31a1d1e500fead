import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Answer, type Service, startService } from '../support/service.ts';
import { databaseOf, onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let here: Service;
let there: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  here = await startService();
  there = await startService({ databaseUrl: here.databaseUrl });
  at = moves(here);
});
afterAll(async () => {
  await there.stop();
  await here.stop();
});

const sql = <Row extends object>(text: string, values: unknown[] = []) =>
  onAll<Row & Record<string, unknown>>(here.databaseUrl, text, values);

const markOf = async (id: string) =>
  (await sql<{ until: string }>('select awaited_until::text as until from dibs.jobs where id = $1', [id]))[0]
    ?.until;

/** Enqueues a job with `Prefer: wait`, and claims it. */
async function awaited(job: object = {}, headers: object = {}, wait = 60) {
  const queue = at.newQueue();
  const answer = here.call('POST', '/jobs', { queue, ...job }, { prefer: `wait=${wait}`, ...headers });
  const lease = await at.claimOne(queue, { wait_seconds: 20 });
  return { answer, lease };
}

const expectEnd = async (answer: Promise<Answer>, lease: Json, end: object) =>
  expect(await answer).toMatchObject({ status: 200, body: { id: lease.id, state: 'completed', ...end } });

test('a client that waits alone gets the job of an ack on its replica, and the job is gone', async () => {
  const job = {
    payload: { n: 1.0, of: ['a "quoted" one'] },
    headers: { tenant: 'ada' },
    priority: 7,
    fairness_key: 'ada',
    max_attempts: 3,
  };
  // On a slow machine an attempt may take two seconds. Then the client waits as all others do, and the job is kept.
  const { answer, lease } = await until(async () => {
    const tried = await awaited(job);
    await at.settle('extend', tried.lease, { lease_seconds: 60, progress: { page: 3 } });
    const acked = await at.settle('ack', tried.lease, { result: { pages: 12 } });
    expect(acked.body).toEqual({ id: tried.lease.id, state: 'completed', enqueued: [] });
    return (await here.call('GET', `/jobs/${tried.lease.id}`)).status === 404 && tried;
  });
  const { body, headers } = await answer;
  expect(headers.location).toBe(`/jobs/${lease.id}`);
  expectProblem(await at.settle('ack', lease), 404, 'job_not_found');

  // A job that is kept is answered the same.
  const queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 60 });
  const other = here.call('POST', '/jobs', { queue, ...job }, { prefer: 'wait=60' });
  const kept = await at.claimOne(queue, { wait_seconds: 20 });
  await at.settle('extend', kept, { lease_seconds: 60, progress: { page: 3 } });
  await at.settle('ack', kept, { result: { pages: 12 } });
  const own = { id: lease.id, queue: lease.queue, created_at: lease.created_at, run_at: lease.run_at };
  expect({ ...(await other).body, ...own, finished_at: body.finished_at }).toEqual(body);
});

test.each([
  ['an ack among many', 30],
  ['an ack alone', 1],
])('each of the clients that wait gets its own end, and each job ends once: %s', async (_, together) => {
  const queue = at.newQueue();
  const answers = Array.from({ length: 30 }, (_, i) =>
    here.call('POST', '/jobs', { queue, payload: i }, { prefer: 'wait=60' }),
  );
  for (let done = 0; done < 30; ) {
    const jobs = await at.claim(queue, { limit: together, wait_seconds: 20 });
    const acks = jobs.map(({ id, lease_token, payload }) => ({ id, lease_token, result: payload }));
    const settled = await at.ok('POST', '/jobs/settle', { acks: [...acks, ...acks] });
    expect(settled.acks.slice(0, acks.length).every(({ status }: Json) => status === 200)).toBe(true);
    done += jobs.length;
  }
  const ends = (await Promise.all(answers)).map(({ status, body }) => [status, body.payload, body.result]);
  expect(ends).toEqual(ends.map((_, i) => [200, i, i]));
  const left = (await at.ok('GET', `/jobs?queue=${queue}`)).jobs;
  expect(left.filter(({ state }: Json) => state !== 'completed')).toEqual([]);
});

describe('a job is kept for the others', () => {
  test.each([
    ['here', () => here, 0.3],
    ['on another replica, for a shorter time', () => there, 0.3],
    ['on another replica, for a longer time', () => there, 60],
  ])('when a second client waits for it %s', async (_, on, seconds) => {
    const { answer, lease } = await awaited();
    const before = await markOf(lease.id);
    const second = on().call('GET', `/jobs/${lease.id}?wait_seconds=${seconds}`);
    await until(async () => (await markOf(lease.id)) !== before);
    if (seconds < 1) await second;
    await at.settle('ack', lease, { result: 1 });
    await expectEnd(answer, lease, { result: 1 });
    if (seconds > 1) await expectEnd(second, lease, { result: 1 });
    expect(await at.get(lease.id)).toMatchObject({ state: 'completed', result: 1 });
  });

  test('when a replica of the version before noted that somebody waits, for a shorter time', async () => {
    const { answer, lease } = await awaited();
    const noted = `update dibs.jobs set awaited_until = greatest(awaited_until, now() + 10.1 * interval '1 second')
      where id = $1 returning id`;
    expect(await sql(noted, [lease.id])).toHaveLength(1);
    await at.settle('ack', lease, { result: 1 });
    await expectEnd(answer, lease, { result: 1 });
    expect((await at.get(lease.id)).state).toBe('completed');
  });

  test('when the request has an Idempotency-Key', async () => {
    const { answer, lease } = await awaited({}, { 'idempotency-key': 'kept' });
    await at.settle('ack', lease, { result: 1 });
    await expectEnd(answer, lease, { result: 1 });
    expect((await at.get(lease.id)).state).toBe('completed');
  });

  test('when it or its result is large', async () => {
    for (const [payload, result] of [
      ['x'.repeat(20_000), 1],
      [1, 'x'.repeat(20_000)],
    ]) {
      const { answer, lease } = await awaited({ payload });
      await at.settle('ack', lease, { result });
      await expectEnd(answer, lease, { payload, result });
      expect((await at.get(lease.id)).state).toBe('completed');
    }
  });

  test('when its client has waited for long, and when it waits no more', async () => {
    const { answer, lease } = await awaited();
    const before = await markOf(lease.id);
    await until(async () => (await markOf(lease.id)) !== before);
    await at.settle('ack', lease, { result: 1 });
    await expectEnd(answer, lease, { result: 1 });
    expect((await at.get(lease.id)).state).toBe('completed');

    const short = await awaited({}, {}, 1);
    expect((await short.answer).status).toBe(201);
    await at.settle('ack', short.lease, { result: 2 });
    expect(await at.get(short.lease.id)).toMatchObject({ state: 'completed', result: 2 });
  });

  test('when another replica acks it', async () => {
    const { answer, lease } = await awaited();
    await moves(there).settle('ack', lease, { result: 1 });
    await expectEnd(answer, lease, { result: 1 });
    expect((await at.get(lease.id)).state).toBe('completed');
  });
});

test('a client whose time is over while an ack of its job is under way gets the end of that ack, not a 201 for a job that is gone', async () => {
  const { answer, lease } = await awaited({}, {}, 1);
  const holder = await openTransaction(await databaseOf(here.databaseUrl, lease.queue));
  await holder.query('select from dibs.jobs where id = $1 for update', [lease.id]);
  const acked = at.settle('ack', lease, { result: 1 });
  let isAnswered = false;
  void answer.then(() => {
    isAnswered = true;
  });
  await until(async () => {
    const [row] = await sql<{ over: boolean }>(
      `select now() > created_at + interval '1.3 seconds' as over from dibs.jobs where id = $1`,
      [lease.id],
    );
    return row?.over;
  });
  expect(isAnswered).toBe(false);
  await holder.end('commit');
  expect((await acked).status).toBe(200);
  await expectEnd(answer, lease, { result: 1 });
});

test('a stale ack hands nothing over, and the right one does', async () => {
  const { answer, lease } = await awaited();
  const stale = { ...lease, lease_token: '6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d' };
  expectProblem(await at.settle('ack', stale, { result: 'wrong' }), 409, 'lease_lost');
  await at.settle('ack', lease, { result: 'right' });
  await expectEnd(answer, lease, { result: 'right' });
});

test('the next job of a group comes after one that was handed over', async () => {
  const { answer, lease } = await awaited({ group: 'g' });
  await at.enqueue({ queue: lease.queue, group: 'g', payload: 'next' });
  await at.settle('ack', lease, { result: 1 });
  await expectEnd(answer, lease, { result: 1, group: 'g' });
  expect((await at.claimOne(lease.queue)).payload).toBe('next');
});
