import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepared } from '../../src/postgres/statements.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { nodes, outline, prepare } from '../support/plans.ts';
import { head, rawClient } from '../support/rawClient.ts';
import { served } from '../support/served.ts';
import { type Answer, type Service, startService } from '../support/service.ts';
import { AT_HOME, databaseOf, onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let here: Service;
let there: Service;
let url: string;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  here = await startService();
  url = await here.listen();
  there = await startService({ databaseUrl: here.databaseUrl });
  at = moves(here);
});
afterAll(async () => {
  await there.stop();
  await here.stop();
});

let keys = 0;
const newKey = () => `key-${++keys}`;

const post = (on: Service, path: string, body: unknown, key: string) =>
  on.call('POST', path, body, { 'idempotency-key': key });

const answerOf = ({ status, headers, text }: Answer) => ({
  status,
  text,
  location: headers.location,
  type: headers['content-type'],
});

/** Whether the answer says that it was given before. */
const isReplayed = ({ headers }: Answer) => headers['idempotent-replayed'];

const sql = <Row extends object>(text: string, values: unknown[] = []) =>
  onAll<Row & Record<string, unknown>>(here.databaseUrl, text, values);

/** Makes the record of a key this much older. */
const age = (key: string, by: string) =>
  sql(
    `update dibs.idempotency_keys
     set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where key = $1`,
    [key, by],
  );

const jobsIn = async (queue: string) => (await at.ok('GET', `/jobs?queue=${queue}`)).jobs.length;

describe.each([
  ['POST /jobs', '/jobs', (job: object) => job],
  ['POST /jobs/batch', '/jobs/batch', (job: object) => ({ jobs: [job, { ...job, payload: 2 }] })],
])('%s', (_, path, bodyOf) => {
  const perRequest = path === '/jobs' ? 1 : 2;

  test('a repeated request gets the same answer on every replica, and enqueues nothing more', async () => {
    const queue = at.newQueue();
    const body = bodyOf({ queue, payload: 1, headers: { 'ä"\\': '\ud83d\ude00' } });
    const key = newKey();
    const first = await post(here, path, body, key);
    expect(first.status).toBe(201);
    expect(isReplayed(first)).toBe(undefined);
    for (const on of [here, there, here]) {
      const repeat = await post(on, path, body, key);
      expect(answerOf(repeat)).toEqual(answerOf(first));
      expect(isReplayed(repeat)).toBe('true');
    }
    expect(await jobsIn(queue)).toBe(perRequest);
  });

  test('a repeated request gets the same answer after its jobs and their queue are gone', async () => {
    const queue = at.newQueue();
    const body = bodyOf({ queue });
    const key = newKey();
    const first = await post(here, path, body, key);
    for (const job of await at.claim(queue, { limit: 10 })) await at.settle('ack', job);
    expect(answerOf(await post(there, path, body, key))).toEqual(answerOf(first));
    await at.ok('DELETE', `/queues/${queue}`);
    expect(answerOf(await post(there, path, body, key))).toEqual(answerOf(first));
    expectProblem(await here.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
  });

  test('32 equal requests at once, on two replicas, get one answer and enqueue once', async () => {
    for (let i = 0; i < 5; i++) {
      const queue = at.newQueue();
      const body = bodyOf({ queue });
      const key = newKey();
      const answers = await Promise.all(
        Array.from({ length: 32 }, (_, i) => post(i % 2 ? here : there, path, body, key)),
      );
      expect(answers[0]?.status).toBe(201);
      expect(new Set(answers.map((answer) => JSON.stringify(answerOf(answer)))).size).toBe(1);
      expect(answers.filter((answer) => isReplayed(answer) !== 'true')).toHaveLength(1);
      expect(await jobsIn(queue)).toBe(perRequest);
    }
  });

  test('the same JSON is the same body, with members in any order and white space anywhere', async () => {
    const queue = at.newQueue();
    const key = newKey();
    const one = { queue, payload: { a: 1, b: [{ c: 1, d: 'x' }, 2] }, headers: { x: '1', y: '2' } };
    const other = { headers: { y: '2', x: '1' }, payload: { b: [{ d: 'x', c: 1 }, 2], a: 1 }, queue };
    const first = await post(here, path, bodyOf(one), key);
    expect(first.status).toBe(201);
    for (const on of [here, there])
      for (const body of [
        bodyOf(other),
        JSON.stringify(bodyOf(other), null, 2),
        ` ${JSON.stringify(bodyOf(one))}\n`,
      ])
        expect(answerOf(await post(on, path, body, key))).toEqual(answerOf(first));
    expect(await jobsIn(queue)).toBe(perRequest);
  });

  test('another body with the same key, even 1.0 for 1, is 422 idempotency_key_reused and enqueues nothing', async () => {
    const queue = at.newQueue();
    const body = bodyOf({ queue, max_attempts: 7 });
    const key = newKey();
    const first = await post(here, path, body, key);
    const otherwise = JSON.stringify(body).replace('"max_attempts":7', '"max_attempts":7.0');
    for (const on of [here, there]) {
      expectProblem(await post(on, path, bodyOf({ queue, priority: 1 }), key), 422, 'idempotency_key_reused');
      const refused = await post(on, path, otherwise, key);
      expectProblem(refused, 422, 'idempotency_key_reused');
      expect(isReplayed(refused)).toBe(undefined);
    }
    expect(answerOf(await post(here, path, body, key))).toEqual(answerOf(first));
    expect(await jobsIn(queue)).toBe(perRequest);
  });

  test('of different bodies at once with one key, on two replicas, one enqueues and the others are 422', async () => {
    const queue = at.newQueue();
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        post(i % 2 ? here : there, path, bodyOf({ queue, priority: i >> 1 }), key),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 201);
    // Two, when the other replica received the same body before the key was taken.
    expect([1, 2]).toContain(accepted.length);
    expect(new Set(accepted.map(({ text }) => text)).size).toBe(1);
    for (const answer of answers)
      if (answer.status !== 201) expectProblem(answer, 422, 'idempotency_key_reused');
    expect(await jobsIn(queue)).toBe(perRequest);
  });

  test('a refusal is not remembered', async () => {
    const queue = at.newQueue();
    const key = newKey();
    expectProblem(await post(here, path, bodyOf({ queue, priority: 101 }), key), 400, 'invalid_request');
    const late = bodyOf({ queue, run_at: '9999-01-01T00:00:00Z' });
    expectProblem(await post(here, path, late, key), 400, 'invalid_request');
    expectProblem(await post(here, path, bodyOf({ queue }), `${key}\0`), 400, 'invalid_request');
    const first = await post(there, path, bodyOf({ queue }), key);
    expect(first.status).toBe(201);
    expect(answerOf(await post(here, path, bodyOf({ queue }), key))).toEqual(answerOf(first));
  });

  test('a key has 1 to 256 characters without NUL, and stands in one header', async () => {
    const queue = at.newQueue();
    const body = bodyOf({ queue });
    const where = { in: 'header', path: '/idempotency-key' };
    for (const key of ['', 'x'.repeat(257), 'a\0b']) {
      const answer = await post(here, path, body, key);
      expectProblem(answer, 400, 'invalid_request');
      expect(answer.body.errors).toEqual([expect.objectContaining(where)]);
    }
    const text = JSON.stringify(body);
    const two = 'Idempotency-Key: a\r\nIdempotency-Key: b';
    const twice = rawClient(url, head(path, `Content-Length: ${Buffer.byteLength(text)}\r\n${two}`) + text);
    expect(await twice.status()).toBe(400);
    await until(() => twice.answer.includes('"path":"/idempotency-key"'));
    twice.socket.destroy();
    expectProblem(await here.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
    for (const key of ['x', 'x'.repeat(256), '"quoted"', 'é', "'; drop table", '{}']) {
      const first = await post(here, path, body, key);
      expect(first.status).toBe(201);
      expect(answerOf(await post(there, path, body, key))).toEqual(answerOf(first));
    }
  });

  test('after 24 hours the key is free again, even while its record is still there', async () => {
    const queue = at.newQueue();
    const body = bodyOf({ queue });
    const key = newKey();
    const first = await post(here, path, body, key);
    await age(key, '23 hours 59 minutes');
    expect(answerOf(await post(there, path, body, key))).toEqual(answerOf(first));
    await age(key, '1 minute');
    const other = bodyOf({ queue, priority: 1 });
    const second = await post(there, path, other, key);
    expect(second.status).toBe(201);
    expect(second.text).not.toBe(first.text);
    expect(answerOf(await post(here, path, other, key))).toEqual(answerOf(second));
    expectProblem(await post(here, path, body, key), 422, 'idempotency_key_reused');
    expect(await jobsIn(queue)).toBe(2 * perRequest);
  });
});

test('a record of an older Dibs is answered to a repeat as it was written, with any texts in it', async () => {
  const queue = at.newQueue();
  const key = newKey();
  const first = await post(here, '/jobs', { queue }, key);
  // What a Dibs before migration 0027 wrote, of a job that had finished while the request waited. Here it took an expired key again.
  const body = first.text
    .replace('"headers":{}', '"payload":{"b":1.0,"a":"\\u0000","a":1e400},"headers":{"b":"\\"","a":""}')
    .replace('"result":null', '"result":"\\u0000"');
  await sql(
    `update dibs.idempotency_keys
     set status = 200, location = '/jobs/x', body = $2 where key = $1`,
    [key, body],
  );
  for (const on of [here, there]) {
    const repeat = await post(on, '/jobs', { queue }, key);
    expect(answerOf(repeat)).toEqual({ ...answerOf(first), status: 200, location: '/jobs/x', text: body });
    expect(isReplayed(repeat)).toBe('true');
  }
  await age(key, '24 hours');
  const second = await post(there, '/jobs', { queue }, key);
  expect(second.status).toBe(201);
  expect(answerOf(await post(here, '/jobs', { queue }, key))).toEqual(answerOf(second));
});

test('an older replica that meets a record of jobs answers 503, and enqueues nothing', async () => {
  const queue = at.newQueue();
  const key = newKey();
  const take = newKey();
  await post(here, '/jobs', { queue }, key);
  await at.ok('POST', '/jobs', { queue, unique_key: 'u' });
  await post(here, '/jobs', { queue, unique_key: 'u' }, take);
  // Such a replica answers what these three columns say.
  const kept = await sql<{ status: number; location: null; body: string }>(
    'select status, location, body from dibs.idempotency_keys where key = any ($1)',
    [[key, take]],
  );
  expect(kept).toHaveLength(2);
  for (const { status, location, body } of kept) {
    expect({ status, location }).toEqual({ status: 503, location: null });
    expect(JSON.parse(body)).toMatchObject({ status: 503, code: 'unavailable', outcome: 'unknown' });
  }
});

test('a batch of jobs of all kinds is told again as it was: delays, groups, headers, duplicates, of jobs that changed since', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue, unique_key: 'taken', headers: { h: '\ud83d\ude00' } });
  for (const more of [[], [{ queue, unique_key: 'taken' }]]) {
    const key = newKey();
    const group = newKey();
    const jobs = [
      { queue, payload: 1, priority: -3, max_attempts: 7, headers: { b: '2', a: '$&"\\' } },
      { queue, delay_seconds: 600, fairness_key: 'f' },
      { queue, group },
      { queue, group },
      ...more,
    ];
    const first = await post(here, '/jobs/batch', { jobs }, key);
    expect(first.status).toBe(201);
    for (const job of await at.claim(queue, { limit: 10 })) await at.settle('nack', job, { retry: false });
    for (const on of [here, there])
      expect(answerOf(await post(on, '/jobs/batch', { jobs }, key))).toEqual(answerOf(first));
  }
});

test('another body with the same key is refused at once while the first request waits for its result', async () => {
  const queue = at.newQueue();
  const key = newKey();
  const waiting = here.call('POST', '/jobs', { queue }, { 'idempotency-key': key, prefer: 'wait=20' });
  const [job] = await at.claim(queue, { wait_seconds: 20 });
  for (const on of [here, there]) {
    const started = performance.now();
    expectProblem(await post(on, '/jobs', { queue, priority: 1 }, key), 422, 'idempotency_key_reused');
    expect(performance.now() - started).toBeLessThan(10_000);
  }
  await at.settle('ack', job as never);
  expect((await waiting).status).toBe(200);
  expect(await jobsIn(queue)).toBeLessThanOrEqual(1);
});

test('a key holds for its own route only', async () => {
  const queue = at.newQueue();
  const key = newKey();
  // No body is valid on both routes. If they shared the key, the second would be 422.
  expect((await post(here, '/jobs', { queue }, key)).status).toBe(201);
  expect((await post(here, '/jobs/batch', { jobs: [{ queue }] }, key)).status).toBe(201);
  expect(await jobsIn(queue)).toBe(2);
});

test('without the header every request enqueues, and reads no keys', async () => {
  const queue = at.newQueue();
  await sql('alter table dibs.idempotency_keys rename to away');
  try {
    for (let i = 0; i < 2; i++) {
      expect((await here.call('POST', '/jobs', { queue })).status).toBe(201);
      expect(
        (await here.call('POST', '/jobs/batch', { jobs: [{ queue }, { queue: `${queue}.2` }] })).status,
      ).toBe(201);
    }
  } finally {
    await sql('alter table dibs.away rename to idempotency_keys');
  }
  expect(await jobsIn(queue)).toBe(4);
});

test('a batch of 1000 jobs over several queues gets the whole answer again', async () => {
  const queues = [at.newQueue(), at.newQueue()];
  const jobs = Array.from({ length: 1000 }, (_, i) => ({ queue: queues[i % 2], payload: i }));
  const key = newKey();
  const first = await post(here, '/jobs/batch', { jobs }, key);
  expect(first.body.jobs).toHaveLength(1000);
  expect(answerOf(await post(there, '/jobs/batch', { jobs }, key))).toEqual(answerOf(first));
  for (const queue of queues) expect((await at.drain(queue)).length).toBe(500);
});

test('an enqueue with a key wakes the claims that wait, on every replica', async () => {
  const queue = at.newQueue();
  await at.ok('POST', `/queues/${queue}/pause`);
  await at.ok('POST', `/queues/${queue}/resume`);
  for (const on of [here, there]) {
    const claim = moves(on).claim(queue, { wait_seconds: 20 });
    await post(here, '/jobs', { queue, payload: 'woken' }, newKey());
    expect((await claim).map((job) => job.payload)).toEqual(['woken']);
  }
});

/** Runs `work` while another transaction is open, which has run `begun`. `release` rolls it back. */
async function beside<T>(
  queue: string,
  begun: string,
  work: (release: () => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const other = await openClient(await databaseOf(here.databaseUrl, queue));
  try {
    await other.query('begin');
    await other.query(begun);
    return await work(() => other.query('rollback'));
  } finally {
    await other.end();
  }
}

const BLOCK_INSERTS = 'lock table dibs.jobs in share row exclusive mode';

/** How many transactions wait for a lock on a key, or on the table of the keys. */
const lockWaits = async () =>
  (
    await sql(
      `select from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like '%idempotency_keys%'`,
    )
  ).length;

test('a repeat waits while another replica runs the first request, and gets the same answer', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const key = newKey();
  const [first, second, other] = await beside(queue, BLOCK_INSERTS, async (release) => {
    const first = post(here, '/jobs', { queue }, key);
    await eventually(async () =>
      expect(
        await sql(
          `select from pg_locks l join pg_database d on d.oid = l.database
           where d.datname = current_database() and l.relation = 'dibs.jobs'::regclass and not l.granted`,
        ),
      ).toHaveLength(1),
    );
    const second = post(there, '/jobs', { queue }, key);
    const other = post(there, '/jobs', { queue, priority: 1 }, key);
    await eventually(async () => expect(await lockWaits()).toBe(1));
    await release();
    return Promise.all([first, second, other]);
  });
  expect(first.status).toBe(201);
  expect(answerOf(second)).toEqual(answerOf(first));
  expectProblem(other, 422, 'idempotency_key_reused');
  expect(await jobsIn(queue)).toBe(2);
});

test('when the first request takes too long, the repeat is 503 with Retry-After, and both enqueue once together', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const key = newKey();
  const answers = await beside(queue, BLOCK_INSERTS, async () =>
    Promise.all([here, there].map((on) => post(on, '/jobs', { queue }, key))),
  );
  for (const answer of answers) {
    expectProblem(answer, 503, 'unavailable');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  }
  const again = await post(there, '/jobs', { queue }, key);
  expect(again.status).toBe(201);
  expect(await jobsIn(queue)).toBe(2);
});

test('requests that wait for a key leave connections to the requests without a key', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const held = Array.from({ length: 20 }, newKey);
  const take = `insert into dibs.idempotency_keys (route, key, fingerprint, expires_at)
    select 'POST /jobs', key, sha256(''), now() + interval '1 day' from unnest('{${held}}'::text[]) key`;
  await beside(queue, take, async (release) => {
    const withKey = held.map((key) => post(here, '/jobs', { queue }, key));
    await eventually(async () => expect(await lockWaits()).toBeGreaterThan(0));
    for (let i = 0; i < 20; i++) expect((await here.call('POST', '/jobs', { queue })).status).toBe(201);
    // Between two tries, none of them waits.
    await eventually(async () => expect(await lockWaits()).toBeGreaterThan(0));
    await release();
    for (const answer of await Promise.all(withKey)) expect([201, 503]).toContain(answer.status);
  });
});

test('a key that another transaction holds does not hold up requests with other keys, sent at the same moment', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const held = newKey();
  const take = `insert into dibs.idempotency_keys (route, key, fingerprint, expires_at)
    values ('POST /jobs', '${held}', sha256(''), now() + interval '1 day')`;
  await beside(queue, take, async (release) => {
    const first = post(here, '/jobs', { queue }, held);
    const others = Array.from({ length: 60 }, newKey).map((key) =>
      served(() => post(here, '/jobs', { queue }, key)),
    );
    for (const answer of await Promise.all(others)) expect(answer.status).toBe(201);
    await release();
    expect([201, 503]).toContain((await first).status);
  });
  expect(await jobsIn(queue)).toBeGreaterThanOrEqual(61);
});

test.each([
  ['a delay', 'scheduled', () => ({ delay_seconds: 600 })],
  ['a time to come', 'scheduled', () => ({ run_at: new Date(Date.now() + 3_600_000).toISOString() })],
  ['a time that is over', 'ready', () => ({ run_at: '2020-01-01T00:00:00Z' })],
  ['a group', 'blocked', () => ({ group: 'g' })],
  ['texts with marks of replacement', 'ready', () => ({ headers: { a: "$& $1 $$ $'" }, fairness_key: '$&' })],
])('the kept answer to a job with %s is the first one, and tells of the job', async (_, state, more) => {
  const queue = at.newQueue();
  await at.enqueue({ queue, group: 'g' });
  const [key, body] = [newKey(), { queue, ...more() }];
  const first = await post(here, '/jobs', body, key);
  expect(first.status).toBe(201);
  for (const on of [here, there])
    expect(answerOf(await post(on, '/jobs', body, key))).toEqual(answerOf(first));
  const { payload: _payload, ...job } = await at.get(first.body.id);
  expect(first.body).toEqual(job);
  expect(job.state).toBe(state);
});

test('32 requests with keys of their own, into a queue that each of them may create, are all carried out', async () => {
  const queue = at.newQueue();
  const sent = Array.from({ length: 32 }, (_, i) => ({ key: newKey(), body: { queue, payload: i } }));
  const sendAll = (on: Service) =>
    Promise.all(sent.map(({ key, body }) => served(() => post(on, '/jobs', body, key))));
  const first = await sendAll(here);
  const again = await sendAll(there);
  expect(again.map(answerOf)).toEqual(first.map(answerOf));
  expect(await jobsIn(queue)).toBe(32);
});

test('a repeat is answered on a full queue, and another request is not', async () => {
  const queue = at.newQueue();
  await at.configure(queue, { max_ready: 1 });
  const key = newKey();
  const first = await post(here, '/jobs', { queue }, key);
  expect(first.status).toBe(201);
  expect(answerOf(await post(there, '/jobs', { queue }, key))).toEqual(answerOf(first));
  expectProblem(await post(there, '/jobs', { queue }, newKey()), 429, 'queue_full');
});

test('a replica that stops in its transaction loses the key to a repeat on another replica', async () => {
  const queue = at.newQueue();
  await at.configure(queue, AT_HOME);
  const key = newKey();
  const take = prepared('enqueue/idempotency_take');
  const parameters = { route: 'POST /jobs', key, fingerprint: '0'.repeat(64) };
  const stopped = new Error('The replica goes on, and finds its transaction gone.');
  const frozen = here.db.transaction(async (transaction) => {
    await transaction.query(take, parameters);
    await eventually(async () => expect((await post(there, '/jobs', { queue }, key)).status).toBe(201));
    await expect(transaction.query(take, parameters)).rejects.toThrow();
    throw stopped;
  });
  await expect(frozen).rejects.toBe(stopped);
});

test('the records of keys are deleted after 24 hours, and not before', async () => {
  const [old, young] = [newKey(), newKey()];
  for (const key of [old, young]) await post(here, '/jobs', {}, key);
  await age(old, '24 hours');
  await eventually(async () => {
    const rows = await sql('select key from dibs.idempotency_keys where key = any ($1)', [[old, young]]);
    expect(rows).toEqual([{ key: young }]);
  });
});

const NO_JOBS = { jobs: '[]', open_seconds: null, replaced: null, batches: null };

describe.each([
  ['never analyzed', ''],
  ['vacuumed while empty', 'vacuum analyze dibs.idempotency_keys'],
])('with a table %s, among 50,000 keys', (_, prelude) => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createDatabase();
    client = await openClient(database.url);
    await client.query(prelude);
    await client.query(
      `insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, status, body)
       select 'POST /jobs', 'key-' || n, sha256(n::text::bytea), now() + (n - 100) * interval '1 minute', 201, '{}'
       from generate_series(1, 50000) n`,
    );
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  test.each([
    ['enqueue/idempotency_find', { route: 'POST /jobs', key: 'key-700', fingerprint: '00' }, 1],
    ['enqueue/idempotency_keep', { ...NO_JOBS, route: 'POST /jobs', key: 'key-700' }, 1],
    ['maintenance/prune_answers', { from: '-infinity' }, 100],
  ] as const)('%s reads only the rows that it needs', async (name, parameters, rows) => {
    const plan = await (await prepare(client, name, 'custom')).run(parameters);
    const scans = nodes(plan).filter(
      (node) => node['Relation Name'] === 'idempotency_keys' && node['Actual Rows'],
    );
    expect(scans.length, outline(plan)).toBeGreaterThan(0);
    for (const scan of scans) {
      expect(scan['Node Type'], outline(plan)).not.toBe('Seq Scan');
      expect(scan['Actual Rows'], outline(plan)).toBe(rows);
    }
  });
});
