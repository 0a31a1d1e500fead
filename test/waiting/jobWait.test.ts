import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { eventually, expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Answer, type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';
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

/** Begins to wait for a job. Returns when the wait has begun: it changes the row of the job. */
async function waitFor(on: Service, id: string, seconds = 60): Promise<{ answer: Promise<Answer> }> {
  const before = await awaitedUntil(id);
  const answer = on.call('GET', `/jobs/${id}?wait_seconds=${seconds}`);
  await until(async () => (await awaitedUntil(id)) !== before);
  return { answer };
}

const awaitedUntil = async (id: string) =>
  (await sql<{ until: string }>('select awaited_until::text as until from dibs.jobs where id = $1', [id]))[0]
    ?.until;

async function leased(queue = at.newQueue(), job: object = {}, claim: object = {}): Promise<Json> {
  await at.enqueue({ queue, ...job });
  return at.claimOne(queue, claim);
}

describe.each([
  ['the same replica', () => here],
  ['another replica', () => there],
])('GET /jobs/{id}?wait_seconds= on %s', (_, on) => {
  test('answers when the job is completed, with its result, even in a queue that keeps no finished jobs', async () => {
    const job = await leased(undefined, { payload: { n: 1 } });
    const waits = [await waitFor(on(), job.id), await waitFor(on(), job.id), await waitFor(here, job.id)];
    const acked = await at.settle('ack', job, { result: { pages: 12 } });
    expect(acked.body).toEqual({ id: job.id, state: 'completed', enqueued: [] });
    for (const { answer } of waits)
      expect(await answer).toMatchObject({
        status: 200,
        body: { id: job.id, state: 'completed', result: { pages: 12 }, payload: { n: 1 }, queue: job.queue },
      });
  });

  test('answers when the job is completed in a queue with a retention', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { retention_seconds: 0.01 });
    const job = await leased(queue);
    const { answer } = await waitFor(on(), job.id);
    await at.settle('ack', job, { result: 1 });
    expect((await answer).body).toMatchObject({ state: 'completed', result: 1 });
  });

  test('answers when the job is completed by POST /jobs/settle, together with jobs that no client waits for', async () => {
    const queue = at.newQueue();
    await at.enqueueAll(Array(30).fill({ queue }));
    const jobs = await at.claim(queue, { limit: 30 });
    const waits = await Promise.all([3, 4, 17].map((i) => waitFor(on(), jobs[i].id)));
    const acks = jobs.map(({ id, lease_token }, i) => ({ id, lease_token, result: i }));
    const { acks: results } = await at.ok('POST', '/jobs/settle', { acks });
    expect(new Set(results.map(({ status }: Json) => status))).toEqual(new Set([200]));
    const answers = await Promise.all(waits.map(({ answer }) => answer));
    expect(answers.map(({ body }) => [body.state, body.result])).toEqual(
      [3, 4, 17].map((i) => ['completed', i]),
    );
    expect((await at.ok('GET', `/jobs?queue=${queue}`)).jobs).toHaveLength(3);
  });

  test('answers when the job is completed with follow-ups', async () => {
    const job = await leased();
    const { answer } = await waitFor(on(), job.id);
    const next = { queue: at.queueBeside(job.queue), payload: 2 };
    const acked = await at.settle('ack', job, { result: 1, enqueue: [next] });
    expect((await answer).body).toMatchObject({ state: 'completed', result: 1 });
    expect((await at.settle('ack', job, { enqueue: [next] })).text).toBe(acked.text);
    expect(await at.drain(next.queue)).toEqual([2]);
  });

  test('answers when a nack makes the job dead', async () => {
    for (const more of [{}, { enqueue: [{ queue: 'undo' }] }]) {
      const job = await leased();
      const { answer } = await waitFor(on(), job.id);
      await at.settle('nack', job, { retry: false, error: 'no paper', ...more });
      expect((await answer).body).toMatchObject({ state: 'dead', last_error: 'no paper' });
    }
  });

  test('answers when the job is dead because its last lease ran out', async () => {
    const job = await leased(undefined, { max_attempts: 1 });
    const { answer } = await waitFor(on(), job.id);
    await at.settle('extend', job, { lease_seconds: 0.1 });
    expect((await answer).body).toMatchObject({ state: 'dead', last_error: 'lease expired' });
  });

  test('answers when the job is dead because it expired', async () => {
    const job = await at.enqueue({ queue: at.newQueue() });
    const { answer } = await waitFor(on(), job.id);
    await at.ok('PATCH', `/jobs/${job.id}`, { expires_in_seconds: 0.1 });
    expect((await answer).body).toMatchObject({ state: 'dead', last_error: 'expired' });
  });

  test('answers when the job is cancelled, at once or by its worker', async () => {
    const waiting = await at.enqueue({ queue: at.newQueue(), delay_seconds: 600 });
    const first = await waitFor(on(), waiting.id);
    await at.ok('DELETE', `/jobs/${waiting.id}`);
    expect((await first.answer).body).toMatchObject({ id: waiting.id, state: 'cancelled' });
    for (const verb of ['nack', 'release'] as const) {
      const job = await leased();
      const { answer } = await waitFor(on(), job.id);
      await at.ok('DELETE', `/jobs/${job.id}`);
      await at.settle(verb, job);
      expect((await answer).body).toMatchObject({ id: job.id, state: 'cancelled' });
    }
  });

  test('answers 404 when the job is purged, or deleted with its queue', async () => {
    const queue = at.newQueue();
    const purged = await at.enqueue({ queue });
    const first = await waitFor(on(), purged.id);
    await at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] });
    expectProblem(await first.answer, 404, 'job_not_found');
    const deleted = await at.enqueue({ queue });
    const second = await waitFor(on(), deleted.id);
    await at.ok('DELETE', `/queues/${queue}?force=true`);
    expectProblem(await second.answer, 404, 'job_not_found');
  });

  test('answers the job as it is when the time is over', async () => {
    const job = await leased();
    await at.settle('nack', job, { delay_seconds: 600 });
    const answer = await on().call('GET', `/jobs/${job.id}?wait_seconds=0.2`);
    expect(answer).toMatchObject({ status: 200, body: { id: job.id, state: 'scheduled' } });
  });
});

test('a wait for a finished job, or an unknown one, is answered at once', async () => {
  const queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 600 });
  const done = await leased(queue);
  await at.settle('ack', done);
  const dead = await leased(queue);
  await at.settle('nack', dead, { retry: false });
  const look = (id: string) => here.call('GET', `/jobs/${id}?wait_seconds=60`);
  expect((await look(done.id)).body.state).toBe('completed');
  expect((await look(dead.id)).body.state).toBe('dead');
  const gone = await leased();
  await at.settle('ack', gone);
  for (const id of [gone.id, UNKNOWN_ID, 'x']) expectProblem(await look(id), 404, 'job_not_found');
});

test('wait_seconds is a number from 0 to 60', async () => {
  const { id } = await at.enqueue({ queue: at.newQueue() });
  for (const seconds of ['61', '-1', 'x', 'Infinity'])
    expectProblem(
      await here.call('GET', `/jobs/${id}?wait_seconds=${seconds}`),
      400,
      'invalid_request',
      '/wait_seconds',
    );
  expectProblem(await here.call('GET', `/jobs/${id}?wait=1`), 400, 'invalid_request', '/wait');
  expect((await here.call('GET', `/jobs/${id}?wait_seconds=0`)).status).toBe(200);
});

test('a client that polls with short waits sees the end of a job, even in a queue that keeps no finished jobs', async () => {
  const job = await leased();
  let body = (await here.call('GET', `/jobs/${job.id}?wait_seconds=0.05`)).body;
  expect(body.state).toBe('leased');
  await at.settle('ack', job, { result: 'done' });
  await sleep(300);
  body = (await there.call('GET', `/jobs/${job.id}?wait_seconds=0.05`)).body;
  expect(body).toMatchObject({ state: 'completed', result: 'done' });
});

test('a job that a client waits for is kept for 10 seconds when its queue keeps none, and is gone then', async () => {
  const job = await leased();
  const cancelled = await at.enqueue({ queue: job.queue });
  const late = await at.enqueue({ queue: job.queue });
  for (const { id } of [job, cancelled, late]) await here.call('GET', `/jobs/${id}?wait_seconds=0.05`);
  const acked = await at.settle('ack', job, { result: 1 });
  await at.ok('DELETE', `/jobs/${cancelled.id}`);
  // The pruner takes less time to find jobs that their queue does not keep.
  await sleep(1500);
  expect((await at.get(job.id)).state).toBe('completed');
  expect((await at.get(cancelled.id)).state).toBe('cancelled');
  expect((await at.settle('ack', job)).text).toBe(acked.text);
  await sql(
    `update dibs.jobs set finished_at = finished_at - interval '10 seconds' where id = any ($1::uuid[])`,
    [[job.id, cancelled.id]],
  );
  for (const { id } of [job, cancelled])
    await eventually(async () => expectProblem(await here.call('GET', `/jobs/${id}`), 404, 'job_not_found'));
  await sql('update dibs.jobs set awaited_until = now() where id = $1', [late.id]);
  const last = await at.claimOne(job.queue);
  expect(last.id).toBe(late.id);
  await at.settle('ack', last);
  expectProblem(await here.call('GET', `/jobs/${late.id}`), 404, 'job_not_found');
});

test('a claim gets a ready job even while clients begin to wait for it', async () => {
  const queue = at.newQueue();
  for (let i = 0; i < 30; i++) {
    const { id } = await at.enqueue({ queue });
    const [claimed] = await Promise.all([
      at.claimOne(queue, { wait_seconds: 20 }),
      here.call('GET', `/jobs/${id}?wait_seconds=0.01`),
      there.call('GET', `/jobs/${id}?wait_seconds=0.01`),
    ]);
    expect(claimed.id).toBe(id);
    await at.settle('ack', claimed);
  }
});

test('a hundred clients that wait on two replicas use no connection, and each sees the end of its job', async () => {
  const queue = at.newQueue();
  const jobs = await at.enqueueAll(Array.from({ length: 100 }, (_, i) => ({ queue, payload: i })));
  /** On a slow machine, a hundred requests at once may be refused at first. */
  async function endOf(id: string, service: Service) {
    for (;;) {
      const answer = await service.call('GET', `/jobs/${id}?wait_seconds=60`);
      if (answer.status !== 503 && answer.body.finished_at !== null) return answer;
    }
  }
  const answers = jobs.map(({ id }, i) => endOf(id, i % 2 ? here : there));
  await until(async () => {
    // Not the jobs of other tests, which clients waited for, too.
    const rows = await sql(
      `select from dibs.jobs where queue_id = (select id from dibs.queues where name = $1) and awaited_until is not null`,
      [queue],
    );
    return rows.length >= 100;
  });
  for (let done = 0; done < 100; ) {
    const acks = (await at.claim(queue, { limit: 30 })).map(({ id, lease_token, payload }) => ({
      id,
      lease_token,
      result: payload,
    }));
    await at.ok('POST', '/jobs/settle', { acks });
    done += acks.length;
  }
  const found = await Promise.all(answers);
  expect(found.map(({ body }) => [body.state, body.result])).toEqual(jobs.map((_, i) => ['completed', i]));
});

test('the end of a job wakes the clients that wait for it, on this replica and on another one, without polling', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const replicas = [
    await startService({ databaseUrl: here.databaseUrl }),
    await startService({ databaseUrl: here.databaseUrl }),
  ];
  vi.useRealTimers();
  const [one, two] = replicas as [Service, Service];
  for (let i = 0; i < 5; i++) {
    const jobs = [await leased(), await leased()];
    const waits = [];
    for (const { id } of jobs) for (const on of replicas) waits.push(await waitFor(on, id));
    await moves(one).settle('ack', jobs[0], { result: 1 });
    await moves(two).settle('nack', jobs[1], { retry: false });
    const states = (await Promise.all(waits.map(({ answer }) => answer))).map(({ body }) => body.state);
    expect(states).toEqual(['completed', 'completed', 'dead', 'dead']);
  }
  for (const replica of replicas) await replica.stop();
});

test('a wait is answered even when the notification of the end is lost', async () => {
  const job = await leased();
  const { answer } = await waitFor(here, job.id);
  // As if another replica had done it, and its notification had been lost.
  await sql(
    `update dibs.jobs set state = 'completed', finished_at = now(), lease_expires_at = null, result = '7' where id = $1`,
    [job.id],
  );
  expect((await answer).body).toMatchObject({ state: 'completed', result: 7 });
});

test('a service that stops answers the clients that wait with the job as it is', async () => {
  const leaving = await startService({ databaseUrl: here.databaseUrl });
  const { id } = await at.enqueue({ queue: at.newQueue() });
  const { answer } = await waitFor(leaving, id);
  leaving.engine.stopWaiting();
  expect(await answer).toMatchObject({ status: 200, body: { id, state: 'ready' } });
  expect(await leaving.call('GET', `/jobs/${id}?wait_seconds=60`)).toMatchObject({ status: 200 });
  await leaving.stop();
});

test('a client that hangs up does not wait any longer', async () => {
  const leaving = await startService({ databaseUrl: here.databaseUrl });
  const url = await leaving.listen();
  const { id } = await at.enqueue({ queue: at.newQueue() });
  const client = new AbortController();
  const waiting = fetch(`${url}/jobs/${id}?wait_seconds=60`, { signal: client.signal }).catch(
    () => 'hung up',
  );
  await until(async () => (await awaitedUntil(id)) !== null);
  expect(leaving.engine.waitingForJobs()).toBe(1);
  client.abort();
  expect(await waiting).toBe('hung up');
  await until(() => leaving.engine.waitingForJobs() === 0);
  await leaving.stop();
});
