import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Answer, type Service, startService } from '../support/service.ts';
import { onAll, onQueue } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const post = (job: object, headers: Record<string, string> = {}) =>
  service.call('POST', '/jobs', job, headers);

const jobsIn = async (queue: string) => (await at.ok('GET', `/jobs?queue=${queue}`)).jobs;

const sql = (text: string, values: unknown[] = []) => onAll(service.databaseUrl, text, values);

/** Fails unless an enqueue was answered with the job that has its key. */
function expectDeduplicated(answer: Answer, first: { id: string }): void {
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body).toMatchObject({ id: first.id, deduplicated: true });
}

/** Claims the next job and makes it dead. */
async function kill(queue: string): Promise<void> {
  await at.settle('nack', await at.claimOne(queue), { retry: false, error: 'killed' });
}

test('an enqueue with the unique key of an unfinished job answers 200 with that job, and inserts nothing', async () => {
  const queue = at.newQueue();
  const first = await post({ queue, unique_key: 'k', payload: 1, priority: 3, headers: { a: 'ä' } });
  expect(first.status).toBe(201);
  expect(first.body).toMatchObject({ unique_key: 'k', state: 'ready' });
  expect(first.body).not.toHaveProperty('deduplicated');
  const second = await post({ queue, unique_key: 'k', payload: 2, priority: 9 });
  expectDeduplicated(second, first.body);
  expect(second.headers.location).toBe(`/jobs/${first.body.id}`);
  expect(second.body).toEqual({ ...first.body, deduplicated: true });
  expect(await at.drain(queue)).toEqual([1]);
});

test('a duplicate is answered with the first job as it is now', async () => {
  const queue = at.newQueue();
  const job = { queue, unique_key: 'k', delay_seconds: 3600 };
  const first = (await post(job)).body;
  expect((await post(job)).body.state).toBe('scheduled');
  await at.ok('POST', `/jobs/${first.id}/retry`);
  expect((await post(job)).body.state).toBe('ready');
  const leased = await at.claimOne(queue, { worker: 'w' });
  const answer = await post(job);
  expectDeduplicated(answer, first);
  expect(answer.body).toMatchObject({ state: 'leased', worker: 'w', attempt: 1, deliveries: 1 });
  expect(answer.text).not.toContain(leased.lease_token);
  await at.settle('nack', leased, { delay_seconds: 3600, error: 'later' });
  expect((await post(job)).body).toMatchObject({ state: 'scheduled', last_error: 'later' });
});

test('a unique key holds in its own queue, and only if all characters are equal', async () => {
  const [queue, other] = [at.newQueue(), at.newQueue()];
  for (const unique_key of ['k', 'K', 'k ', 'é', 'e\u0301', '\ud83d\ude00', '%', '\\', "'", '{"a"}'])
    for (const name of [queue, other]) {
      const first = await post({ queue: name, unique_key });
      expect(first.status).toBe(201);
      expectDeduplicated(await post({ queue: name, unique_key }), first.body);
    }
  expect(await jobsIn(queue)).toHaveLength(10);
});

test('half of a surrogate pair in a key or a name is refused, never changed: two keys would become one', async () => {
  const queue = at.newQueue();
  for (const half of ['\ud83d', '\ude00', 'a\ud83db', '\ude00\ud83d'])
    for (const field of ['unique_key', 'group', 'fairness_key'])
      expectProblem(await post({ queue, [field]: half }), 400, 'invalid_request', `/${field}`);
  const jobs = [{ queue }, { queue, group: '\udc00' }];
  expectProblem(await service.call('POST', '/jobs/batch', { jobs }), 400, 'invalid_request', '/jobs/1/group');
  const batch = { queue, name: '\ud83d' };
  expectProblem(await service.call('POST', '/batches', batch), 400, 'invalid_request', '/name');
  expectProblem(await service.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
});

test('a unique key has 1 to 256 characters without NUL, and unique_for_seconds needs a key and is 366 days at most', async () => {
  const queue = at.newQueue();
  for (const unique_key of ['', 'x'.repeat(257), 'a\0b', 1, null])
    expectProblem(await post({ queue, unique_key }), 400, 'invalid_request', '/unique_key');
  for (const unique_for_seconds of [-1, 366 * 86_400 + 1, '1', null])
    expectProblem(
      await post({ queue, unique_key: 'k', unique_for_seconds }),
      400,
      'invalid_request',
      '/unique_for_seconds',
    );
  expectProblem(await post({ queue, unique_for_seconds: 1 }), 400, 'invalid_request', '/unique_for_seconds');
  const jobs = [{ queue }, { queue, unique_for_seconds: 1 }];
  const batch = await service.call('POST', '/jobs/batch', { jobs });
  expectProblem(batch, 400, 'invalid_request', '/jobs/1/unique_for_seconds');
  expectProblem(await service.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
  expect((await post({ queue, unique_key: 'x'.repeat(256), unique_for_seconds: 366 * 86_400 })).status).toBe(
    201,
  );
  expect((await post({ queue, unique_key: '😀'.repeat(256) })).status).toBe(201);
});

describe('a key is free again when its job is finished:', () => {
  const ends: Record<string, (queue: string, id: string) => Promise<unknown>> = {
    'by an ack': async (queue) => at.settle('ack', await at.claimOne(queue)),
    'by a nack without a retry': (queue) => kill(queue),
    'by a cancel': (_, id) => at.ok('DELETE', `/jobs/${id}`),
    'by a cancel of a leased job, then a release': async (queue, id) => {
      const job = await at.claimOne(queue);
      await at.ok('DELETE', `/jobs/${id}`);
      expectDeduplicated(await post({ queue, unique_key: 'k' }), { id });
      await at.settle('release', job);
    },
    'by a purge': (queue) => at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] }),
    'by the end of its last lease': async (queue, id) => {
      await at.claimOne(queue, { lease_seconds: 0.1 });
      await at.reaches(id, 'dead');
    },
  };
  for (const [how, end] of Object.entries(ends))
    test.each([0, 3600])(`${how}, in a queue with a retention of %i s`, async (retention_seconds) => {
      const queue = at.newQueue();
      await at.configure(queue, { max_attempts: 1, retention_seconds });
      const first = await at.enqueue({ queue, unique_key: 'k' });
      expectDeduplicated(await post({ queue, unique_key: 'k' }), first);
      await end(queue, first.id);
      const next = await post({ queue, unique_key: 'k' });
      expect(next.status).toBe(201);
      expect(next.body.id).not.toBe(first.id);
    });

  test('but not when it is released, rescued, or fails with attempts left', async () => {
    const queue = at.newQueue();
    const first = await at.enqueue({ queue, unique_key: 'k' });
    await at.settle('release', await at.claimOne(queue));
    expectDeduplicated(await post({ queue, unique_key: 'k' }), first);
    await at.settle('nack', await at.claimOne(queue), { delay_seconds: 0 });
    expectDeduplicated(await post({ queue, unique_key: 'k' }), first);
    await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(first.id, 'ready');
    expectDeduplicated(await post({ queue, unique_key: 'k' }), first);
  });
});

describe('in batches', () => {
  const batch = (jobs: object[]) => service.call('POST', '/jobs/batch', { jobs });

  test('each duplicate is answered at its place, and the other jobs keep their order', async () => {
    const queue = at.newQueue();
    const first = await at.enqueue({ queue, unique_key: 'm', payload: 'first' });
    const keys = ['z', undefined, 'm', 'a', undefined, 'k'];
    const answer = await batch(keys.map((unique_key, payload) => ({ queue, payload, unique_key })));
    expect(answer.status).toBe(201);
    const { jobs } = answer.body;
    expect(jobs.map((job: { unique_key: string }) => job.unique_key)).toEqual([
      'z',
      null,
      'm',
      'a',
      null,
      'k',
    ]);
    expect(jobs.map((job: { deduplicated?: boolean }) => job.deduplicated)).toEqual([
      undefined,
      undefined,
      true,
      undefined,
      undefined,
      undefined,
    ]);
    expect(jobs[2].id).toBe(first.id);
    expect(await at.drain(queue)).toEqual(['first', 0, 1, 3, 4, 5]);
  });

  test('the second job with a key of the same batch names the first', async () => {
    const queue = at.newQueue();
    const answer = await batch([
      { queue, unique_key: 'k', payload: 1, priority: 1 },
      { queue, unique_key: 'k', payload: 2, priority: 2 },
      { queue, payload: 3 },
      { queue, unique_key: 'k', payload: 4 },
    ]);
    const { jobs } = answer.body;
    expect(jobs[0]).not.toHaveProperty('deduplicated');
    for (const again of [jobs[1], jobs[3]]) expect(again).toEqual({ ...jobs[0], deduplicated: true });
    expect(await at.drain(queue)).toEqual([1, 3]);
  });

  test('keys work for 1000 jobs over several queues', async () => {
    // In a batch, keys stand in one database: that of queues whose names begin alike.
    const queue = at.newQueue();
    const queues = [`${queue}.a`, `${queue}.b`];
    const jobs = Array.from({ length: 1000 }, (_, i) => ({
      queue: queues[i % 2],
      payload: i,
      unique_key: `k${i % 800}`,
      unique_for_seconds: 60,
    }));
    const { body } = await batch(jobs);
    const inserted = body.jobs.filter((job: { deduplicated?: boolean }) => !job.deduplicated);
    expect(inserted).toHaveLength(800);
    for (const [i, job] of body.jobs.entries())
      expect(job).toMatchObject({ queue: queues[i % 2], unique_key: `k${i % 800}` });
    for (const [i, job] of body.jobs.slice(800).entries()) expect(job.id).toBe(body.jobs[i].id);
    for (const [n, queue] of queues.entries())
      expect(await at.drain(queue)).toEqual(Array.from({ length: 400 }, (_, i) => 2 * i + n));
    const again = await batch(jobs);
    expect(again.body.jobs.map((job: { id: string }) => job.id)).toEqual(
      body.jobs.map((job: { id: string }) => job.id),
    );
  });

  test('a key whose job has ended in its window is a duplicate beside new keys', async () => {
    const queue = at.newQueue();
    const first = await at.enqueue({ queue, unique_key: 'window', unique_for_seconds: 600 });
    await at.settle('ack', await at.claimOne(queue));
    const jobs = ['new', 'window', 'other'].map((unique_key) => ({ queue, unique_key }));
    const answered = await at.enqueueAll(jobs);
    expect(answered.map(({ deduplicated }) => deduplicated ?? false)).toEqual([false, true, false]);
    expect(answered[1]).toMatchObject({ id: first.id, state: 'completed' });
    expect((await at.claim(queue, { limit: 10 })).map(({ unique_key }) => unique_key)).toEqual([
      'new',
      'other',
    ]);
    const again = await at.enqueueAll(jobs);
    expect(again.map(({ id, deduplicated }) => [id, deduplicated])).toEqual(
      answered.map(({ id }) => [id, true]),
    );
  });

  test('a batch that is refused takes no key', async () => {
    const queue = at.newQueue();
    expectProblem(
      await batch([
        { queue, unique_key: 'k' },
        { queue, priority: 101 },
      ]),
      400,
      'invalid_request',
    );
    expect((await post({ queue, unique_key: 'k' })).status).toBe(201);
  });
});

describe('with unique_for_seconds the key stays taken that long after the enqueue', () => {
  test('even when the job is gone: a duplicate shows the job as it was enqueued, but completed', async () => {
    const queue = at.newQueue();
    const job = {
      queue,
      unique_key: 'k',
      unique_for_seconds: 600,
      headers: { b: '1', a: '2' },
      priority: 7,
      max_attempts: 3,
    };
    const first = (await post(job)).body;
    await at.settle('ack', await at.claimOne(queue));
    const answer = await post({ queue, unique_key: 'k', unique_for_seconds: 1 });
    expectDeduplicated(answer, first);
    expect(answer.body).toEqual({ ...first, state: 'completed', deduplicated: true });
    expect(answer.text).toContain('"headers":{"b":"1","a":"2"}');
    expect(await jobsIn(queue)).toEqual([]);
  });

  test('also with headers that only a JSON text can hold', async () => {
    const queue = at.newQueue();
    const body = `{"queue":"${queue}","unique_key":"k","unique_for_seconds":600,"headers":{"a":"\\ud83d"}}`;
    const first = await service.call('POST', '/jobs', body);
    expect(first.status).toBe(201);
    await at.settle('ack', await at.claimOne(queue));
    const again = await service.call('POST', '/jobs', body);
    expectDeduplicated(again, first.body);
    expect(again.text).toContain('"headers":{"a":"\\ud83d"}');
  });

  test('and a duplicate of a finished job that is kept shows that job', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { retention_seconds: 3600 });
    const first = (await post({ queue, unique_key: 'k', unique_for_seconds: 600 })).body;
    await at.settle('ack', await at.claimOne(queue), { result: { n: 1 } });
    const answer = await post({ queue, unique_key: 'k' });
    expectDeduplicated(answer, first);
    expect(answer.body).toMatchObject({ state: 'completed', result: { n: 1 }, deliveries: 1 });
  });

  test('and is free when that time is over and the job is finished, not before', async () => {
    const queue = at.newQueue();
    const job = { queue, unique_key: 'k', unique_for_seconds: 600 };
    const first = (await post(job)).body;
    const over = () =>
      sql(`update dibs.unique_windows set until = now() where unique_key = 'k' and job_id = $1`, [first.id]);
    await over();
    expectDeduplicated(await post(job), first);
    await at.settle('ack', await at.claimOne(queue));
    const second = await post(job);
    expect(second.status).toBe(201);
    await at.settle('ack', await at.claimOne(queue));
    expectDeduplicated(await post(job), second.body);
  });

  test('and a duplicate does not make the time longer', async () => {
    const queue = at.newQueue();
    const first = (await post({ queue, unique_key: 'k' })).body;
    expectDeduplicated(await post({ queue, unique_key: 'k', unique_for_seconds: 600 }), first);
    await at.settle('ack', await at.claimOne(queue));
    expect((await post({ queue, unique_key: 'k' })).status).toBe(201);
  });

  test('and its window is pruned when it is over, or when its queue is deleted', async () => {
    const queue = at.newQueue();
    const windows = async () =>
      (await sql('select unique_key from dibs.unique_windows order by 1')).map((row) => row.unique_key);
    await sql('delete from dibs.unique_windows');
    await at.enqueue({ queue, unique_key: 'short', unique_for_seconds: 0.05 });
    await at.enqueue({ queue, unique_key: 'long', unique_for_seconds: 3600 });
    await eventually(async () => expect(await windows()).toEqual(['long']));
    await at.ok('DELETE', `/queues/${queue}?force=true`);
    expect(await windows()).toEqual([]);
    expect((await post({ queue, unique_key: 'long' })).status).toBe(201);
  });
});

describe('a duplicate tells how the first really ended, also when it is long gone:', () => {
  const ends: [string, string, object, (queue: string, id: string) => Promise<unknown>][] = [
    ['acked', 'completed', {}, async (queue) => at.settle('ack', await at.claimOne(queue))],
    ['cancelled', 'cancelled', {}, (_, id) => at.ok('DELETE', `/jobs/${id}`)],
    [
      'cancelled while it was leased',
      'cancelled',
      {},
      async (queue, id) => {
        const job = await at.claimOne(queue);
        await at.ok('DELETE', `/jobs/${id}`);
        await at.settle('nack', job);
      },
    ],
    [
      'acked though it was to be cancelled',
      'completed',
      {},
      async (queue, id) => {
        const job = await at.claimOne(queue);
        await at.ok('DELETE', `/jobs/${id}`);
        await at.settle('ack', job);
      },
    ],
    ['dead and pruned', 'dead', { dead_retention_seconds: 0 }, (queue) => kill(queue)],
    [
      'dead and purged',
      'dead',
      {},
      async (queue) => {
        await kill(queue);
        await at.ok('POST', `/queues/${queue}/purge`, { states: ['dead'] });
      },
    ],
    [
      'kept as completed, then pruned',
      'completed',
      { retention_seconds: 0.1 },
      async (queue) => at.settle('ack', await at.claimOne(queue)),
    ],
    [
      'kept as cancelled, then pruned',
      'cancelled',
      { retention_seconds: 0.1 },
      (_, id) => at.ok('DELETE', `/jobs/${id}`),
    ],
    [
      'purged while it was ready',
      'cancelled',
      {},
      (queue) => at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] }),
    ],
    [
      'expired and pruned',
      'dead',
      { dead_retention_seconds: 0 },
      (_, id) => sql('update dibs.jobs set expires_at = now() where id = $1', [id]),
    ],
    [
      'out of leases and pruned',
      'dead',
      { max_attempts: 1, dead_retention_seconds: 0 },
      (queue) => at.claimOne(queue, { lease_seconds: 0.1 }),
    ],
    [
      'acked late, though it was dead',
      'completed',
      { max_attempts: 1 },
      async (queue, id) => {
        const job = await at.claimOne(queue, { lease_seconds: 0.1 });
        await at.reaches(id, 'dead');
        await at.settle('ack', job);
      },
    ],
  ];
  test.each(ends)('%s', async (_, state, config, end) => {
    const queue = at.newQueue();
    await at.configure(queue, config);
    for (const more of [{}, { fairness_key: 'f' }]) {
      const job = { queue, unique_key: `k ${JSON.stringify(more)}`, unique_for_seconds: 600, ...more };
      const first = (await post(job)).body;
      await end(queue, first.id);
      await eventually(async () => expect(await jobsIn(queue)).toEqual([]));
      const answer = await post(job);
      expectDeduplicated(answer, first);
      expect(answer.body).toEqual({ ...first, state, max_attempts: first.max_attempts, deduplicated: true });
    }
  });

  test('and the next job of the key does not inherit that end', async () => {
    const queue = at.newQueue();
    const job = { queue, unique_key: 'k', unique_for_seconds: 600 };
    const first = (await post(job)).body;
    await at.ok('DELETE', `/jobs/${first.id}`);
    expect((await post(job)).body).toMatchObject({ id: first.id, state: 'cancelled' });
    await sql(`update dibs.unique_windows set until = now() where job_id = $1`, [first.id]);
    const second = (await post(job)).body;
    expect(second.id).not.toBe(first.id);
    await at.settle('ack', await at.claimOne(queue));
    expect((await post(job)).body).toMatchObject({ id: second.id, state: 'completed' });
  });
});

describe('a duplicate needs no capacity: on a full queue', () => {
  async function full(): Promise<{ queue: string; first: { id: string } }> {
    const queue = at.newQueue();
    await at.configure(queue, { max_ready: 1 });
    const first = await at.enqueue({ queue, unique_key: 'k' });
    expectProblem(await post({ queue }), 429, 'queue_full');
    expectProblem(await post({ queue, unique_key: 'other' }), 429, 'queue_full');
    return { queue, first };
  }

  test('it is 200, and all else is 429', async () => {
    const { queue, first } = await full();
    for (let i = 0; i < 3; i++) expectDeduplicated(await post({ queue, unique_key: 'k' }), first);
    expectDeduplicated(await post({ queue, unique_key: 'k', delay_seconds: 60 }), first);
    const headers = { 'idempotency-key': queue };
    expectDeduplicated(await post({ queue, unique_key: 'k' }, headers), first);
    expectProblem(await post({ queue, unique_key: 'other' }), 429, 'queue_full');
    expect(await jobsIn(queue)).toHaveLength(1);
  });

  test('a batch of duplicates is 201, and one job more in it is 429', async () => {
    const { queue, first } = await full();
    const batch = (jobs: object[]) => service.call('POST', '/jobs/batch', { jobs });
    const again = { queue, unique_key: 'k' };
    const { status, body } = await batch([again, again]);
    expect(status).toBe(201);
    expect(body.jobs.map((job: { id: string }) => job.id)).toEqual([first.id, first.id]);
    expectProblem(await batch([again, { queue, unique_key: 'other' }]), 429, 'queue_full');
    expectProblem(await batch([again, { queue }]), 429, 'queue_full');
    const elsewhere = at.newQueue();
    expect((await batch([again, { queue: elsewhere }])).status).toBe(201);
    expect(await jobsIn(queue)).toHaveLength(1);
  });

  test('the second job of a key in one batch takes no place', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_ready: 2 });
    const jobs = ['a', 'a', 'b', 'a'].map((unique_key) => ({ queue, unique_key }));
    expect((await service.call('POST', '/jobs/batch', { jobs })).status).toBe(201);
    expect(await jobsIn(queue)).toHaveLength(2);
  });

  test('a duplicate of a job that is gone, within its window', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_ready: 1 });
    const first = await at.enqueue({ queue, unique_key: 'k', unique_for_seconds: 600 });
    await at.settle('ack', await at.claimOne(queue));
    await at.enqueue({ queue });
    expectProblem(await post({ queue }), 429, 'queue_full');
    expectDeduplicated(await post({ queue, unique_key: 'k' }), first);
  });

  test('by SQL', async () => {
    const { queue, first } = await full();
    const enqueue = (key: string | null) =>
      onQueue(service.databaseUrl, queue, 'select dibs.enqueue($1, unique_key => $2) as id', [queue, key]);
    expect(await enqueue('k')).toEqual([{ id: first.id }]);
    for (const key of ['other', null]) await expect(enqueue(key)).rejects.toMatchObject({ code: '53400' });
  });
});

describe('with an Idempotency-Key', () => {
  test('a deduplicated request gets the same answer again, even when the key is free', async () => {
    const queue = at.newQueue();
    const first = (await post({ queue, unique_key: 'k' })).body;
    const headers = { 'idempotency-key': 'again' };
    const answer = await post({ queue, unique_key: 'k' }, headers);
    expectDeduplicated(answer, first);
    await at.settle('ack', await at.claimOne(queue));
    const again = await post({ queue, unique_key: 'k' }, headers);
    expect({ status: again.status, text: again.text, location: again.headers.location }).toEqual({
      status: 200,
      text: answer.text,
      location: `/jobs/${first.id}`,
    });
    expect(await jobsIn(queue)).toEqual([]);
  });

  test('a request that took the key is answered 201 again', async () => {
    const queue = at.newQueue();
    const headers = { 'idempotency-key': 'first' };
    const first = await post({ queue, unique_key: 'k' }, headers);
    expect(first.status).toBe(201);
    expect((await post({ queue, unique_key: 'k' }, headers)).text).toBe(first.text);
    expectDeduplicated(await post({ queue, unique_key: 'k' }), first.body);
  });
});

describe('schedules', () => {
  const put = (name: string, job: object, cron = '0 0 1 1 *') =>
    service.call('PUT', `/schedules/${name}`, { cron, job });

  test('a trigger answers 200 with the job that has the key', async () => {
    const queue = at.newQueue();
    await put('trigger', { queue, unique_key: 'k' });
    const first = await service.call('POST', '/schedules/trigger/trigger');
    expect(first.status).toBe(201);
    const second = await service.call('POST', '/schedules/trigger/trigger');
    expectDeduplicated(second, first.body);
    expect(second.headers.location).toBe(`/jobs/${first.body.id}`);
  });

  test('a tick whose job is deduplicated inserts nothing, and the schedule goes on', async () => {
    const queue = at.newQueue();
    await put('ticks', { queue, unique_key: 'k' }, '* * * * * *');
    const ticks = async (than: string | null) => {
      const { last_run_at } = await at.ok('GET', '/schedules/ticks');
      expect(last_run_at).not.toBe(than);
      return last_run_at;
    };
    const first = await eventually(() => ticks(null));
    await eventually(() => ticks(first));
    expect(await jobsIn(queue)).toHaveLength(1);
    const [job] = await jobsIn(queue);
    await at.settle('ack', await at.claimOne(queue));
    await eventually(async () => expect((await jobsIn(queue))[0].id).not.toBe(job.id));
    await at.ok('DELETE', '/schedules/ticks');
  });

  test('a window without a key is refused when the schedule is put', async () => {
    const answer = await put('refused', { unique_for_seconds: 1 });
    expectProblem(answer, 400, 'invalid_request', '/job/unique_for_seconds');
  });
});

describe('a finished job comes back only while its key is free:', () => {
  test('a retry of a dead job is 409 unique_key_taken while another job has its key', async () => {
    const queue = at.newQueue();
    const dead = await at.enqueue({ queue, unique_key: 'k' });
    await kill(queue);
    const other = await at.enqueue({ queue, unique_key: 'k' });
    expectProblem(await service.call('POST', `/jobs/${dead.id}/retry`), 409, 'unique_key_taken');
    expect((await at.get(dead.id)).state).toBe('dead');
    await at.ok('DELETE', `/jobs/${other.id}`);
    expect((await at.ok('POST', `/jobs/${dead.id}/retry`)).state).toBe('ready');
    expectDeduplicated(await post({ queue, unique_key: 'k' }), dead);
  });

  test('a redrive takes all jobs but those whose key another job has', async () => {
    const queue = at.newQueue();
    const dead = await at.enqueueAll([
      { queue, payload: 'taken', unique_key: 'a' },
      { queue, payload: 'free', unique_key: 'b' },
      { queue, payload: 'without' },
    ]);
    for (const _ of dead) await kill(queue);
    await at.enqueue({ queue, payload: 'holder', unique_key: 'a' });
    expect(await at.ok('POST', `/queues/${queue}/redrive`)).toEqual({ count: 2 });
    expect(await at.drain(queue)).toEqual(['holder', 'free', 'without']);
    expect((await at.get(dead[0].id)).state).toBe('dead');
  });

  test('a redrive takes only the oldest of the dead jobs with one key', async () => {
    const queue = at.newQueue();
    for (const payload of [1, 2, 3]) {
      await at.enqueue({ queue, payload, unique_key: 'k' });
      await kill(queue);
    }
    expect(await at.ok('POST', `/queues/${queue}/redrive`, { limit: 2 })).toEqual({ count: 1 });
    expect(await at.drain(queue)).toEqual([1]);
    expect(await at.ok('POST', `/queues/${queue}/redrive`)).toEqual({ count: 0 });
  });

  test.each([
    ['release', 'the job is ready, its attempt uncharged'],
    ['nack', 'the job stays dead, out of attempts'],
  ] as const)('a late %s of a job that the sweeper made dead counts: %s', async (verb, _) => {
    const queue = at.newQueue();
    await at.configure(queue, { max_attempts: 1 });
    const job = await at.enqueue({ queue, unique_key: 'k' });
    const lease = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(job.id, 'dead');
    const answer = await at.settle(verb, lease);
    expect(answer.status).toBe(200);
    expect(answer.body.state).toBe(verb === 'release' ? 'ready' : 'dead');
    expect((await post({ queue, unique_key: 'k' })).status).toBe(verb === 'release' ? 200 : 201);
    expectProblem(await at.settle(verb, lease), 409, 'lease_lost');
  });

  test('a late release of a job whose key was taken leaves it dead, and settles the others', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_attempts: 1 });
    const jobs = await at.enqueueAll([{ queue, unique_key: 'k' }, { queue }, { queue, unique_key: 'other' }]);
    const leases = await at.claim(queue, { limit: 3, lease_seconds: 0.1 });
    for (const job of jobs) await at.reaches(job.id, 'dead');
    const holder = await at.enqueue({ queue, unique_key: 'k' });
    const { releases } = await at.ok('POST', '/jobs/settle', {
      releases: leases.map(({ id, lease_token }: { id: string; lease_token: string }) => ({
        id,
        lease_token,
      })),
    });
    expect(releases.map(({ status, state }: Answer['body']) => [status, state])).toEqual([
      [200, 'dead'],
      [200, 'ready'],
      [200, 'ready'],
    ]);
    expect(await at.get(jobs[0].id)).toMatchObject({ state: 'dead', attempt: 1 });
    expectDeduplicated(await post({ queue, unique_key: 'k' }), holder);
  });
});

test('GET /jobs filters by unique_key, finished jobs included', async () => {
  const [queue, other] = [at.newQueue(), at.newQueue()];
  const first = await at.enqueue({ queue, unique_key: 'k k&' });
  await kill(queue);
  const second = await at.enqueue({ queue, unique_key: 'k k&' });
  await at.enqueue({ queue, unique_key: 'other' });
  const elsewhere = await at.enqueue({ queue: other, unique_key: 'k k&' });
  const ids = async (query: string) =>
    (await at.ok('GET', `/jobs?${query}`)).jobs.map((job: { id: string }) => job.id);
  const key = `unique_key=${encodeURIComponent('k k&')}`;
  expect(await ids(`queue=${queue}&${key}`)).toEqual([second.id, first.id]);
  expect(await ids(`queue=${queue}&${key}&order=oldest&state=dead`)).toEqual([first.id]);
  expect(await ids(key)).toEqual([elsewhere.id, second.id, first.id]);
  expect(await ids('unique_key=none')).toEqual([]);
  const page = await at.ok('GET', `/jobs?queue=${queue}&${key}&limit=1`);
  expect(await ids(`queue=${queue}&${key}&limit=1&cursor=${page.next_cursor}`)).toEqual([first.id]);
  const foreign = await service.call('GET', `/jobs?queue=${queue}&limit=1&cursor=${page.next_cursor}`);
  expectProblem(foreign, 400, 'invalid_request', '/cursor');
  expectProblem(await service.call('GET', '/jobs?unique_key='), 400, 'invalid_request', '/unique_key');
});

test('an enqueue without a unique key reads no keys, and needs no dibs.insert_unique', async () => {
  const queue = at.newQueue();
  await sql('alter table dibs.unique_windows rename to away');
  await sql('alter function dibs.insert_unique rename to away');
  try {
    expect((await post({ queue })).status).toBe(201);
    expect((await service.call('POST', '/jobs/batch', { jobs: [{ queue }, { queue }] })).status).toBe(201);
  } finally {
    await sql('alter table dibs.away rename to unique_windows');
    await sql('alter function dibs.away rename to insert_unique');
  }
});
