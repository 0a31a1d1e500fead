import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adHoc } from '../support/adHoc.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

/** The seconds from now until a job's run_at, by the database's clock. A little less: an answer takes time. */
async function rest(job: { run_at: string }): Promise<number> {
  const [row] = await service.db.query(adHoc<{ now: string }>('select now()'));
  return (Date.parse(job.run_at) - Date.parse((row as { now: string }).now)) / 1000;
}

async function nacked(queue: string, body: object = {}) {
  const answer = await at.settle('nack', await at.claimOne(queue), body);
  expect(answer.status).toBe(200);
  return answer.body;
}

/** The delay in seconds after each of several failed attempts. The test ends each delay early. */
async function delays(queue: string, attempts: number): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < attempts; i++) {
    const job = await nacked(queue);
    expect(job).toMatchObject({ state: 'scheduled', attempt: i + 1 });
    found.push(Math.round(await rest(job)));
    await onAll(service.databaseUrl, 'update dibs.jobs set run_at = now() where id = $1', [job.id]);
    await at.reaches(job.id, 'ready');
  }
  return found;
}

const backoff = (kind: string, more: object = {}) => ({ kind, base_seconds: 1000, jitter: 0, ...more });

describe('a failed attempt', () => {
  test('waits for an exponential backoff, up to max_seconds', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, backoff: backoff('exponential', { max_seconds: 7000 }) });
    expect(await delays(queue, 4)).toEqual([1000, 2000, 4000, 7000]);
  });

  test('waits for a linear backoff, up to max_seconds', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, backoff: backoff('linear', { max_seconds: 2500 }) });
    expect(await delays(queue, 3)).toEqual([1000, 2000, 2500]);
  });

  test('waits for a constant backoff', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, backoff: backoff('constant') });
    expect(await delays(queue, 3)).toEqual([1000, 1000, 1000]);
  });

  test('waits for the backoff less a random share of it, up to the jitter', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { backoff: backoff('constant', { jitter: 0.5 }) });
    await at.enqueueAll(Array(200).fill({ queue }));
    const jobs = await at.claim(queue, { limit: 200 });
    const rests = await Promise.all(jobs.map(async (job) => rest((await at.settle('nack', job)).body)));
    for (const seconds of rests) {
      expect(seconds).toBeGreaterThan(470);
      expect(seconds).toBeLessThanOrEqual(1000);
    }
    expect(Math.max(...rests) - Math.min(...rests)).toBeGreaterThan(250);
  });

  test("waits for the job's own backoff, which replaces the whole backoff of the queue", async () => {
    const [plain, own, empty] = [at.newQueue(), at.newQueue(), at.newQueue()];
    for (const queue of [plain, own, empty])
      await at.configure(queue, { backoff: backoff('constant', { base_seconds: 500, max_seconds: 600 }) });
    await at.enqueue({ queue: plain });
    expect(await delays(plain, 2)).toEqual([500, 500]);
    await at.enqueue({ queue: own, backoff: { base_seconds: 2000, jitter: 0 } });
    expect(await delays(own, 2)).toEqual([2000, 3600]);
    await at.enqueue({ queue: empty, backoff: {} });
    expect(await rest(await nacked(empty))).toBeLessThanOrEqual(1);
  });

  test('waits for delay_seconds, whatever the backoff is', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, backoff: backoff('constant') });
    const now = await nacked(queue, { delay_seconds: 0 });
    expect(now).toMatchObject({ state: 'ready', attempt: 1 });
    const later = await nacked(queue, { delay_seconds: 50_000 });
    expect(later).toMatchObject({ state: 'scheduled', attempt: 2 });
    expect(Math.round(await rest(later))).toBe(50_000);
  });

  test('is answered with the job, without lease and payload', async () => {
    const queue = at.newQueue();
    const { id } = await at.enqueue({ queue, payload: 1 });
    const job = await nacked(queue, { error: 'no' });
    expect(job).toMatchObject({ id, queue, lease_expires_at: null, worker: null, finished_at: null });
    expect(job).not.toHaveProperty('payload');
    expect(job).not.toHaveProperty('lease_token');
  });

  test('comes back by itself when its backoff is over', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, backoff: { kind: 'constant', base_seconds: 0.1, jitter: 0 } });
    const { id } = await nacked(queue);
    await at.reaches(id, 'ready');
    expect(await at.claimOne(queue)).toMatchObject({ id, attempt: 2, deliveries: 2 });
  });

  test('may have a backoff of almost 0', async () => {
    for (const [base_seconds, jitter] of [
      [5e-324, 1],
      [5e-324, 0.9],
      [1, 5e-324],
      [1e-300, 1e-300],
    ]) {
      const queue = at.newQueue();
      await at.configure(queue, { backoff: { kind: 'linear', base_seconds, jitter } });
      await at.enqueueAll([{ queue }, { queue, backoff: { base_seconds, jitter } }]);
      await nacked(queue);
      await nacked(queue);
    }
  });
});

describe('a job is dead', () => {
  test('after max_attempts, with its last error', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, max_attempts: 2 });
    expect(await nacked(queue, { error: 'first', delay_seconds: 0 })).toMatchObject({
      state: 'ready',
      last_error: 'first',
    });
    const dead = await nacked(queue, { error: 'second', delay_seconds: 0 });
    expect(dead).toMatchObject({ state: 'dead', attempt: 2, max_attempts: 2, last_error: 'second' });
    expect(dead.finished_at).not.toBe(null);
    expect(await at.claim(queue)).toEqual([]);
    expect((await at.get(dead.id)).state).toBe('dead');
  });

  test('at once when retry is false, whatever its attempts and delay are', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, max_attempts: 1000 });
    expect(await nacked(queue, { retry: false, delay_seconds: 5, error: 'never' })).toMatchObject({
      state: 'dead',
      attempt: 1,
      last_error: 'never',
    });
  });

  test('but never because it is released, however often', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, max_attempts: 1 });
    for (let i = 1; i <= 3; i++) {
      const job = await at.claimOne(queue);
      expect(job).toMatchObject({ attempt: 1, deliveries: i });
      const { body } = await at.settle('release', job);
      expect(body).toMatchObject({ state: 'ready', attempt: 0, deliveries: i });
    }
  });

  test('when its last lease runs out, with the error "lease expired"', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, max_attempts: 2 });
    const first = await at.claimOne(queue, { lease_seconds: 0.1 });
    expect(await at.reaches(first.id, 'ready')).toMatchObject({ attempt: 1, last_error: 'lease expired' });
    await at.claimOne(queue, { lease_seconds: 0.1 });
    const dead = await at.reaches(first.id, 'dead');
    expect(dead).toMatchObject({ attempt: 2, deliveries: 2, last_error: 'lease expired', worker: null });
  });
});

test('a job that is released with a delay waits for it', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const { body } = await at.settle('release', await at.claimOne(queue), { delay_seconds: 5000 });
  expect(body).toMatchObject({ state: 'scheduled', attempt: 0, deliveries: 1 });
  expect(Math.round(await rest(body))).toBe(5000);
});

test('delay_seconds of a nack or a release is a number from 0 to 366 days', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const job = await at.claimOne(queue);
  for (const verb of ['nack', 'release'] as const)
    for (const delay_seconds of [-1, 366 * 86_400 + 1, '1', null])
      expectProblem(await at.settle(verb, job, { delay_seconds }), 400, 'invalid_request', '/delay_seconds');
});
