import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_ID, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

const VERBS = ['ack', 'nack', 'release', 'extend'] as const;
type Verb = (typeof VERBS)[number];
const bodies: Record<Verb, object> = { ack: {}, nack: {}, release: {}, extend: { lease_seconds: 60 } };

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
const settle = (verb: Verb, job: any) => at.settle(verb, job, bodies[verb]);

async function leased(more: object = {}, lease_seconds = 30) {
  const queue = at.newQueue();
  await at.enqueue({ queue, ...more });
  return at.claimOne(queue, { lease_seconds, worker: 'first' });
}

/** A job whose lease ran out, as its worker knows it. No other worker got it. */
async function rescued(state: 'ready' | 'dead') {
  const job = await leased({ max_attempts: state === 'dead' ? 1 : 5 }, 0.1);
  await at.reaches(job.id, state);
  return job;
}

describe('a lease', () => {
  test('comes with all that its worker needs', async () => {
    const queue = at.newQueue();
    const { id } = await at.enqueue({ queue, payload: { a: 1 }, headers: { tenant: 'x' } });
    const job = await at.claimOne(queue, { lease_seconds: 60, worker: 'w-1' });
    expect(job).toMatchObject({ id, queue, state: 'leased', attempt: 1, deliveries: 1, worker: 'w-1' });
    expect(job).toMatchObject({ payload: { a: 1 }, headers: { tenant: 'x' }, finished_at: null });
    expect(job.lease_token).not.toBe('');
    const seconds = (Date.parse(job.lease_expires_at) - Date.parse(job.run_at)) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(60);
    expect(seconds).toBeLessThan(75);
  });

  test('has the length that its queue says, when the claim names none', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { lease_seconds: 4000 });
    const { run_at } = await at.enqueue({ queue });
    const { lease_expires_at } = await at.claimOne(queue);
    expect((Date.parse(lease_expires_at) - Date.parse(run_at)) / 1000).toBeCloseTo(4000, -2);
  });

  test('keeps its token when it is extended, and runs that long from now', async () => {
    const job = await leased();
    const longer = await at.settle('extend', job, { lease_seconds: 4000 });
    expect(longer.body).toMatchObject({ id: job.id, state: 'leased', cancel_requested: false });
    expect(Date.parse(longer.body.lease_expires_at) - Date.parse(job.lease_expires_at)).toBeGreaterThan(3e6);
    const shorter = await at.settle('extend', job, { lease_seconds: 10 });
    expect(Date.parse(shorter.body.lease_expires_at)).toBeLessThan(Date.parse(longer.body.lease_expires_at));
    expect((await settle('ack', job)).status).toBe(200);
  });

  test('ends when an extension runs out', async () => {
    const job = await leased();
    await at.settle('extend', job, { lease_seconds: 0.1 });
    await at.reaches(job.id, 'ready');
  });

  test('has a token of its own for every job of a claim', async () => {
    const queue = at.newQueue();
    await at.enqueueAll(Array(50).fill({ queue }));
    const tokens = (await at.claim(queue, { limit: 50 })).map((job) => job.lease_token);
    expect(new Set(tokens).size).toBe(50);
  });

  test('has a new token each time, and its deliveries only grow', async () => {
    const first = await leased();
    await settle('release', first);
    const second = await at.claimOne(first.queue);
    expect(second).toMatchObject({ id: first.id, attempt: 1, deliveries: 2, worker: null });
    expect(second.lease_token).not.toBe(first.lease_token);
  });
});

describe('a stale token settles nothing', () => {
  test.each(VERBS)('%s with any other text', async (verb) => {
    const job = await leased();
    for (const lease_token of [
      UNKNOWN_TOKEN,
      '',
      'x',
      '\u0000',
      'é'.repeat(5000),
      job.lease_token.toUpperCase(),
      job.id,
    ])
      if (lease_token !== job.lease_token)
        expectProblem(await settle(verb, { id: job.id, lease_token }), 409, 'lease_lost');
    expect((await at.get(job.id)).state).toBe('leased');
    expect((await settle('ack', job)).status).toBe(200);
  });

  test.each(VERBS)('%s once another worker holds the job', async (verb) => {
    const first = await leased({}, 0.1);
    await at.reaches(first.id, 'ready');
    const second = await at.claimOne(first.queue, { worker: 'second' });
    expectProblem(await settle(verb, first), 409, 'lease_lost');
    expect(await at.get(first.id)).toMatchObject({ state: 'leased', worker: 'second', attempt: 2 });
    expect((await settle('ack', second)).status).toBe(200);
  });

  test.each(VERBS)('%s once its worker gave the job back', async (verb) => {
    for (const back of ['nack', 'release'] as const) {
      const job = await leased();
      const given = (await at.settle(back, job, { delay_seconds: 1000 })).body;
      expectProblem(await settle(verb, job), 409, 'lease_lost');
      expect(await at.get(job.id)).toMatchObject(given);
    }
  });

  test.each(VERBS)('%s once the job is dead by its own nack', async (verb) => {
    const job = await leased({ max_attempts: 1 });
    expect((await settle('nack', job)).body.state).toBe('dead');
    expectProblem(await settle(verb, job), 409, 'lease_lost');
    expect((await at.get(job.id)).state).toBe('dead');
  });

  test.each(VERBS)('%s of a job that was never leased', async (verb) => {
    const { id } = await at.enqueue({ queue: at.newQueue() });
    expectProblem(await settle(verb, { id, lease_token: UNKNOWN_TOKEN }), 409, 'lease_lost');
  });
});

describe('a lease that ran out, while no other worker got the job', () => {
  test.each(['ready', 'dead'] as const)('still acks a job that is %s again', async (state) => {
    const job = await rescued(state);
    expect((await settle('ack', job)).body).toEqual({ id: job.id, state: 'completed', enqueued: [] });
    expectProblem(await service.call('GET', `/jobs/${job.id}`), 404, 'job_not_found');
  });

  test('still nacks: the attempt is not charged twice', async () => {
    const job = await rescued('ready');
    const answer = await at.settle('nack', job, { error: 'late', delay_seconds: 1000 });
    expect(answer.body).toMatchObject({ state: 'scheduled', attempt: 1, last_error: 'late' });
    const last = await rescued('dead');
    expect((await at.settle('nack', last, { error: 'late' })).body).toMatchObject({
      state: 'dead',
      last_error: 'late',
    });
  });

  test.each(['ready', 'dead'] as const)('still releases a job that is %s again: uncharged', async (state) => {
    const job = await rescued(state);
    expect((await settle('release', job)).body).toMatchObject({
      state: 'ready',
      attempt: 0,
      finished_at: null,
    });
  });

  test.each(['ready', 'dead'] as const)('comes too late to extend a job that is %s again', async (state) => {
    const job = await rescued(state);
    expectProblem(await settle('extend', job), 409, 'lease_lost');
    expect((await at.get(job.id)).state).toBe(state);
  });
});

describe('a job that is gone', () => {
  test.each(VERBS)('%s is 404', async (verb) => {
    const done = await leased();
    await settle('ack', done);
    expectProblem(await settle(verb, done), 404, 'job_not_found');
    for (const id of [UNKNOWN_ID, 'x', '%00', done.id.toUpperCase(), `${done.id}0`, 'claim'])
      expectProblem(await settle(verb, { id, lease_token: UNKNOWN_TOKEN }), 404, 'job_not_found');
  });
});

describe('a completed job that is kept', () => {
  async function kept() {
    const queue = at.newQueue();
    await at.configure(queue, { retention_seconds: 1000 });
    await at.enqueue({ queue });
    const job = await at.claimOne(queue, { worker: 'w' });
    const answer = await at.settle('ack', job, { result: 'first' });
    return { job, answer };
  }

  test('answers a repeated ack the same, and keeps its first result', async () => {
    const { job, answer } = await kept();
    const found = await at.get(job.id);
    expect(found).toMatchObject({ state: 'completed', result: 'first', worker: 'w', lease_expires_at: null });
    const again = await at.settle('ack', job, { result: 'second' });
    expect({ status: again.status, body: again.body }).toEqual({ status: 200, body: answer.body });
    expect(await at.get(job.id)).toEqual(found);
  });

  test('answers lease_lost to any other verb', async () => {
    const { job } = await kept();
    for (const verb of ['nack', 'release', 'extend'] as const)
      expectProblem(await settle(verb, job), 409, 'lease_lost');
    expectProblem(await settle('ack', { ...job, lease_token: UNKNOWN_TOKEN }), 409, 'lease_lost');
    expect((await at.get(job.id)).state).toBe('completed');
  });

  test('is gone when its retention is over', async () => {
    const { job } = await kept();
    await at.configure(job.queue, { retention_seconds: 0.1 });
    await expect
      .poll(async () => (await service.call('GET', `/jobs/${job.id}`)).status, { timeout: 20_000 })
      .toBe(404);
  });
});
