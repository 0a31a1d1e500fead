import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { planned } from '../../src/postgres/statements.ts';
import { mostAtOnce, mostInWindow } from '../support/limits.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

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

const many = (count: number, more: object = {}) => Array.from({ length: count }, () => ({ queue, ...more }));

describe('configuration', () => {
  test('a queue shows the limits that were put, and none where none was', async () => {
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

  test('limits have limits on both sides', async () => {
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

  test('of a queue that is deleted nothing is kept', async () => {
    await at.configure(queue, { max_leased: 1, rate_limit: { jobs: 5, per_seconds: 60 } });
    await at.enqueue({ queue });
    await at.settle('ack', await at.claimOne(queue));
    const kept = async () =>
      (
        await service.db.query({
          text: 'select queue_id from dibs.gates union all select queue_id from dibs.claimed',
        })
      ).length;
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

  test.each(['ack', 'nack', 'release'] as const)('a lease that ends by %s makes room', async (verb) => {
    await at.configure(queue, { max_leased: 1 });
    await at.enqueueAll(many(2));
    const job = await at.claimOne(queue);
    expect(await at.claim(queue)).toEqual([]);
    await at.settle(verb, job, verb === 'ack' ? {} : { delay_seconds: 1000 });
    await at.claimOne(queue);
  });

  test.each(['ack', 'nack', 'release'] as const)(
    'a claim that waits for max_leased is served as soon as another ends by %s',
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

  test('a lease that ran out counts until it is revived', async () => {
    await at.configure(queue, { max_leased: 1 });
    await at.enqueue({ queue, max_attempts: 1 });
    const job = await at.claimOne(queue, { lease_seconds: 0.1 });
    const next = await at.enqueue({ queue });
    const [served] = await at.claim(queue, { wait_seconds: 20 });
    expect(served.id).toBe(next.id);
    expect((await at.get(job.id)).state).toBe('dead');
  });

  test('leases that run already count when max_leased is set, also those without a limit before', async () => {
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

  test('a raised or removed limit is seen by those who wait', async () => {
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

  test('an extended lease goes on counting, a retained one that is completed does not', async () => {
    await at.configure(queue, { max_leased: 1, retention_seconds: 100 });
    await at.enqueueAll(many(2));
    const job = await at.claimOne(queue, { lease_seconds: 0.3 });
    await at.settle('extend', job, { lease_seconds: 100 });
    await sleep(600);
    expect(await at.claim(queue)).toEqual([]);
    await at.settle('ack', job);
    await at.claimOne(queue);
  });

  test('a full queue holds up no other one that the same claim names', async () => {
    const other = at.newQueue();
    await at.configure(queue, { max_leased: 1 });
    await at.enqueueAll([...many(2), { queue: other }]);
    expect((await at.claim([queue, other], { limit: 3 })).map((job) => job.queue)).toEqual([queue, other]);
  });

  test('leases are still found when what is read of them was narrowed down', async () => {
    await at.configure(queue, { max_leased: 2 });
    await at.enqueueAll(many(3));
    await at.claim(queue, { limit: 2, lease_seconds: 1000 });
    const { db } = service;
    const ago = `update dibs.gates set counting_since = '-infinity', tidied_at = '-infinity'`;
    await db.query({ text: ago });
    expect(await at.claim(queue)).toEqual([]);
    const [gate] = await db.query<{ narrowed: boolean }>(
      {
        text: `select leases_from > now() - interval '1 minute' as narrowed from dibs.gates g
        join dibs.queues q on q.id = g.queue_id where q.name = $1`,
      },
      [queue],
    );
    expect(gate?.narrowed).toBe(true);
    expect(await at.claim(queue)).toEqual([]);
  });
});

describe('with fairness keys', () => {
  const keyed = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ queue, fairness_key: i % 3 ? 'many' : 'few', payload: i }));

  test('no more jobs are leased at once than max_leased', async () => {
    await at.configure(queue, { max_leased: 3 });
    await at.enqueueAll([...keyed(9), ...many(2)]);
    expect(await at.claim(queue, { limit: 2 })).toHaveLength(2);
    const rest = await at.claim(queue, { limit: 5 });
    expect(rest).toHaveLength(1);
    expect(await at.claim(queue, { limit: 5 })).toEqual([]);
    const waiting = at.claim(queue, { limit: 5, wait_seconds: 20 });
    await sleep(50);
    await at.settle('ack', rest[0]);
    expect(await waiting).toHaveLength(1);
  });

  test('no more jobs are claimed in a window than the rate allows, and keys take turns', async () => {
    await at.configure(queue, { rate_limit: { jobs: 4, per_seconds: 1000 } });
    await at.enqueueAll(keyed(9));
    const jobs = [await at.claim(queue, { limit: 3 }), await at.claim(queue, { limit: 3 })].flat();
    expect(jobs.map((job) => job.fairness_key)).toEqual(['few', 'many', 'few', 'many']);
    expect(await at.claim(queue)).toEqual([]);
  });

  test('a replica that has not heard of the limit yet gets nothing', async () => {
    const other = await startService({ databaseUrl: service.databaseUrl });
    const claims = async () =>
      (await other.call('POST', '/jobs/claim', { queues: [queue], limit: 5 })).body.jobs;
    for (const jobs of [keyed(20), many(20)]) {
      queue = at.newQueue();
      await at.enqueueAll(jobs.map((job) => ({ ...job, queue })));
      expect(await claims()).toHaveLength(5);
      await at.configure(queue, { max_leased: 5 });
      expect(await claims()).toEqual([]);
    }
    await other.stop();
  });

  test('they take room like others', async () => {
    await at.configure(queue, { max_ready: 5 });
    await at.enqueueAll([...keyed(3), ...many(2)]);
    expectProblem(await service.call('POST', '/jobs', { queue }), 429, 'queue_full');
  });
});

describe('rate_limit', () => {
  test('no more jobs are claimed in a window than the rate allows', async () => {
    await at.configure(queue, { rate_limit: { jobs: 3, per_seconds: 1000 } });
    await at.enqueueAll(many(10));
    const jobs = await at.claim(queue, { limit: 2 });
    jobs.push(...(await at.claim(queue, { limit: 2 })));
    expect(jobs).toHaveLength(3);
    for (const job of jobs) await at.settle('release', job);
    expect(await at.claim(queue)).toEqual([]);
  });

  test('a claim that waits for the rate is served when the window lets it, and never too early', async () => {
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

  test('a log of the rate is kept short, and forgotten', async () => {
    await at.configure(queue, { rate_limit: { jobs: 1_000_000, per_seconds: 1000 } });
    await at.enqueueAll(many(30));
    for (let i = 0; i < 30; i++) await at.claimOne(queue);
    const rows = async () =>
      await service.db.query<{ jobs: number }>(
        {
          text: `select jobs from dibs.claimed c join dibs.queues q on q.id = c.queue_id where q.name = $1`,
        },
        [queue],
      );
    // A slot is 2 s.
    expect((await rows()).length).toBeLessThan(15);
    expect((await rows()).reduce((sum, row) => sum + row.jobs, 0)).toBe(30);
    await at.configure(queue, { rate_limit: { jobs: 1_000_000, per_seconds: 0.1 } });
    await eventually(async () => {
      await service.db.query({ text: `update dibs.gates set tidied_at = '-infinity'` });
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
    // A delayed job has to wait for room, too.
    await full(many(1, { delay_seconds: 100 }));
    const other = at.newQueue();
    await full([{ queue: other }, ...many(1)]);
    expect((await at.ok('GET', `/queues/${queue}`)).counts).toMatchObject({ ready: 3, scheduled: 0 });
    expect((await at.ok('GET', `/queues/${other}`)).counts).toMatchObject({ ready: 0 });
  });

  test('what is leased, scheduled or finished takes no room', async () => {
    await at.configure(queue, { max_ready: 3 });
    await at.enqueueAll(many(3));
    const jobs = await at.claim(queue, { limit: 3 });
    await at.settle('nack', jobs[0], { retry: false });
    await at.enqueueAll(many(50, { delay_seconds: 100 }));
    await at.enqueueAll(many(3));
    await full(many(1));
  });

  test('a claim makes room, and so does a raised limit', async () => {
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

  test('of many enqueues at once exactly as many get in as there is room for', async () => {
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

  test('a request with an Idempotency-Key is refused like any other, and may be repeated', async () => {
    await at.configure(queue, { max_ready: 1 });
    const send = (key: string) => service.call('POST', '/jobs', { queue }, { 'idempotency-key': key });
    const first = await send('a');
    expect(first.status).toBe(201);
    expectProblem(await send('b'), 429, 'queue_full');
    expect((await send('a')).text).toBe(first.text);
    await at.claimOne(queue);
    await eventually(async () => expect((await send('b')).status).toBe(201));
  });

  test('jobs that follow from an ack need room, without which it is refused whole', async () => {
    const next = at.newQueue();
    await at.configure(next, { max_ready: 1 });
    await at.enqueueAll([{ queue }, { queue: next }]);
    const job = await at.claimOne(queue);
    const ack = () => at.settle('ack', job, { enqueue: [{ queue: next }] });
    expectProblem(await ack(), 429, 'queue_full');
    expect((await at.get(job.id)).state).toBe('leased');
    await at.claimOne(next);
    await eventually(async () => expect((await ack()).status).toBe(200));
  });

  test('a group that waits takes room', async () => {
    await at.configure(queue, { max_ready: 3 });
    await at.enqueueAll(many(3, { group: 'g' }));
    expect((await at.ok('GET', `/queues/${queue}`)).counts).toMatchObject({ ready: 1, blocked: 2 });
    await full(many(1));
  });

  test('a tick of a schedule waits for room, and its trigger is refused', async () => {
    await at.configure(queue, { max_ready: 1 });
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

  test('a queue of 100,000 jobs takes exactly as many more as it has room for', async () => {
    await at.configure(queue, { max_ready: 100_000 });
    await service.db.query(
      {
        text: `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
          select q.id, gen_random_uuid(), 'ready', now(), 1, 1, 0, '{}', '1'
          from dibs.queues q cross join generate_series(1, 99990) where q.name = $1`,
      },
      [queue],
    );
    await at.enqueueAll(many(9));
    await full(many(2));
    await at.enqueue({ queue });
    await full(many(1));
  });
});

test('claim_limited.sql leases as claim.sql does', () => {
  const statement = (name: string) => planned(name).text.replaceAll(/^--.*\n/gm, '');
  const plain = statement('claim/plain')
    .replace(' and max_leased is null and rate_jobs is null', '')
    .replaceAll('limit (select $2::integer)', 'limit (select greatest(coalesce(max(jobs), 0), 0) from room)')
    .replace('set\n', 'set\n  counted = (select counted from room),\n')
    .replace(/^with /, '');
  const limited = statement('claim/limited')
    .replace(/^with room as materialized \([\s\S]*?\n\),\n/, '')
    .replace(/,\nlogged as \([\s\S]*?\n\)\n/, '\n');
  expect(limited).toBe(plain);
});

describe('what the tests go by', () => {
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
