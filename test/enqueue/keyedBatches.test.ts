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
  const { pipeline } = here.db;
  here.db.pipeline = (calls: Call[], sent) => {
    trips.push(calls.map(({ statement }) => statement.name));
    return pipeline(calls, sent);
  };
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

const insertedOnce = () => trips.filter((names) => names.includes('enqueue/insert_once')).length;

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
