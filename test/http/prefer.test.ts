import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { preferredWait } from '../../routes/http/answers/prefer.ts';
import { moves } from '../support/moves.ts';
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

const post = (job: object, headers: Record<string, string>, on = here) =>
  on.call('POST', '/jobs', job, headers);

const said = ({ status, headers, text }: Answer) => ({ status, text, location: headers.location });

/** A worker for one job. */
async function work(queue: string, verb: 'ack' | 'nack', body: object): Promise<Json> {
  const job = await at.claimOne(queue, { wait_seconds: 20 });
  expect((await at.settle(verb, job, body)).status).toBe(200);
  return job;
}

describe('Prefer: wait on POST /jobs', () => {
  test.each([
    ['on this replica', () => here],
    ['on another replica', () => there],
  ])('answers 200 with the finished job when it finishes in time, %s', async (_, on) => {
    const queue = at.newQueue();
    const [answer, job] = await Promise.all([
      post({ queue, payload: { n: 1 } }, { prefer: 'wait=20' }, on()),
      work(queue, 'ack', { result: { ok: true } }),
    ]);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'preference-applied': 'wait=20', location: `/jobs/${job.id}` });
    expect(answer.body).toMatchObject({
      id: job.id,
      state: 'completed',
      result: { ok: true },
      payload: { n: 1 },
    });
  });

  test('answers 200 with the dead or cancelled job, too', async () => {
    const queue = at.newQueue();
    const [dead] = await Promise.all([
      post({ queue }, { prefer: 'wait=20' }),
      work(queue, 'nack', { retry: false, error: 'no' }),
    ]);
    expect(dead).toMatchObject({ status: 200, body: { state: 'dead', last_error: 'no' } });
    const answer = post({ queue, delay_seconds: 600 }, { prefer: 'wait=20' });
    const { id } = await until(
      async () => (await at.ok('GET', `/jobs?queue=${queue}&state=scheduled`)).jobs[0],
    );
    await at.ok('DELETE', `/jobs/${id}`);
    expect(await answer).toMatchObject({ status: 200, body: { id, state: 'cancelled' } });
  });

  test('answers 201 with the enqueued job when it does not finish in time', async () => {
    const queue = at.newQueue();
    const answer = await post({ queue, payload: 1 }, { prefer: 'wait=1' });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({
      'preference-applied': 'wait=1',
      location: `/jobs/${answer.body.id}`,
    });
    expect(answer.body).toMatchObject({ state: 'ready', result: null });
    expect(answer.body).not.toHaveProperty('payload');
    const job = await at.claimOne(queue);
    await at.settle('ack', job, { result: 2 });
    expect((await at.get(job.id)).result).toBe(2);
  });

  test('answers 201 when the job is purged meanwhile: it was enqueued', async () => {
    const queue = at.newQueue();
    const answer = post({ queue }, { prefer: 'wait=20' });
    await until(
      async () =>
        (await at.ok('POST', `/queues/${queue}/purge`, { states: ['ready'] }).catch(() => ({}))).count > 0,
    );
    expect(await answer).toMatchObject({ status: 201, body: { state: 'ready' } });
  });

  test('is ignored when it is malformed, and on POST /jobs/batch', async () => {
    const queue = at.newQueue();
    for (const prefer of ['wait=soon', 'respond-async', 'wait', '']) {
      const answer = await post({ queue }, { prefer });
      expect(answer.status).toBe(201);
      expect(answer.headers).not.toHaveProperty('preference-applied');
    }
    const batch = await here.call('POST', '/jobs/batch', { jobs: [{ queue }] }, { prefer: 'wait=20' });
    expect(batch.status).toBe(201);
    expect(batch.headers).not.toHaveProperty('preference-applied');
  });

  test('waits for the job that already has the unique_key', async () => {
    const queue = at.newQueue();
    const first = await at.enqueue({ queue, unique_key: 'report' });
    const answer = post({ queue, unique_key: 'report' }, { prefer: 'wait=20' }, there);
    await until(async () => {
      const [row] = await onAll<{ awaited: boolean }>(
        here.databaseUrl,
        'select awaited_until is not null as awaited from dibs.jobs where id = $1',
        [first.id],
      );
      return row?.awaited;
    });
    await work(queue, 'ack', { result: 5 });
    expect(await answer).toMatchObject({
      status: 200,
      body: { id: first.id, state: 'completed', result: 5, deduplicated: true },
    });
  });

  test.each([
    ['true: the job waited', { replaced: true }, async () => undefined],
    ['false: the job was leased', { replaced: false }, (queue: string) => at.claimOne(queue)],
  ])(
    'says whether the job was replaced, also of the finished one, and to a repeat: %s',
    async (_, said, lease) => {
      const queue = at.newQueue();
      await at.ok('PUT', `/queues/${queue}`, { retention_seconds: 600 });
      const first = await at.enqueue({ queue, unique_key: 'report', payload: 1 });
      const leased = await lease(queue);
      const job = { queue, unique_key: 'report', payload: 2, on_duplicate: 'replace' };
      const keyed = { 'idempotency-key': queue };
      const alone = post(job, { prefer: 'wait=20' });
      const answer = post(job, { prefer: 'wait=20', ...keyed });
      await until(async () => here.engine.waitingForJobs() === 2);
      await at.settle('ack', leased ?? (await at.claimOne(queue)));
      const told = { id: first.id, state: 'completed', deduplicated: true, ...said };
      expect(await alone).toMatchObject({ status: 200, body: told });
      expect(await answer).toMatchObject({ status: 200, body: told });
      expect(await post(job, keyed, there)).toMatchObject({ status: 200, body: told });
    },
  );

  test('a job that was enqueued without it is not kept', async () => {
    const queue = at.newQueue();
    await post({ queue }, {});
    const job = await work(queue, 'ack', {});
    expect((await here.call('GET', `/jobs/${job.id}`)).status).toBe(404);
  });
});

describe('Prefer: wait with an Idempotency-Key', () => {
  test('every replica answers again with the finished job, even when the job is long gone', async () => {
    const queue = at.newQueue();
    const job = { queue, payload: '1.0' };
    const headers = { prefer: 'wait=20', 'idempotency-key': 'finished' };
    const [first] = await Promise.all([post(job, headers), work(queue, 'ack', { result: 1 })]);
    expect(first).toMatchObject({ status: 200, body: { state: 'completed', result: 1 } });
    await onAll(here.databaseUrl, 'delete from dibs.jobs');
    for (const on of [here, there]) {
      expect(said(await post(job, headers, on))).toEqual(said(first));
      expect(said(await post(job, { 'idempotency-key': 'finished' }, on))).toEqual(said(first));
    }
    expect(await at.claim(queue)).toEqual([]);
  });

  test('every replica answers again with the enqueued job when it did not finish in time', async () => {
    const queue = at.newQueue();
    const headers = { prefer: 'wait=1', 'idempotency-key': 'unfinished' };
    const first = await post({ queue }, headers);
    expect(first.status).toBe(201);
    await work(queue, 'ack', {});
    for (const on of [here, there]) expect(said(await post({ queue }, headers, on))).toEqual(said(first));
  });

  test('a repeat of the request waits as well, on every replica, and gets the same answer', async () => {
    const queue = at.newQueue();
    const headers = { prefer: 'wait=20', 'idempotency-key': 'meanwhile' };
    const all = [post({ queue }, headers)];
    await until(async () => (await at.ok('GET', `/jobs?queue=${queue}`)).jobs.length > 0);
    for (const on of [here, there, there]) all.push(post({ queue }, headers, on));
    all.push(post({ queue }, { 'idempotency-key': 'meanwhile' }, there));
    await work(queue, 'ack', { result: 'once' });
    const answers = await Promise.all(all);
    expect(answers[0]).toMatchObject({ status: 200, body: { result: 'once' } });
    for (const answer of answers) expect(said(answer)).toEqual(said(answers[0] as Answer));
    expect(answers.map(({ headers }) => headers['idempotent-replayed'])).toEqual([
      undefined,
      ...Array.from({ length: 4 }, () => 'true'),
    ]);
    expect(await at.claim(queue)).toEqual([]);
  });

  test('a repeat on a replica that stops is answered with the enqueued job', async () => {
    const leaving = await startService({ databaseUrl: here.databaseUrl });
    const queue = at.newQueue();
    const headers = { prefer: 'wait=20', 'idempotency-key': 'leaving' };
    const first = post({ queue }, headers);
    await until(async () => (await at.ok('GET', `/jobs?queue=${queue}`)).jobs.length > 0);
    const repeated = post({ queue }, headers, leaving);
    leaving.engine.stopWaiting();
    expect(await repeated).toMatchObject({ status: 201, body: { state: 'ready' } });
    await leaving.stop();
    await work(queue, 'ack', {});
    expect((await first).status).toBe(200);
  });

  test('a repeat stops waiting when the time of the first request is over, as when its replica has crashed', async () => {
    const queue = at.newQueue();
    const headers = { prefer: 'wait=20', 'idempotency-key': 'gone' };
    const first = post({ queue }, headers);
    await until(async () => (await at.ok('GET', `/jobs?queue=${queue}`)).jobs.length > 0);
    await onAll(here.databaseUrl, 'update dibs.idempotency_keys set open_until = now() where key = $1', [
      'gone',
    ]);
    expect(await post({ queue }, headers, there)).toMatchObject({ status: 201, body: { state: 'ready' } });
    await work(queue, 'ack', {});
    expect((await first).status).toBe(200);
  });
});

test.each([
  ['wait=20', 20],
  ['WAIT=5', 5],
  ['wait = "7"', 7],
  ['respond-async, wait=10', 10],
  ['respond-async,wait=10;foo=bar, return=minimal', 10],
  ['foo="a, wait=3", wait=4', 4],
  ['foo="a\\", wait=3" ; wait=5, wait=6', 6],
  ['wait=10, wait=20', 10],
  ['wait=86400', 60],
  ['wait=99999999999999999999999999', 60],
  ['wait=0', 0],
  ['wait=1.5', undefined],
  ['wait=-1', undefined],
  ['wait=x, wait=20', undefined],
  ['wait=""', undefined],
  ['wait', undefined],
  ['waiting=20', undefined],
  ['foo="wait=20', undefined],
  ['', undefined],
  [undefined, undefined],
])('Prefer: %s asks to wait for %s seconds', (header, seconds) => {
  expect(preferredWait(header)).toBe(seconds);
});

test('several Prefer headers are read as one', async () => {
  const url = await here.listen();
  const queue = at.newQueue();
  const worked = work(queue, 'ack', { result: 1 });
  const response = await fetch(`${url}/jobs`, {
    method: 'POST',
    headers: [
      ['content-type', 'application/json'],
      ['prefer', 'respond-async'],
      ['prefer', 'wait=20'],
    ],
    body: JSON.stringify({ queue }),
  });
  await worked;
  expect(response.status).toBe(200);
  expect(response.headers.get('preference-applied')).toBe('wait=20');
});
