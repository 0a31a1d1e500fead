import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { openClient } from '../support/database.ts';
import { eventually, expectProblem, moves, UNKNOWN_ID, UNKNOWN_TOKEN } from '../support/moves.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService({ maxPayloadBytes: 1000 });
  at = moves(service);
  await at.configure('kept', { retention_seconds: 3600 });
});
afterAll(() => service.stop());

async function leased(queue = at.newQueue(), job: object = {}): Promise<Json> {
  await at.enqueue({ queue, ...job });
  return at.claimOne(queue);
}

const settle = (body: unknown) => service.call('POST', '/jobs/settle', body);
const item = ({ id, lease_token }: Json, more: object = {}) => ({ id, lease_token, ...more });
const isThere = async (queue: string) => (await service.call('GET', `/queues/${queue}`)).status === 200;

describe('an ack with enqueue', () => {
  test('is answered with the follow-ups, in order, without their payloads', async () => {
    const job = await leased();
    const next = at.newQueue('next');
    const answer = await at.settle('ack', job, {
      enqueue: [
        { queue: next, payload: { step: 2 }, priority: 3, headers: { tenant: 'ä"' } },
        { queue: next, payload: 3, delay_seconds: 600, backoff: { kind: 'linear' } },
        { payload: 4 },
      ],
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id: job.id, state: 'completed' });
    expect(answer.body.enqueued).toMatchObject([
      { queue: next, state: 'ready', priority: 3, headers: { tenant: 'ä"' } },
      { queue: next, state: 'scheduled' },
      { queue: 'default', state: 'ready' },
    ]);
    for (const enqueued of answer.body.enqueued) {
      expect(enqueued).not.toHaveProperty('payload');
      const { payload: _, ...found } = await at.get(enqueued.id);
      expect(found).toEqual(enqueued);
    }
    expect(await at.drain([next, 'default'])).toEqual([{ step: 2 }, 4]);
    expectProblem(await service.call('GET', `/jobs/${job.id}`), 404, 'job_not_found');
  });

  test('keeps the payload of a follow-up exactly as it was sent', async () => {
    const job = await leased();
    const next = at.newQueue('next');
    const text = '{"b":1.0,"a":12345678901234567890,"b":"\\u0000"}';
    const body = `{"lease_token":"${job.lease_token}","enqueue":[{"queue":"${next}","payload": ${text} }]}`;
    const { enqueued } = await at.ok('POST', `/jobs/${job.id}/ack`, body);
    expect((await service.call('GET', `/jobs/${enqueued[0].id}`)).text).toContain(`"payload":${text},`);
  });

  test('wakes a claim that waits for the follow-up', async () => {
    const job = await leased();
    const next = at.newQueue('next');
    const waiting = at.claim(next, { wait_seconds: 20 });
    await at.settle('ack', job, { enqueue: [{ queue: next, payload: 'now' }] });
    expect(await waiting).toMatchObject([{ payload: 'now' }]);
  });

  test.each([
    ['a stale lease', async () => ({ ...(await leased()), lease_token: UNKNOWN_TOKEN }), 409, 'lease_lost'],
    ['a malformed token', async () => ({ ...(await leased()), lease_token: '?' }), 409, 'lease_lost'],
    ['an unknown job', async () => ({ id: UNKNOWN_ID, lease_token: UNKNOWN_TOKEN }), 404, 'job_not_found'],
    ['a malformed id', async () => ({ id: 'x', lease_token: UNKNOWN_TOKEN }), 404, 'job_not_found'],
  ])('with %s enqueues nothing, and creates no queue', async (_, of, status, code) => {
    const job = await of();
    const next = at.newQueue('next');
    const body = { enqueue: [{ queue: next }] };
    expectProblem(await at.settle('ack', job, body), status, code);
    expectProblem(await at.settle('nack', job, { ...body, retry: false }), status, code);
    expect(await isThere(next)).toBe(false);
  });

  test('counts after the lease ran out, while no other claim got the job', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const job = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(job.id, 'ready');
    expect((await at.settle('ack', job, { enqueue: [{ queue, payload: 'next' }] })).status).toBe(200);
    expect(await at.drain(queue)).toEqual(['next']);
  });

  test('is not carried out when a follow-up is refused', async () => {
    const job = await leased();
    const next = at.newQueue('next');
    const refuse = async (status: number, code: string, path: string, jobs: unknown[]) =>
      expectProblem(await at.settle('ack', job, { enqueue: jobs }), status, code, path);
    const good = { queue: next };
    await refuse(400, 'invalid_request', '/enqueue/1/priority', [good, { ...good, priority: 101 }]);
    await refuse(400, 'invalid_request', '/enqueue/0/run_at', [
      { ...good, run_at: '2030-01-01T00:00:00Z', delay_seconds: 1 },
    ]);
    await refuse(400, 'invalid_request', '/enqueue/2/queu', [good, good, { queu: next }]);
    await refuse(400, 'invalid_request', '/enqueue', Array(1001).fill(good));
    await refuse(413, 'payload_too_large', '/enqueue/3/payload', [
      good,
      good,
      good,
      { ...good, payload: 'x'.repeat(999) },
    ]);
    expect(await isThere(next)).toBe(false);
    expect((await at.get(job.id)).state).toBe('leased');
    expect((await at.settle('ack', job, { enqueue: Array(1000).fill(good) })).status).toBe(200);
    expect(await at.drain(next)).toHaveLength(1000);
  });

  test('is 429 and not carried out when the queue of a follow-up is full', async () => {
    // A full queue of another database takes jobs. Queues whose names begin alike are in one.
    const full = at.newQueue('full');
    await at.configure(full, { max_ready: 1 });
    await at.enqueue({ queue: full });
    for (const [verb, more] of [
      ['ack', {}],
      ['nack', { retry: false }],
    ] as const) {
      const job = await leased(`${full}.worked`);
      const body = { ...more, enqueue: [{ queue: full }, { queue: job.queue }] };
      expectProblem(await at.settle(verb, job, body), 429, 'queue_full');
      expect((await at.get(job.id)).state).toBe('leased');
      expect(await at.drain(job.queue)).toEqual([]);
    }
  });

  test('without any follow-up in it is an ordinary ack', async () => {
    const job = await leased();
    expect((await at.settle('ack', job, { enqueue: [] })).body).toEqual({
      id: job.id,
      state: 'completed',
      enqueued: [],
    });
    expectProblem(await at.settle('ack', job, { enqueue: [] }), 404, 'job_not_found');
  });

  test.each(['kept', 'gone'])('advances its group, and may enqueue into that group (%s)', async (kind) => {
    const group = `group-${kind}`;
    const queue = kind === 'kept' ? 'kept' : at.newQueue();
    const job = await leased(queue, { group, payload: 1 });
    await at.enqueue({ queue, group, payload: 2 });
    const body = { enqueue: [{ queue, group, payload: 3 }] };
    const first = await at.settle('ack', job, body);
    expect(first.body.enqueued).toMatchObject([{ group, state: 'blocked' }]);
    if (kind === 'kept') expect((await at.settle('ack', job, body)).text).toBe(first.text);
    for (const payload of [2, 3]) {
      const next = await at.claimOne(queue);
      expect(next.payload).toBe(payload);
      const last = { queue, group, payload: 4 };
      await at.settle('nack', next, { retry: false, enqueue: payload === 3 ? [last] : [] });
    }
    expect(await at.drain(queue)).toEqual([4]);
  });

  test('gives its unique_key to a follow-up, and names the job that has another key', async () => {
    const queue = at.newQueue();
    const job = await leased(queue, { unique_key: 'poll' });
    const other = await at.enqueue({ queue, unique_key: 'other' });
    const enqueue = ['poll', 'other'].map((unique_key) => ({ queue, unique_key }));
    const [next, same] = (await at.settle('ack', job, { enqueue })).body.enqueued;
    expect(next.id).not.toBe(job.id);
    expect(next).not.toHaveProperty('deduplicated');
    expect(same).toMatchObject({ id: other.id, deduplicated: true });
    expect(await at.drain(queue)).toHaveLength(2);
  });

  test('gets the same answer when it is repeated while the job is kept, and enqueues nothing more', async () => {
    const job = await leased('kept');
    const next = at.newQueue('next');
    const body = { result: 1, enqueue: [{ queue: next, headers: { 'ä"': '\\' } }, { queue: next }] };
    const first = await at.settle('ack', job, body);
    expect(first.body.enqueued).toHaveLength(2);
    const repeated = [
      await at.settle('ack', job, body),
      await at.settle('ack', job, { enqueue: [{ queue: next, priority: 1 }] }),
      await at.settle('ack', job),
    ];
    for (const answer of repeated) expect(answer.text).toBe(first.text);
    const { body: settled } = await settle({ acks: [item(job, body)] });
    expect(settled.acks).toEqual([{ ...first.body, status: 200 }]);
    expect(await at.drain(next)).toHaveLength(2);
    expectProblem(await at.settle('nack', job, { enqueue: [{}] }), 409, 'lease_lost');
  });

  test('is 404 when it is repeated and the job is gone, and enqueues nothing more', async () => {
    const job = await leased();
    const next = at.newQueue('next');
    await at.settle('ack', job, { enqueue: [{ queue: next }] });
    expectProblem(await at.settle('ack', job, { enqueue: [{ queue: next }] }), 404, 'job_not_found');
    expect(await at.drain(next)).toHaveLength(1);
  });

  test.each(['kept', 'gone'])('sent 32 times at once inserts the follow-up once (%s)', async (kind) => {
    const job = await leased(kind === 'kept' ? 'kept' : undefined);
    const next = at.newQueue('next');
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => at.settle('ack', job, { enqueue: [{ queue: next }] })),
    );
    const done = answers.filter(({ status }) => status === 200);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    if (kind === 'kept') expect(done).toHaveLength(32);
    for (const answer of answers) if (answer.status !== 200) expectProblem(answer, 404, 'job_not_found');
    expect(await at.drain(next)).toHaveLength(1);
  });

  test('is carried out beside hundreds of others at once, and delays no other request', async () => {
    const queues = Array.from({ length: 5 }, () => at.newQueue());
    await at.enqueueAll(Array.from({ length: 300 }, (_, i) => ({ queue: queues[i % 5], payload: i })));
    const jobs = await at.claim(queues, { limit: 300 });
    /** On a slow machine, an ack may be 503. Repeated, it counts once. */
    const ack = async (job: Json, i: number) => {
      const enqueue = [0, 1, 2].map((n) => ({ queue: queues[(i + n) % 5], payload: [job.payload, n] }));
      for (let repeated = false; ; repeated = true) {
        const { status } = await at.settle('ack', job, { enqueue });
        if (status !== 503) return repeated && status === 404 ? 200 : status;
      }
    };
    const acks = jobs.map(ack);
    const aside = await Promise.all(Array.from({ length: 50 }, () => at.enqueue({ queue: at.newQueue() })));
    expect(aside).toHaveLength(50);
    for (const status of await Promise.all(acks)) expect(status).toBe(200);
    const found = await at.drain(queues);
    expect(new Set(found.map(String)).size).toBe(900);
  });

  test('is 503 and not carried out when the job is locked for too long', async () => {
    const job = await leased();
    const next = at.newQueue('next');
    const holder = await openClient(await databaseOf(service.databaseUrl, job.queue));
    try {
      await holder.query('begin');
      await holder.query('select from dibs.jobs where id = $1 for update', [job.id]);
      const ack = at.settle('ack', job, { enqueue: [{ queue: next }] });
      expectProblem(await ack, 503, 'unavailable');
    } finally {
      await holder.end();
    }
    expect((await at.settle('ack', job, { enqueue: [{ queue: next }] })).status).toBe(200);
    expect(await at.drain(next)).toHaveLength(1);
  });
});

test('a job that is locked holds up only its own ack, not the acks with follow-ups beside it', async () => {
  const queue = at.newQueue();
  const next = at.newQueue('next');
  await at.configure(next, {});
  await at.enqueueAll(Array.from({ length: 20 }, () => ({ queue })));
  const [locked, ...others] = await at.claim(queue, { limit: 20, lease_seconds: 600 });
  const enqueue = [{ queue: next }];
  const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
  await user.query('select from dibs.jobs where id = $1 for update', [locked.id]);
  const ack = at.settle('ack', locked, { enqueue });
  // One that was answered 503 on a slow machine may have counted: then it is gone.
  const answers = await Promise.all(others.map((job) => served(() => at.settle('ack', job, { enqueue }))));
  for (const { status } of answers) expect([200, 404]).toContain(status);
  expect((await at.get(locked.id)).state).toBe('leased');
  await user.end('rollback');
  const counted = (await ack).status === 200 ? 20 : 19;
  expect(await at.drain(next)).toHaveLength(counted);
});

test('a follow-up belongs to the trace of the job before it, where its request names none', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const queue = at.newQueue();
  const next = at.newQueue('next');
  await at.configure(next, {});
  await at.enqueueAll([{ queue, headers: { traceparent } }, { queue }]);
  const jobs = await at.claim(queue, { limit: 2 });
  for (const job of jobs) await at.settle('ack', job, { enqueue: [{ queue: next, headers: { a: 'b' } }] });
  const found = await at.claim(next, { limit: 2 });
  expect(found.map(({ headers }) => headers)).toEqual([{ a: 'b', traceparent }, { a: 'b' }]);
});

describe('a nack with enqueue', () => {
  const compensate = (queue: string) => ({ enqueue: [{ queue, payload: 'undo' }] });

  test('inserts the compensating jobs when it makes the job dead', async () => {
    for (const [job, wish] of [
      [await leased(undefined, { max_attempts: 1 }), {}],
      [await leased(), { retry: false }],
    ] as const) {
      const next = at.newQueue('undo');
      const { body } = await at.settle('nack', job, { error: 'no', ...wish, ...compensate(next) });
      expect(body).toMatchObject({ id: job.id, state: 'dead', last_error: 'no' });
      expect(body.enqueued).toMatchObject([{ queue: next, state: 'ready' }]);
      expect(await at.drain(next)).toEqual(['undo']);
      expectProblem(await at.settle('nack', job, { ...wish, ...compensate(next) }), 409, 'lease_lost');
      expect(await at.drain(next)).toEqual([]);
    }
  });

  test('inserts nothing when the job is tried again', async () => {
    const next = at.newQueue('undo');
    const job = await leased();
    const { body } = await at.settle('nack', job, { delay_seconds: 0, ...compensate(next) });
    expect(body).toMatchObject({ state: 'ready', enqueued: [] });
    const again = await at.claimOne(job.queue);
    expect((await at.settle('nack', again, compensate(next))).body).toMatchObject({
      state: 'scheduled',
      enqueued: [],
    });
    expect(await at.drain(next)).toEqual([]);
  });

  test('wakes a claim that waits for the job', async () => {
    const job = await leased();
    const waiting = at.claim(job.queue, { wait_seconds: 20 });
    await at.settle('nack', job, { delay_seconds: 0, ...compensate(at.newQueue()) });
    expect(await waiting).toMatchObject([{ id: job.id }]);
  });

  test('inserts nothing when the job was cancelled: it is not dead', async () => {
    const next = at.newQueue('undo');
    const job = await leased(undefined, { max_attempts: 1 });
    await at.ok('DELETE', `/jobs/${job.id}`);
    const { body } = await at.settle('nack', job, compensate(next));
    expect(body).toMatchObject({ state: 'cancelled', enqueued: [] });
    expectProblem(await service.call('GET', `/jobs/${job.id}`), 404, 'job_not_found');
    expect(await at.drain(next)).toEqual([]);
  });

  test('is answered with `enqueued` only when `enqueue` was sent', async () => {
    expect((await at.settle('nack', await leased())).body).not.toHaveProperty('enqueued');
    expect((await at.settle('nack', await leased(), { retry: false, enqueue: [] })).body.enqueued).toEqual(
      [],
    );
  });

  test('is refused with a malformed follow-up, even one that would not be inserted', async () => {
    const job = await leased();
    const send = (spec: object) => at.settle('nack', job, { enqueue: [spec] });
    expectProblem(await send({ priority: 'x' }), 400, 'invalid_request', '/enqueue/0/priority');
    expectProblem(
      await send({ run_at: '2030-01-01T00:00:00Z', delay_seconds: 1 }),
      400,
      'invalid_request',
      '/enqueue/0/run_at',
    );
    expectProblem(await send({ payload: 'x'.repeat(999) }), 413, 'payload_too_large', '/enqueue/0/payload');
    expect((await at.get(job.id)).state).toBe('leased');
  });
});

describe('settle', () => {
  test('answers `enqueued` for each item, and a stale lease refuses only its own item', async () => {
    const [a, b, c, d, e] = await Promise.all(Array.from({ length: 5 }, () => leased()));
    const next = at.newQueue('next');
    const enqueue = [{ queue: next, payload: 1 }];
    const { body } = await settle({
      acks: [item(a, { enqueue }), item({ ...b, lease_token: UNKNOWN_TOKEN }, { enqueue }), item(c)],
      nacks: [item(d, { enqueue }), item(e, { retry: false, enqueue })],
    });
    expect(body.acks).toMatchObject([
      { id: a.id, status: 200, state: 'completed', enqueued: [{ queue: next, state: 'ready' }] },
      { id: b.id, status: 409, problem: { code: 'lease_lost' } },
      { id: c.id, status: 200, enqueued: [] },
    ]);
    expect(body.nacks).toMatchObject([
      { id: d.id, status: 200, state: 'scheduled', enqueued: [] },
      { id: e.id, status: 200, state: 'dead', enqueued: [{ queue: next }] },
    ]);
    expect(await at.drain(next)).toEqual([1, 1]);
    expect((await at.get(b.id)).state).toBe('leased');
  });

  test('names a malformed follow-up and settles nothing', async () => {
    const [a, b] = [await leased(), await leased()];
    const send = async (list: string, spec: object, status: number, code: string, path: string) =>
      expectProblem(
        await settle({ releases: [item(a)], [list]: [item(b), item(b, { enqueue: [{}, spec] })] }),
        status,
        code,
        `/${list}/1/enqueue/1/${path}`,
      );
    for (const list of ['acks', 'nacks']) {
      await send(list, { payload: 'x'.repeat(999) }, 413, 'payload_too_large', 'payload');
      await send(list, { unique_for_seconds: 1 }, 400, 'invalid_request', 'unique_for_seconds');
      await send(list, { max_attempts: 0 }, 400, 'invalid_request', 'max_attempts');
      await send(
        list,
        { run_at: '2030-02-30T00:00:00Z', delay_seconds: 1 },
        400,
        'invalid_request',
        'run_at',
      );
    }
    for (const { id } of [a, b]) expect((await at.get(id)).state).toBe('leased');
  });
});

test('jobs that are each enqueued by the ack of the one before run to their end with several workers', async () => {
  const queue = at.newQueue('steps');
  await at.enqueueAll(Array.from({ length: 10 }, (_, start) => ({ queue, payload: [start, 0] })));
  const seen: string[] = [];
  let left = 10;
  const workers = Array.from({ length: 4 }, async () => {
    while (left > 0) {
      for (const job of await at.claim(queue, { limit: 3, wait_seconds: 0.2 })) {
        const [start, step] = job.payload;
        seen.push(`${start}.${step}`);
        if (step === 9) left--;
        const enqueue = step === 9 ? [] : [{ queue, payload: [start, step + 1] }];
        expect((await at.settle('ack', job, { enqueue })).status).toBe(200);
      }
    }
  });
  await Promise.all(workers);
  expect(seen).toHaveLength(100);
  expect(new Set(seen).size).toBe(100);
  for (let start = 0; start < 10; start++)
    expect(seen.filter((name) => name.startsWith(`${start}.`))).toEqual(
      Array.from({ length: 10 }, (_, step) => `${start}.${step}`),
    );
  await eventually(async () => expect(service.errors).toEqual([]));
});
