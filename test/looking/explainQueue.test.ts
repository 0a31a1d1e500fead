import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

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

const enqueue = (...jobs: object[]) => at.enqueueAll(jobs.map((job) => ({ queue, ...job })));
const sql = <Row extends Record<string, unknown>>(text: string, ...values: unknown[]) =>
  onAll<Row>(service.databaseUrl, text, values);

/**
 * What the queue's explanation is, checked against the claim that comes right after it: the claim gets a job exactly
 * when the code is `ready`, and that job is `job_id`.
 */
async function explain() {
  const explanation = await at.ok('GET', `/queues/${queue}/explain`);
  const jobs = await at.claim(queue, { limit: 1, lease_seconds: 600 });
  expect(jobs.length, JSON.stringify(explanation)).toBe(explanation.code === 'ready' ? 1 : 0);
  if (explanation.code === 'ready' && 'job_id' in explanation) expect(jobs[0].id).toBe(explanation.job_id);
  return explanation;
}

describe('why does my claim get nothing?', () => {
  test('ready: a claim gets a job now, and job_id is that job', async () => {
    const jobs = await enqueue({ priority: -1 }, { delay_seconds: 600 }, {}, { priority: 2, group: 'g' }, {});
    expect(await explain()).toEqual({
      queue,
      code: 'ready',
      detail: 'A job is ready. A claim gets it now.',
      job_id: jobs[3].id,
    });
    const next = [await explain(), await explain(), await explain()];
    expect(next.map(({ code, job_id }) => [code, job_id])).toEqual(
      [jobs[2], jobs[4], jobs[0]].map(({ id }) => ['ready', id]),
    );
    expect((await explain()).code).toBe('all_delayed');
  });

  test('ready: no job_id where fairness keys take turns, because the next job is not known', async () => {
    await enqueue({ fairness_key: 'a' }, { fairness_key: 'a' }, { fairness_key: 'b' }, {});
    for (let i = 0; i < 4; i++)
      expect(await explain()).toEqual({
        queue,
        code: 'ready',
        detail: 'A job is ready. A claim gets it now.',
      });
    expect((await explain()).code).toBe('all_leased');
  });

  test('ready: job_id where the jobs with fairness keys have a lower priority', async () => {
    const [, first] = await enqueue({ fairness_key: 'a' }, { priority: 1 });
    expect(await explain()).toMatchObject({ code: 'ready', job_id: first.id });
    expect(await explain()).not.toHaveProperty('job_id');
  });

  test('empty: the queue has no job', async () => {
    await at.configure(queue, {});
    expect(await explain()).toEqual({ queue, code: 'empty', detail: 'The queue has no unfinished job.' });
  });

  test('empty: the queue has only finished and dead jobs', async () => {
    await at.configure(queue, { retention_seconds: 600 });
    await enqueue({}, {}, {});
    const [completed, cancelled, dead] = await at.claim(queue, { limit: 3 });
    await at.settle('ack', completed);
    await at.ok('DELETE', `/jobs/${cancelled.id}`);
    await at.settle('nack', cancelled);
    await at.settle('nack', dead, { retry: false });
    const { counts } = await at.ok('GET', `/queues/${queue}`);
    expect(counts).toMatchObject({ completed: 1, cancelled: 1, dead: 1 });
    expect(await explain()).toMatchObject({ code: 'empty' });
  });

  test('paused: whatever jobs the queue has, until it is resumed', async () => {
    await at.ok('POST', `/queues/${queue}/pause`);
    const paused = {
      queue,
      code: 'paused',
      detail: 'The queue is paused. A claim gets no job until it is resumed.',
    };
    expect(await explain()).toEqual(paused);
    const [, job] = await enqueue({ delay_seconds: 600 }, {});
    expect(await explain()).toEqual(paused);
    await at.ok('POST', `/queues/${queue}/resume`);
    expect(await explain()).toMatchObject({ code: 'ready', job_id: job.id });
  });

  test('max_leased_reached: a job is ready, but one of the leases must end first', async () => {
    await at.configure(queue, { max_leased: 2, rate_limit: { jobs: 100, per_seconds: 600 } });
    await enqueue({}, {}, {});
    const [lease] = await at.claim(queue, { limit: 5 });
    expect(await explain()).toEqual({
      queue,
      code: 'max_leased_reached',
      detail:
        'The queue has as many leases as it may have (max_leased: 2). One must be settled or run out first.',
    });
    await at.settle('ack', lease);
    expect((await explain()).code).toBe('ready');
    expect((await explain()).code).toBe('all_leased');
  });

  test('rate_limited: a job is ready, but the rate limit allows it only at `until`', async () => {
    await at.configure(queue, { max_leased: 100, rate_limit: { jobs: 2, per_seconds: 4 } });
    await enqueue({}, {}, {});
    await at.claim(queue, { limit: 5 });
    const { until, ...rest } = await explain();
    expect(rest).toEqual({
      queue,
      code: 'rate_limited',
      detail: `The queue allows 2 claimed jobs in 4 s. It allows the next at ${until}.`,
    });
    const ms = Date.parse(until) - Date.now();
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThan(4100);
    // Answered times are cut to milliseconds.
    await sleep(ms + 5);
    expect((await explain()).code).toBe('ready');
    expect((await explain()).code).toBe('all_leased');
  });

  test('all_leased: workers have all jobs, the first one until `until`', async () => {
    await enqueue({}, {}, {});
    for (const lease_seconds of [500, 100, 300]) await at.claimOne(queue, { lease_seconds });
    const jobs = (await at.ok('GET', `/jobs?queue=${queue}&order=oldest`)).jobs;
    const until = jobs[1].lease_expires_at;
    expect(await explain()).toEqual({
      queue,
      code: 'all_leased',
      detail: `Every job is with a worker. The first of the leases runs out at ${until}.`,
      until,
      job_id: jobs[1].id,
    });
  });

  test('all_leased: also when max_leased is reached, because no job is ready', async () => {
    await at.configure(queue, { max_leased: 1 });
    const [job] = await enqueue({});
    await at.claimOne(queue);
    expect(await explain()).toMatchObject({ code: 'all_leased', job_id: job.id });
  });

  test('all_delayed: the first of the scheduled jobs is ready at `until`', async () => {
    const [, soonest] = await enqueue({ delay_seconds: 900 }, { delay_seconds: 300 }, { delay_seconds: 600 });
    expect(await explain()).toEqual({
      queue,
      code: 'all_delayed',
      detail: `No job is ready. The first of the scheduled jobs is ready at ${soonest.run_at}.`,
      until: soonest.run_at,
      job_id: soonest.id,
    });
  });

  test('all_delayed: also when the job rests after a failed attempt', async () => {
    const [job] = await enqueue({});
    const { body } = await at.settle('nack', await at.claimOne(queue), { delay_seconds: 600 });
    expect(await explain()).toMatchObject({ code: 'all_delayed', until: body.run_at, job_id: job.id });
  });

  test('all_delayed: until is when a claim gets the job', async () => {
    const [job] = await enqueue({ delay_seconds: 2 });
    const { until } = await explain();
    const claimed = await at.claimOne(queue, { wait_seconds: 20, lease_seconds: 600 });
    expect(claimed.id).toBe(job.id);
    const leased = Date.parse(claimed.lease_expires_at) - 600_000;
    expect(leased).toBeGreaterThanOrEqual(Date.parse(until) - 1);
    expect(leased).toBeLessThan(Date.parse(until) + 3000);
  });

  test('all_delayed: behind 10,000 scheduled jobs of other queues, `until` is left out, and it says when the first comes at the soonest', async () => {
    const other = at.queueBeside(queue);
    const fill = (name: string, jobs: number, days: number) =>
      sql(
        `insert into dibs.jobs (queue_id, id, state, run_at, priority, max_attempts, payload_bytes, headers, payload)
         select q.id, gen_random_uuid(), 'scheduled', date_trunc('second', now()) + $3::integer * interval '1 day', 0, 1, 4, '{}', 'null'
         from dibs.queues q cross join generate_series(1, $2::integer) where q.name = $1`,
        name,
        jobs,
        days,
      );
    for (const name of [queue, other]) await at.configure(name, {});
    await fill(queue, 999, 3);
    await fill(other, 10_000, 2);
    expect(await explain()).toMatchObject({ code: 'all_delayed', until: expect.any(String) });
    await fill(queue, 1, 4);
    const late = await explain();
    expect(late).toEqual({
      queue,
      code: 'all_delayed',
      detail: expect.stringMatching(
        /^No job is ready\. The first of the scheduled jobs is ready after \d{4}-.*Z\.$/,
      ),
    });
    await fill(queue, 1, 1);
    expect(await explain()).toMatchObject({
      code: 'all_delayed',
      until: expect.any(String),
      job_id: expect.any(String),
    });
    await sql('delete from dibs.jobs where queue_id in (select id from dibs.queues where name = any ($1))', [
      queue,
      other,
    ]);
  });

  test('all_blocked: every waiting job is behind another one of its group', async () => {
    const [head, second] = await enqueue({ group: 'g' }, { group: 'g' }, { group: 'g' });
    const lease = await at.claimOne(queue);
    expect(lease.id).toBe(head.id);
    expect(await explain()).toEqual({
      queue,
      code: 'all_blocked',
      detail:
        'No job is ready. Every waiting job is blocked: another job of its group goes before it, or its group is paused.',
      job_id: second.id,
    });
    await at.settle('ack', lease);
    expect(await explain()).toMatchObject({ code: 'ready', job_id: second.id });
  });

  test('all_delayed comes before all_blocked, and all_blocked before all_leased', async () => {
    const [, blocked] = await enqueue({ group: 'g' }, { group: 'g' }, {});
    const leases = await at.claim(queue, { limit: 2, lease_seconds: 600 });
    expect(leases).toHaveLength(2);
    const [scheduled] = await enqueue({ delay_seconds: 600 });
    expect(await explain()).toMatchObject({
      code: 'all_delayed',
      until: scheduled.run_at,
      job_id: scheduled.id,
    });
    await at.ok('DELETE', `/jobs/${scheduled.id}`);
    expect(await explain()).toMatchObject({ code: 'all_blocked', job_id: blocked.id });
    await at.ok('DELETE', `/jobs/${blocked.id}`);
    expect(await explain()).toMatchObject({ code: 'all_leased' });
  });

  test('a ready job that has expired does not count', async () => {
    let seenReady = 0;
    for (let i = 0; i < 10; i++) {
      const [first] = await enqueue({ priority: 1, expires_in_seconds: 3600 });
      await sql('update dibs.jobs set expires_at = now() where id = $1', first.id);
      expect((await explain()).code).toBe('empty');
      const [{ state }] = (await sql('select state from dibs.jobs where id = $1', first.id)) as [
        { state: string },
      ];
      // It is dead only when the sweeper has already seen it.
      if (state === 'ready') seenReady++;
      const [second] = await enqueue({});
      expect(await explain()).toMatchObject({ code: 'ready', job_id: second.id });
      await at.ok('DELETE', `/queues/${queue}?force=true`);
    }
    expect(seenReady).toBeGreaterThan(0);
  });

  test('jobs of other queues do not count', async () => {
    await at.enqueueAll([{}, { delay_seconds: 600 }].map((job) => ({ queue: at.newQueue(), ...job })));
    await at.configure(queue, {});
    expect(await explain()).toMatchObject({ queue, code: 'empty' });
  });

  test('a queue that does not exist is 404, and a malformed name is 400', async () => {
    expectProblem(await service.call('GET', `/queues/${queue}/explain`), 404, 'queue_not_found');
    for (const name of ['a%20b', 'a%2Fb', '%00', 'q'.repeat(129)]) {
      const answer = await service.call('GET', `/queues/${name}/explain`);
      expectProblem(answer, 400, 'invalid_request', '/queue');
      expect(answer.body.errors[0].in).toBe('path');
    }
  });
});
