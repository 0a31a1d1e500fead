import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onQueue, PLACED } from '../support/severalDatabases.ts';

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

const look = (name = queue) => service.call('GET', `/queues/${name}`);
const NONE = { scheduled: 0, ready: 0, blocked: 0, leased: 0, completed: 0, cancelled: 0, dead: 0 };
const DEFAULTS = {
  lease_seconds: 30,
  max_attempts: 5,
  backoff: { kind: 'exponential', base_seconds: 1, max_seconds: 3600, jitter: 0.2 },
  retention_seconds: 0,
  dead_retention_seconds: 1_209_600,
  alert_after_seconds: 300,
  group_concurrency: 1,
  group_batches: 1,
};

describe('a queue exists', () => {
  test('from its first enqueue', async () => {
    expectProblem(await look(), 404, 'queue_not_found');
    await at.enqueue({ queue });
    expect((await look()).body).toEqual({
      name: queue,
      paused: false,
      config: DEFAULTS,
      counts: { ...NONE, ready: 1 },
      oldest_ready_age_seconds: expect.any(Number),
      created_at: expect.any(String),
      ...PLACED,
    });
  });

  test('from its first PUT or pause', async () => {
    await at.configure(queue, {});
    expect((await look()).body).toMatchObject({
      paused: false,
      counts: NONE,
      oldest_ready_age_seconds: null,
    });
    const other = at.newQueue();
    await at.ok('POST', `/queues/${other}/pause`);
    expect((await look(other)).body).toMatchObject({ paused: true, config: DEFAULTS });
  });

  test('not from a claim, a list, a resume, a purge, a redrive or a DELETE', async () => {
    expect(await at.claim(queue)).toEqual([]);
    expect(await at.claim([queue, 'default'], { wait_seconds: 0.2 })).toEqual([]);
    await at.ok('GET', `/jobs?queue=${queue}`);
    for (const [method, path, body] of [
      ['POST', '/resume'],
      ['POST', '/purge', { states: ['ready'] }],
      ['POST', '/redrive'],
      ['DELETE', ''],
      ['DELETE', '?force=true'],
      ['GET', ''],
    ] as const)
      expectProblem(await service.call(method, `/queues/${queue}${path}`, body), 404, 'queue_not_found');
  });

  test('under any name of the allowed characters', async () => {
    for (const name of ['a', '...', '-', ':', 'A.b_c:d-9', 'q'.repeat(128)]) {
      await at.configure(name, { max_attempts: 7 });
      expect((await look(encodeURIComponent(name))).body).toMatchObject({
        name,
        config: { max_attempts: 7 },
      });
    }
    for (const name of ['a%20b', 'a%2Fb', '%00', 'ü', '%C3%BC', 'q'.repeat(129), 'a%0A', '%2A']) {
      const answer = await look(name);
      expectProblem(answer, 400, 'invalid_request', '/queue');
      expect(answer.body.errors[0].in).toBe('path');
    }
  });
});

describe('GET /queues', () => {
  test('lists queues by name, in pages', async () => {
    const other = await startService();
    const names = ['b', 'a.2', 'B', 'a', 'a-1', 'a.10', '9', 'z:z'];
    for (const name of names) await other.call('PUT', `/queues/${name}`, {});
    const whole = (await other.call('GET', '/queues')).body;
    expect(whole.next_cursor).toBe(null);
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await other.call('GET', `/queues?limit=3${cursor}`);
      expect(body.queues.length).toBeLessThanOrEqual(3);
      found.push(...body.queues.map((q: { name: string }) => q.name));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(found).toEqual(whole.queues.map((q: { name: string }) => q.name));
    expect(found.toSorted()).toEqual(names.toSorted());
    expect(whole.queues[0]).toEqual((await other.call('GET', `/queues/${found[0]}`)).body);
    await other.stop();
  });

  test('counts the jobs of each queue by state, however many they are', async () => {
    const other = await startService();
    const there = moves(other);
    await there.configure('b.mixed', { retention_seconds: 1000 });
    await there.configure('c.empty', {});
    await there.enqueueAll([
      { queue: 'a.leased', priority: 3 },
      ...Array(4).fill({ queue: 'b.mixed' }),
      { queue: 'b.mixed', delay_seconds: 100 },
    ]);
    await there.claim('a.leased');
    const [done, dead] = await there.claim('b.mixed', { limit: 2 });
    await there.settle('ack', done);
    await there.settle('nack', dead, { retry: false });
    // More jobs than the first count of a queue reads, and more dead ones than ready ones.
    await there.configure('d.large', {});
    await onQueue(
      other.databaseUrl,
      'd.large',
      `insert into dibs.jobs (queue_id, id, state, run_at, finished_at, priority, max_attempts, payload_bytes, headers, payload)
        select queue.id, gen_random_uuid(), kind.state::dibs.job_state, now() - interval '1 h',
          case kind.state when 'dead' then now() end, n % 3, 5, 1, '{}', '1'
        from generate_series(1, 5000) as n
        cross join lateral (select case when n % 5 > 2 then 'ready' else 'dead' end as state) as kind
        join dibs.queues queue on queue.name = 'd.large'`,
    );
    const { queues } = (await other.call('GET', '/queues')).body;
    expect(queues.map((q: { name: string }) => q.name)).toEqual([
      'a.leased',
      'b.mixed',
      'c.empty',
      'd.large',
    ]);
    expect(queues.map((q: { counts: object }) => q.counts)).toEqual([
      { ...NONE, leased: 1 },
      { ...NONE, ready: 2, scheduled: 1, completed: 1, dead: 1 },
      NONE,
      { ...NONE, ready: 2000, dead: 3000 },
    ]);
    const ages = queues.map((q: { oldest_ready_age_seconds: number | null }) => q.oldest_ready_age_seconds);
    expect(ages).toEqual([null, expect.any(Number), null, expect.any(Number)]);
    expect(ages[3]).toBeGreaterThanOrEqual(3600);
    await other.stop();
  });

  test('is empty where there are no queues', async () => {
    const other = await startService();
    expect((await other.call('GET', '/queues')).body).toEqual({ queues: [], next_cursor: null });
    await other.stop();
  });

  test('refuses unknown values and cursors of other lists', async () => {
    await at.enqueueAll([{ queue: 'page.1' }, { queue: 'page.2' }]);
    const { next_cursor } = await at.ok('GET', '/queues?limit=1');
    const jobs = await at.ok('GET', '/jobs?limit=1');
    const forged = Buffer.from(next_cursor, 'base64url').toString().replace(/ .*/, ' \u0000');
    for (const cursor of ['', 'x', jobs.next_cursor, Buffer.from(forged).toString('base64url')])
      expectProblem(await service.call('GET', `/queues?cursor=${cursor}`), 400, 'invalid_request', '/cursor');
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'limit=1e999'])
      expectProblem(await service.call('GET', `/queues?${query}`), 400, 'invalid_request', '/limit');
    expectProblem(await service.call('GET', '/queues?name=x'), 400, 'invalid_request', '/name');
  });
});

describe('GET /queues/{queue}', () => {
  test('counts the jobs by state', async () => {
    await at.configure(queue, { retention_seconds: 1000 });
    await at.enqueueAll([...Array(8).fill({ queue }), { queue, delay_seconds: 100 }]);
    const [done, dead, back, gone] = await at.claim(queue, { limit: 5 });
    await at.settle('ack', done);
    await at.settle('nack', dead, { retry: false });
    await at.settle('release', back);
    await at.ok('DELETE', `/jobs/${gone.id}`);
    await at.settle('release', gone);
    const expected = { ...NONE, ready: 4, leased: 1, scheduled: 1, completed: 1, dead: 1, cancelled: 1 };
    expect((await look()).body.counts).toEqual(expected);
  });

  test('says how long the longest waiting ready job has been ready', async () => {
    await at.enqueueAll([
      { queue, priority: 5 },
      { queue, priority: -5 },
      { queue, delay_seconds: 1000 },
    ]);
    const backdate = (seconds: number, priority: number) =>
      onQueue(
        service.databaseUrl,
        queue,
        `update dibs.jobs set run_at = now() - interval '${seconds} s' where priority = ${priority}`,
      );
    await backdate(100, -5);
    const age = async () => (await look()).body.oldest_ready_age_seconds;
    expect(await age()).toBeGreaterThanOrEqual(100);
    await backdate(200, 5);
    expect(await age()).toBeGreaterThanOrEqual(200);
    expect(await age()).toBeLessThan(260);
    await at.claim(queue, { limit: 10 });
    expect(await age()).toBe(null);
  });
});

describe('a paused queue', () => {
  test('accepts jobs and gives none to claims, until it is resumed', async () => {
    await at.enqueue({ queue, payload: 1 });
    for (let i = 0; i < 2; i++) expect((await at.ok('POST', `/queues/${queue}/pause`)).paused).toBe(true);
    await at.enqueue({ queue, payload: 2 });
    expect(await at.claim(queue, { limit: 10, wait_seconds: 0.2 })).toEqual([]);
    expect((await look()).body).toMatchObject({ paused: true, counts: { ready: 2 } });
    for (let i = 0; i < 2; i++) expect((await at.ok('POST', `/queues/${queue}/resume`)).paused).toBe(false);
    expect(await at.drain(queue)).toEqual([1, 2]);
  });

  test('keeps its leases: they are settled and rescued as before', async () => {
    await at.enqueueAll([{ queue }, { queue }]);
    const [one, two] = await at.claim(queue, { limit: 2 });
    await at.ok('POST', `/queues/${queue}/pause`);
    expect((await at.settle('ack', one)).status).toBe(200);
    await at.settle('extend', two, { lease_seconds: 0.1 });
    await at.reaches(two.id, 'ready');
    expect(await at.claim(queue)).toEqual([]);
  });

  test('wakes waiting claims when it is resumed', async () => {
    await at.ok('POST', `/queues/${queue}/pause`);
    await at.enqueue({ queue, payload: 'now' });
    const waiting = at.claimOne(queue, { wait_seconds: 30 });
    await at.ok('POST', `/queues/${queue}/resume`);
    expect((await waiting).payload).toBe('now');
  });
});
