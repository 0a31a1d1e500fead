import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Call } from '../../src/postgres/pipeline.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let here: Service;
let there: Service;
let at: ReturnType<typeof moves>;
let queue: string;
/** The names of the statements of each round trip. */
const trips: (string | undefined)[][] = [];
beforeAll(async () => {
  here = await startService();
  there = await startService({ databaseUrl: here.databaseUrl });
  at = moves(here);
  queue = at.newQueue();
  await at.configure(queue, {});
  for (const db of here.pools) {
    const { pipeline } = db;
    db.pipeline = (calls: Call[], sent, turn) => {
      trips.push(calls.map(({ statement }) => statement.name));
      return pipeline(calls, sent, turn);
    };
  }
});
afterAll(async () => {
  await there.stop();
  await here.stop();
});

let keys = 0;
const post = (on: Service, jobs: object[], key = `batch-${++keys}`) =>
  on.call(
    'POST',
    '/jobs/batch',
    { jobs: jobs.map((job) => ({ queue, ...job })) },
    { 'idempotency-key': key },
  );

const insertedWith = (statement: string) => trips.filter((names) => names.includes(statement)).length;
const insertedOnce = () => insertedWith('enqueue/idempotency_keep_new');

test('batches with keys that come at once share round trips, and each is answered with its own jobs', async () => {
  trips.length = 0;
  const sent = Array.from({ length: 40 }, (_, batch) => ({
    key: `together-${batch}`,
    jobs: Array.from({ length: 1 + (batch % 4) }, (_, i) => ({
      payload: [batch, i],
      priority: i,
      headers: { texts: '"state" $& run_at' },
    })),
  }));
  const first = await Promise.all(sent.map(({ jobs, key }) => post(here, jobs, key)));
  expect(insertedOnce()).toBeGreaterThan(0);
  expect(insertedOnce()).toBeLessThan(20);
  const again = await Promise.all(sent.map(({ jobs, key }) => post(there, jobs, key)));
  expect(again.map(({ text }) => text)).toEqual(first.map(({ text }) => text));
  for (const [batch, { status, body }] of first.entries()) {
    expect(status).toBe(201);
    expect(body.jobs).toHaveLength(1 + (batch % 4));
    for (const [i, answered] of body.jobs.entries()) {
      const { payload, ...job } = await at.get(answered.id);
      expect(payload).toEqual([batch, i]);
      expect(answered).toEqual(job);
    }
  }
});

test.each([
  ['a delay', { delay_seconds: 600 }],
  ['a time to come', { run_at: new Date(Date.now() + 3_600_000).toISOString() }],
  ['a time that is over', { run_at: '2020-01-01T00:00:00Z' }],
  ['a group', { group: 'g' }],
  ['a unique key', { unique_key: 'u' }],
])('the kept answer to a batch that has a job with %s beside others tells of each job', async (_, more) => {
  await at.enqueue({ queue, group: 'g' });
  const [key, jobs] = [`mixed-${++keys}`, [{}, more, { fairness_key: 'k', expires_in_seconds: 600 }]];
  const first = await post(here, jobs, key);
  expect(first.status).toBe(201);
  expect((await post(there, jobs, key)).text).toBe(first.text);
  for (const answered of first.body.jobs) {
    const { payload: _payload, ...job } = await at.get(answered.id);
    expect(answered).toEqual(job);
  }
});

test('a batch with a key that does not fit enqueues none of its jobs, and keeps no answer', async () => {
  const full = at.newQueue();
  await at.configure(full, { max_ready: 2 });
  const jobs = [{ queue: full }, { queue: full }, { queue: full }];
  expectProblem(await post(here, jobs, 'full'), 429, 'queue_full');
  expect((await at.ok('GET', `/jobs?queue=${full}`)).jobs).toEqual([]);
  await at.configure(full, { max_ready: 3 });
  expect((await post(there, jobs, 'full')).status).toBe(201);
});

test('requests with new keys, in one round trip with a repeat, are carried out once, and the repeat gets its answer', async () => {
  const first = await post(here, [{ payload: 'first' }], 'repeated');
  trips.length = 0;
  const fresh = Array.from({ length: 10 }, (_, i) => post(here, [{ payload: i }], `fresh-${i}`));
  const repeat = post(here, [{ payload: 'first' }], 'repeated');
  const answers = await Promise.all(fresh);
  expect((await repeat).text).toBe(first.text);
  expect((await repeat).headers['idempotent-replayed']).toBe('true');
  expect(insertedWith('enqueue/idempotency_taken')).toBeGreaterThan(0);
  for (const [i, { status, body }] of answers.entries()) {
    expect(status).toBe(201);
    expect((await at.get(body.jobs[0].id)).payload).toBe(i);
    expect((await post(there, [{ payload: i }], `fresh-${i}`)).text).toBe(answers[i]?.text);
  }
  const { jobs } = await at.ok('GET', `/jobs?queue=${queue}&limit=100&include=payload`);
  const payloads = jobs.map(({ payload }: { payload: unknown }) => payload);
  for (const payload of ['first', ...fresh.keys()])
    expect(payloads.filter((other: unknown) => other === payload)).toHaveLength(1);
});

test('after a repeat, further repeats undo no round trip', async () => {
  const send = (key: string) => post(here, [{ payload: key }], key);
  for (const key of ['again', 'other', 'again']) await send(key);
  trips.length = 0;
  for (const { headers } of await Promise.all([send('again'), send('other')]))
    expect(headers['idempotent-replayed']).toBe('true');
  expect(insertedOnce()).toBe(0);
});
