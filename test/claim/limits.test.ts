import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { mostAtOnce, mostInWindow } from '../support/limits.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { AT_HOME, onAll } from '../support/severalDatabases.ts';

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

const sql = <Row extends object>(text: string, ...values: unknown[]) =>
  onAll<Row>(service.databaseUrl, text, values);

const many = (count: number, more: object = {}) => Array.from({ length: count }, () => ({ queue, ...more }));

describe('configuration', () => {
  test('a queue shows the limits that were set, and no others', async () => {
    const limits = { max_leased: 3, rate_limit: { jobs: 10, per_seconds: 0.5 }, max_ready: 100 };
    expect((await at.configure(queue, limits)).config).toMatchObject(limits);
    const shown = (await at.ok('GET', `/queues/${queue}`)).config;
    expect(shown).toMatchObject(limits);
    expect((await at.configure(queue, shown)).config).toEqual(shown);
    const { config } = await at.configure(queue, { max_leased: 4 });
    expect(config).toMatchObject({ max_leased: 4 });
    expect(Object.keys(config)).not.toEqual(expect.arrayContaining(['rate_limit']));
    expect(Object.keys((await at.configure(queue, {})).config)).not.toEqual(
      expect.arrayContaining(['max_leased', 'rate_limit', 'max_ready']),
    );
  });

  test('each limit has a least and a largest value', async () => {
    for (const config of [
      { max_leased: 1 },
      { max_leased: 100_000 },
      { rate_limit: { jobs: 1, per_seconds: 0.1 } },
      { rate_limit: { jobs: 1_000_000_000, per_seconds: 366 * 86_400 } },
      { max_ready: 1 },
      { max_ready: 1_000_000 },
    ])
      expect((await at.configure(queue, config)).config).toMatchObject(config);
    for (const [config, field] of [
      [{ max_leased: 0 }, '/max_leased'],
      [{ max_leased: 100_001 }, '/max_leased'],
      [{ max_leased: 1.5 }, '/max_leased'],
      [{ max_leased: null }, '/max_leased'],
      [{ rate_limit: null }, '/rate_limit'],
      [{ rate_limit: {} }, '/rate_limit/jobs'],
      [{ rate_limit: { jobs: 1 } }, '/rate_limit/per_seconds'],
      [{ rate_limit: { jobs: 0, per_seconds: 1 } }, '/rate_limit/jobs'],
      [{ rate_limit: { jobs: 1, per_seconds: 0.09 } }, '/rate_limit/per_seconds'],
      [{ rate_limit: { jobs: 1, per_seconds: 1, burst: 2 } }, '/rate_limit/burst'],
      [{ max_ready: 0 }, '/max_ready'],
      [{ max_ready: 1_000_001 }, '/max_ready'],
    ] as const)
      expectProblem(await service.call('PUT', `/queues/${queue}`, config), 400, 'invalid_request', field);
  });

  test('nothing of the limits is kept when the queue is deleted', async () => {
    await at.configure(queue, { max_leased: 1, rate_limit: { jobs: 5, per_seconds: 60 } });
    await at.enqueue({ queue });
    await at.settle('ack', await at.claimOne(queue));
    const kept = async () =>
      (await sql('select queue_id from dibs.claim_limits union all select queue_id from dibs.claim_log'))
        .length;
    const before = await kept();
    await at.ok('DELETE', `/queues/${queue}`);
    expect(await kept()).toBe(before - 2);
  });
});

describe('max_leased', () => {
  test('no more jobs are leased at once than max_leased', async () => {
    await at.configure(queue, { max_leased: 3 });
    await at.enqueueAll(many(10));
    expect(await at.claim(queue, { limit: 2 })).toHaveLength(2);
    const rest = await at.claim(queue, { limit: 5 });
    expect(rest).toHaveLength(1);
    expect(await at.claim(queue, { limit: 5 })).toEqual([]);
    await at.settle('ack', rest[0]);
    expect(await at.claim(queue, { limit: 5 })).toHaveLength(1);
  });

  test.each(['ack', 'nack', 'release'] as const)(
    'a lease that ends by %s leaves its place to another',
    async (verb) => {
      await at.configure(queue, { max_leased: 1 });
      await at.enqueueAll(many(2));
      const job = await at.claimOne(queue);
      expect(await at.claim(queue)).toEqual([]);
      await at.settle(verb, job, verb === 'ack' ? {} : { delay_seconds: 1000 });
      await at.claimOne(queue);
    },
  );

  test.each(['ack', 'nack', 'release'] as const)(
    'a claim that waits for max_leased is served as soon as a lease ends by %s',
    async (verb) => {
      await at.configure(queue, { max_leased: 1 });
      await at.enqueueAll(many(2));
      const job = await at.claimOne(queue);
      const waiting = at.claim(queue, { wait_seconds: 20 });
      await sleep(100);
      await at.settle(verb, job, verb === 'ack' ? {} : { delay_seconds: 1000 });
      expect(await waiting).toHaveLength(1);
    },
  );

  test('a lease that ran out counts until it is rescued', async () => {
    await at.configure(queue, { max_leased: 1 });
    await at.enqueue({ queue, max_attempts: 1 });
    const job = await at.claimOne(queue, { lease_seconds: 0.1 });
    const next = await at.enqueue({ queue });
    const [served] = await at.claim(queue, { wait_seconds: 20 });
    expect(served.id).toBe(next.id);
    expect((await at.get(job.id)).state).toBe('dead');
  });

  test('leases from before max_leased was set count, also those from a time without any limit', async () => {
    await at.enqueueAll(many(6));
    const before = await at.claim(queue, { limit: 3 });
    await at.configure(queue, { max_leased: 3 });
    expect(await at.claim(queue)).toEqual([]);
    await at.settle('ack', before[0]);
    expect(await at.claim(queue, { limit: 9 })).toHaveLength(1);
    await at.configure(queue, {});
    expect(await at.claim(queue)).toHaveLength(1);
    await at.configure(queue, { max_leased: 4 });
    expect(await at.claim(queue)).toEqual([]);
  });

  test('a claim that waits is served when the limit is raised or removed', async () => {
    await at.configure(queue, { max_leased: 1 });
    await at.enqueueAll(many(3));
    await at.claimOne(queue);
    for (const config of [{ max_leased: 2 }, {}]) {
      const waiting = at.claim(queue, { wait_seconds: 20 });
      await sleep(50);
      await at.configure(queue, config);
      expect(await waiting).toHaveLength(1);
    }
  });

  test('an extended lease counts, and a completed job that is kept does not', async () => {
    await at.configure(queue, { max_leased: 1, retention_seconds: 100 });
    await at.enqueueAll(many(2));
    const job = await at.claimOne(queue, { lease_seconds: 3 });
    expect((await at.settle('extend', job, { lease_seconds: 100 })).status).toBe(200);
    await sleep(3300);
    expect(await at.claim(queue)).toEqual([]);
    await at.settle('ack', job);
    await at.claimOne(queue);
  });

  test('a queue at its limit holds up no other queue of the same claim', async () => {
    const other = at.newQueue();
    await at.configure(queue, { max_leased: 1 });
    await at.enqueueAll(many(2));
    await at.enqueue({ queue: other });
    expect((await at.claim([queue, other], { limit: 3 })).map((job) => job.queue)).toEqual([queue, other]);
  });

  test('leases are still counted after the time from which they are read was raised', async () => {
    await at.configure(queue, { max_leased: 2 });
    await at.enqueueAll(many(3));
    await at.claim(queue, { limit: 2, lease_seconds: 1000 });
    await sql(`update dibs.claim_limits set counting_since = '-infinity', pruned_at = '-infinity'`);
    expect(await at.claim(queue)).toEqual([]);
    const [limits] = await sql<{ raised: boolean }>(
      `select leases_from > now() - interval '1 minute' as raised from dibs.claim_limits l
       join dibs.queues q on q.id = l.queue_id where q.name = $1`,
      queue,
    );
    expect(limits?.raised).toBe(true);
    expect(await at.claim(queue)).toEqual([]);
  });
});

describe('with fairness keys', () => {
  const withKeys = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ queue, fairness_key: i % 3 ? 'many' : 'few', payload: i }));

  test('no more jobs are leased at once than max_leased', async () => {
    await at.configure(queue, { max_leased: 3 });
    await at.enqueueAll([...withKeys(9), ...many(2)]);
    expect(await at.claim(queue, { limit: 2 })).toHaveLength(2);
    const rest = await at.claim(queue, { limit: 5 });
    expect(rest).toHaveLength(1);
    expect(await at.claim(queue, { limit: 5 })).toEqual([]);
    const waiting = at.claim(queue, { limit: 5, wait_seconds: 20 });
    await sleep(50);
    await at.settle('ack', rest[0]);
    expect(await waiting).toHaveLength(1);
  });

  test('no more jobs are claimed in a window than the rate limit allows, and keys alternate', async () => {
    await at.configure(queue, { rate_limit: { jobs: 4, per_seconds: 1000 } });
    await at.enqueueAll(withKeys(9));
    const jobs = [await at.claim(queue, { limit: 3 }), await at.claim(queue, { limit: 3 })].flat();
    expect(jobs.map((job) => job.fairness_key)).toEqual(['few', 'many', 'few', 'many']);
    expect(await at.claim(queue)).toEqual([]);
  });

  test('a replica that has not heard of a new limit yet gets nothing', async () => {
    const other = await startService({ databaseUrl: service.databaseUrl });
    const claims = async () =>
      (await other.call('POST', '/jobs/claim', { queues: [queue], limit: 5 })).body.jobs;
    for (const jobs of [withKeys(20), many(20)]) {
      queue = at.newQueue();
      await at.enqueueAll(jobs.map((job) => ({ ...job, queue })));
      expect(await claims()).toHaveLength(5);
      await at.configure(queue, { max_leased: 5 });
      expect(await claims()).toEqual([]);
    }
    await other.stop();
  });

  test('jobs with a fairness key count for max_ready like others', async () => {
    await at.configure(queue, { max_ready: 5 });
    await at.enqueueAll([...withKeys(3), ...many(2)]);
    expectProblem(await service.call('POST', '/jobs', { queue }), 429, 'queue_full');
  });
});

describe('rate_limit', () => {
  test('no more jobs are claimed in a window than the rate limit allows', async () => {
    await at.configure(queue, { rate_limit: { jobs: 3, per_seconds: 1000 } });
    await at.enqueueAll(many(10));
    const jobs = await at.claim(queue, { limit: 2 });
    jobs.push(...(await at.claim(queue, { limit: 2 })));
    expect(jobs).toHaveLength(3);
    for (const job of jobs) await at.settle('release', job);
    expect(await at.claim(queue)).toEqual([]);
  });

  test('a claim that waits for the rate limit is served when the window allows it, and never earlier', async () => {
    const rate = { jobs: 4, per_seconds: 0.5 };
    await at.configure(queue, { rate_limit: rate });
    await at.enqueueAll(many(14));
    const starts: { start: number }[] = [];
    while (starts.length < 14) {
      const jobs = await at.claim(queue, { limit: 3, wait_seconds: 20, lease_seconds: 1000 });
      for (const job of jobs) starts.push({ start: Date.parse(job.lease_expires_at) - 1000_000 });
    }
    expect(mostInWindow(starts, rate.per_seconds)).toBe(rate.jobs);
  });

  test('the claim log is kept short, and pruned', async () => {
    await at.configure(queue, { rate_limit: { jobs: 1_000_000, per_seconds: 1000 } });
    await at.enqueueAll(many(30));
    for (let i = 0; i < 30; i++) await at.claimOne(queue);
    const rows = () =>
      sql<{ jobs: number }>(
        'select jobs from dibs.claim_log l join dibs.queues q on q.id = l.queue_id where q.name = $1',
        queue,
      );
    // An entry stands for 2 s.
    expect((await rows()).length).toBeLessThan(15);
    expect((await rows()).reduce((sum, row) => sum + row.jobs, 0)).toBe(30);
    await at.configure(queue, { rate_limit: { jobs: 1_000_000, per_seconds: 0.1 } });
    await eventually(async () => {
      await sql(`update dibs.claim_limits set pruned_at = '-infinity'`);
      await at.claim(queue);
      expect(await rows()).toEqual([]);
    });
  });
});

describe('max_ready', () => {
  const full = async (jobs: object[]) => {
    const answer = await service.call('POST', '/jobs/batch', { jobs });
    expectProblem(answer, 429, 'queue_full');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  };

  test('an enqueue into a queue that has reached max_ready is 429 queue_full, and nothing of it is inserted', async () => {
    await at.configure(queue, { max_ready: 3 });
    await at.enqueueAll(many(2));
    await full(many(2));
    await at.enqueue({ queue });
    const answer = await service.call('POST', '/jobs', { queue });
    expectProblem(answer, 429, 'queue_full');
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    // A delayed job is refused, too.
    await full(many(1, { delay_seconds: 100 }));
    const other = at.queueBeside(queue);
    await full([{ queue: other }, ...many(1)]);
    expect((await at.ok('GET', `/queues/${queue}`)).counts).toMatchObject({ ready: 3, scheduled: 0 });
    expectProblem(await service.call('GET', `/queues/${other}`), 404, 'queue_not_found');
  });

  test('leased, scheduled and finished jobs do not count', async () => {
    await at.configure(queue, { max_ready: 3 });
    await at.enqueueAll(many(3));
    const jobs = await at.claim(queue, { limit: 3 });
    await at.settle('nack', jobs[0], { retry: false });
    // The finding that the queue is full holds for a moment.
    await eventually(() => at.enqueueAll(many(50, { delay_seconds: 100 })));
    await at.enqueueAll(many(3));
    await full(many(1));
  });

  test('a claim frees capacity, and so does a raised limit', async () => {
    await at.configure(queue, { max_ready: 1 });
    await at.enqueue({ queue });
    await full(many(1));
    await at.claimOne(queue);
    await eventually(() => at.enqueue({ queue }));
    await full(many(1));
    await at.configure(queue, { max_ready: 2 });
    await eventually(() => at.enqueue({ queue }));
    await full(many(1));
    await at.configure(queue, {});
    await at.enqueueAll(many(100));
  });

  test('many enqueues at once fill the queue exactly to max_ready', async () => {
    await at.configure(queue, { max_ready: 50 });
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const jobs = many(1 + (i % 3));
        const { status } = await service.call('POST', '/jobs/batch', { jobs });
        return { status, jobs: jobs.length };
      }),
    );
    const entered = statuses.reduce((sum, { status, jobs }) => sum + (status === 201 ? jobs : 0), 0);
    expect(entered).toBe(50);
    expect((await at.ok('GET', `/queues/${queue}`)).counts.ready).toBe(50);
    expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([201, 429]));
  });

  test('a request with an Idempotency-Key is refused like any other, and may be sent again', async () => {
    await at.configure(queue, { max_ready: 1 });
    const send = (key: string) => service.call('POST', '/jobs', { queue }, { 'idempotency-key': key });
    const first = await send('a');
    expect(first.status).toBe(201);
    expectProblem(await send('b'), 429, 'queue_full');
    expect((await send('a')).text).toBe(first.text);
    await at.claimOne(queue);
    await eventually(async () => expect((await send('b')).status).toBe(201));
  });

  test('an ack whose follow-ups exceed the capacity is refused as a whole', async () => {
    const next = at.queueBeside(queue);
    await at.configure(next, { max_ready: 1 });
    await at.enqueueAll([{ queue }, { queue: next }]);
    const job = await at.claimOne(queue);
    const ack = () => at.settle('ack', job, { enqueue: [{ queue: next }] });
    expectProblem(await ack(), 429, 'queue_full');
    expect((await at.get(job.id)).state).toBe('leased');
    await at.claimOne(next);
    await eventually(async () => expect((await ack()).status).toBe(200));
  });

  test('blocked jobs of a group count', async () => {
    await at.configure(queue, { max_ready: 3 });
    await at.enqueueAll(many(3, { group: 'g' }));
    expect((await at.ok('GET', `/queues/${queue}`)).counts).toMatchObject({ ready: 1, blocked: 2 });
    await full(many(1));
  });

  test('a tick of a schedule waits for capacity, and a trigger is refused', async () => {
    await at.configure(queue, { max_ready: 1, ...AT_HOME });
    await at.enqueue({ queue, payload: 'first' });
    const name = at.newQueue('schedule');
    await at.ok('PUT', `/schedules/${name}`, { cron: '* * * * * *', job: { queue, payload: 'tick' } });
    expectProblem(await service.call('POST', `/schedules/${name}/trigger`), 429, 'queue_full');
    const told = () => service.errors.map(String).join();
    await eventually(async () => expect(told()).toContain(`Queue ${queue} is full`));
    expect((await at.claimOne(queue)).payload).toBe('first');
    expect((await at.claim(queue, { wait_seconds: 20 }))[0].payload).toBe('tick');
    await at.ok('DELETE', `/schedules/${name}`);
  });

  test('a queue of 100,000 jobs takes exactly as many more as it has capacity for', async () => {
    await at.configure(queue, { max_ready: 100_000 });
    await sql(
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
       select q.id, gen_random_uuid(), 'ready', now(), 1, 1, 0, '{}', '1'
       from dibs.queues q cross join generate_series(1, 99990) where q.name = $1`,
      queue,
    );
    await at.enqueueAll(many(9));
    await full(many(2));
    await at.enqueue({ queue });
    await full(many(1));
  });
});

describe('how these tests count', () => {
  test('leases that run at once are counted', () => {
    const lease = (start: number, until: number) => ({ start, until });
    expect(mostAtOnce([lease(0, 100), lease(100, 200), lease(200, 300)])).toBe(1);
    expect(mostAtOnce([lease(0, 100), lease(80, 200), lease(150, 300), lease(90, 160)])).toBe(3);
  });

  test('leases that begin within a window are counted', () => {
    const starts = [0, 300, 900, 1000, 1200, 2500].map((start) => ({ start }));
    expect(mostInWindow(starts, 1)).toBe(4);
    expect(mostInWindow(starts, 0.9)).toBe(3);
    expect(mostInWindow(starts, 0.15)).toBe(2);
  });
});
