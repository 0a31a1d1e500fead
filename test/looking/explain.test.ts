import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const explain = (id: string) => at.ok('GET', `/jobs/${id}/explain`);
const sql = (text: string, ...values: unknown[]) => onAll(service.databaseUrl, text, values);

/** A claimed job. */
async function leased(job: object = {}, wish: object = {}) {
  const queue = at.newQueue();
  await at.enqueue({ queue, ...job });
  return at.claimOne(queue, wish);
}

describe('why is my job not running?', () => {
  test('next_in_line: it can be claimed, and `ahead` jobs go before it', async () => {
    const queue = at.newQueue();
    const jobs = await at.enqueueAll([0, 5, 0, -1, 5].map((priority) => ({ queue, priority })));
    const ahead = await Promise.all(jobs.map(async ({ id }) => (await explain(id)).ahead));
    expect(ahead).toEqual([2, 0, 3, 4, 1]);
    expect(await explain(jobs[1].id)).toEqual({
      id: jobs[1].id,
      state: 'ready',
      code: 'next_in_line',
      detail: 'It is the next job: the next claim from the queue gets it.',
      ahead: 0,
    });
    expect((await explain(jobs[4].id)).detail).toMatch(/\b1 job of the queue goes before it/);
    expect((await explain(jobs[3].id)).detail).toMatch(/\b4 jobs of the queue go before it/);
  });

  test('next_in_line: jobs that are not ready do not go before it', async () => {
    const queue = at.newQueue();
    await at.enqueueAll([{ queue }, { queue, delay_seconds: 60 }]);
    await at.claimOne(queue);
    const { id } = await at.enqueue({ queue });
    expect(await explain(id)).toMatchObject({ code: 'next_in_line', ahead: 0 });
  });

  test('delayed: until its run_at', async () => {
    const job = await at.enqueue({ delay_seconds: 3600 });
    expect(await explain(job.id)).toEqual({
      id: job.id,
      state: 'scheduled',
      code: 'delayed',
      detail: `It is delayed until ${job.run_at}.`,
      until: job.run_at,
    });
  });

  test('delayed: also after a release with a delay', async () => {
    const job = await leased();
    const { body } = await at.settle('release', job, { delay_seconds: 3600 });
    expect(await explain(job.id)).toMatchObject({ code: 'delayed', until: body.run_at });
  });

  test('backing_off: until its run_at, with the error of the last attempt', async () => {
    const job = await leased({ max_attempts: 3 });
    const { body } = await at.settle('nack', job, { error: 'no route', delay_seconds: 60 });
    expect(await explain(job.id)).toEqual({
      id: job.id,
      state: 'scheduled',
      code: 'backing_off',
      detail: `It rests until ${body.run_at}, after attempt 1 of 3.`,
      until: body.run_at,
      last_error: 'no route',
    });
  });

  test('behind_in_group: names the head of its group, and `ahead` jobs of the group go before it', async () => {
    const queue = at.newQueue();
    const jobs = await at.enqueueAll(Array.from({ length: 4 }, () => ({ queue, group: 'a "b"' })));
    await at.enqueue({ queue, group: 'other' });
    const [head, second, , last] = jobs;
    await at.claimOne(queue);
    expect(await explain(last.id)).toEqual({
      id: last.id,
      state: 'blocked',
      code: 'behind_in_group',
      detail: `In its group "a \\"b\\"", 3 jobs go before it. Job ${head.id} is the head of the group and is with a worker.`,
      ahead: 3,
      blocking_job_id: head.id,
    });
    expect(await explain(second.id)).toMatchObject({ ahead: 1, blocking_job_id: head.id });
    expect(await explain(head.id)).toMatchObject({ code: 'leased' });
  });

  test('behind_in_group: also behind a head that backs off', async () => {
    const queue = at.newQueue();
    const [head, second] = await at.enqueueAll([1, 2].map(() => ({ queue, group: 'g' })));
    await at.settle('nack', await at.claimOne(queue), { delay_seconds: 60 });
    expect(await explain(head.id)).toMatchObject({ code: 'backing_off' });
    expect(await explain(second.id)).toMatchObject({ code: 'behind_in_group', blocking_job_id: head.id });
    expect((await explain(second.id)).detail).toMatch(/waits for its run_at/);
  });

  test('queue_paused: whatever else the job waits for', async () => {
    const queue = at.newQueue();
    const jobs = await at.enqueueAll(
      [{}, { delay_seconds: 60 }, { group: 'g' }, { group: 'g' }].map((job) => ({ queue, ...job })),
    );
    await at.ok('POST', `/queues/${queue}/pause`);
    for (const { id } of jobs) expect(await explain(id)).toMatchObject({ code: 'queue_paused' });
    await at.ok('POST', `/queues/${queue}/resume`);
    expect(await explain(jobs[0].id)).toMatchObject({ code: 'next_in_line' });
  });

  test('max_leased_reached: its queue has all the leases that it may have, until one is settled', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_leased: 2 });
    const jobs = await at.enqueueAll(Array.from({ length: 3 }, () => ({ queue })));
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'next_in_line', ahead: 2 });
    const [one] = await at.claim(queue, { limit: 5 });
    expect(await explain(jobs[2].id)).toEqual({
      id: jobs[2].id,
      state: 'ready',
      code: 'max_leased_reached',
      detail:
        'The queue has as many leases as it may have (max_leased: 2). One must be settled or run out first.',
    });
    expect(await explain(one.id)).toMatchObject({ code: 'leased' });
    await at.settle('ack', one);
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'next_in_line', ahead: 0 });
  });

  test('max_leased_reached: leases that ran before the limit was set count, also when the first claim comes late', async () => {
    const queue = at.newQueue();
    const jobs = await at.enqueueAll(Array(5).fill({ queue }));
    await at.claim(queue, { limit: 2 });
    await at.configure(queue, { max_leased: 2 });
    // As if 20 s had gone by without a claim.
    await sql(
      `update dibs.claim_limits set counting_since = counting_since - interval '20 s' where queue_id = (select id from dibs.queues where name = $1)`,
      queue,
    );
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'max_leased_reached' });
    expect(await at.claim(queue, { limit: 5 })).toEqual([]);
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'max_leased_reached' });
  });

  test('max_leased_reached: leases that ran before the limit was set count at once', async () => {
    const queue = at.newQueue();
    const jobs = await at.enqueueAll(Array.from({ length: 4 }, () => ({ queue })));
    const leases = await at.claim(queue, { limit: 2 });
    await at.configure(queue, { max_leased: 2 });
    for (let i = 0; i < 3; i++) {
      expect(await explain(jobs[2].id)).toMatchObject({ code: 'max_leased_reached' });
      expect(await at.ok('GET', `/queues/${queue}/explain`)).toMatchObject({ code: 'max_leased_reached' });
    }
    expect(await at.claim(queue)).toEqual([]);
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'max_leased_reached' });
    await at.settle('ack', leases[0]);
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'next_in_line', ahead: 0 });
    expect(await at.claim(queue, { limit: 2 })).toHaveLength(1);
    await at.configure(queue, { max_leased: 3 });
    expect(await explain(jobs[3].id)).toMatchObject({ code: 'next_in_line', ahead: 0 });
  });

  test('rate_limited: until its queue allows another claim', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { rate_limit: { jobs: 2, per_seconds: 600 } });
    const jobs = await at.enqueueAll(Array.from({ length: 3 }, () => ({ queue })));
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'next_in_line', ahead: 2 });
    const [one] = await at.claim(queue, { limit: 5, lease_seconds: 600 });
    const explanation = await explain(jobs[2].id);
    expect(explanation).toMatchObject({ code: 'rate_limited', state: 'ready' });
    // An entry of the claim log covers 1/500 of the window, and counts until its end.
    const wait = Date.parse(explanation.until) - (Date.parse(one.lease_expires_at) - 600_000);
    expect(wait).toBeGreaterThanOrEqual(599_990);
    expect(wait).toBeLessThan(610_000);
    await at.ok('POST', `/queues/${queue}/pause`);
    expect(await explain(jobs[2].id)).toMatchObject({ code: 'queue_paused' });
  });

  test('leased: names the worker and the end of the lease', async () => {
    const job = await leased({ max_attempts: 4 }, { worker: 'mailer-1' });
    const until = job.lease_expires_at;
    expect(await explain(job.id)).toEqual({
      id: job.id,
      state: 'leased',
      code: 'leased',
      detail: `It is running: worker "mailer-1" has it until ${until}, attempt 1 of 4.`,
      until,
      worker: 'mailer-1',
    });
    await service.call('DELETE', `/jobs/${job.id}`);
    expect((await explain(job.id)).detail).toMatch(/It was asked to stop\.$/);
  });

  test('leased: by a worker without a name', async () => {
    const explanation = await explain((await leased()).id);
    expect(explanation).toMatchObject({ code: 'leased' });
    expect(explanation).not.toHaveProperty('worker');
  });

  test('dead: because its attempts are used up, with the error of the last one', async () => {
    const job = await leased({ max_attempts: 1 });
    const { body } = await at.settle('nack', job, { error: 'it broke' });
    expect(await explain(job.id)).toEqual({
      id: job.id,
      state: 'dead',
      code: 'dead',
      detail: `It has been dead since ${body.finished_at}: its only attempt failed. A retry or a redrive makes it ready again.`,
      last_error: 'it broke',
    });
  });

  test('dead: because its worker refused it', async () => {
    const job = await leased();
    await at.settle('nack', job, { retry: false });
    const explanation = await explain(job.id);
    expect(explanation.detail).toMatch(/its worker gave it up \(nack without a retry\)/);
    expect(explanation).not.toHaveProperty('last_error');
  });

  test('dead: because it failed, though its worker called the error "expired"', async () => {
    for (const [more, why] of [
      [{ max_attempts: 1 }, /its only attempt failed/],
      [{ max_attempts: 1, expires_in_seconds: 0.3 }, /its only attempt failed/],
      [{ expires_in_seconds: 600 }, /its worker gave it up/],
    ] as const) {
      const job = await leased(more);
      await sleep(400);
      await at.settle('nack', job, { error: 'expired', retry: false });
      expect((await explain(job.id)).detail).toMatch(why);
    }
  });

  test('dead: because it expired', async () => {
    const { id } = await at.enqueue({ expires_in_seconds: 0.1 });
    await at.reaches(id, 'dead');
    expect(await explain(id)).toMatchObject({ code: 'dead', last_error: 'expired' });
    expect((await explain(id)).detail).toMatch(/it expired before a worker was done with it/);
  });

  test('dead: also when it has expired and the sweeper has not found it yet', async () => {
    const queue = at.newQueue();
    for (let i = 0; i < 10; i++) {
      const { id } = await at.enqueue({ queue, expires_in_seconds: 3600 });
      await sql('update dibs.jobs set expires_at = now() where id = $1', id);
      expect(await explain(id)).toMatchObject({ code: 'dead', last_error: 'expired' });
    }
  });

  test('completed and cancelled: while the job is kept', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { retention_seconds: 3600 });
    const [done, cancelled] = await at.enqueueAll([{ queue }, { queue }]);
    await at.settle('ack', await at.claimOne(queue));
    await at.ok('DELETE', `/jobs/${cancelled.id}`);
    expect(await explain(done.id)).toMatchObject({ state: 'completed', code: 'completed' });
    expect(await explain(cancelled.id)).toMatchObject({ state: 'cancelled', code: 'cancelled' });
  });

  test('a job that is gone or never existed is 404', async () => {
    const job = await leased();
    await at.settle('ack', job);
    for (const id of [job.id, UNKNOWN_ID, 'x'])
      expectProblem(await service.call('GET', `/jobs/${id}/explain`), 404, 'job_not_found');
  });
});

/** Ready jobs of the queue with this priority, each with its own fairness key if it has one. */
const fill = (queue: string, jobs: number, priority: number, hasKeys = false) =>
  sql(
    `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload, fairness_key)
     select q.id, gen_random_uuid(), 'ready', now(), $3::smallint, 1, 4, '{}', 'null', case when $4::boolean then 'k' || i end
     from dibs.queues q cross join generate_series(1, $2::integer) as i where q.name = $1`,
    queue,
    jobs,
    priority,
    hasKeys,
  );

test('the jobs before a job are counted up to 10,000, those of higher priority and its own together', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  await fill(queue, 6000, 1);
  await fill(queue, 3990, 0);
  const { id } = await at.enqueue({ queue });
  expect(await explain(id)).toMatchObject({
    ahead: 9991,
    detail: expect.stringMatching(/but 9991 jobs of the queue go/),
  });
  await fill(queue, 5000, 1);
  const explanation = await explain(id);
  expect(explanation).toMatchObject({ code: 'next_in_line', ahead: 10_000 });
  expect(explanation.detail).toMatch(/but at least 10000 jobs of the queue go/);
});

test('the jobs before a job are counted of up to 1,000 other fairness keys', async () => {
  const queue = at.newQueue();
  await at.configure(queue, {});
  await fill(queue, 1500, 0, true);
  // The keys take turns by name. Behind all of them: its turn is the last one.
  const { id: last } = await at.enqueue({ queue, fairness_key: 'z' });
  const explanation = await explain(last);
  expect(explanation.code).toBe('next_in_line');
  expect(explanation.ahead).toBeGreaterThanOrEqual(990);
  expect(explanation.ahead).toBeLessThanOrEqual(1000);
  expect(explanation.detail).toMatch(/at least \d+ jobs/);
  const { id: first } = await at.enqueue({ queue, fairness_key: 'a' });
  expect(await explain(first)).toMatchObject({ ahead: 0, detail: expect.stringMatching(/the next job/) });
  // Jobs without a key come after all keys.
  const { id: none } = await at.enqueue({ queue });
  expect((await explain(none)).detail).toMatch(/at least \d+ jobs/);
});
