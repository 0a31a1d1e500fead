import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { readSql } from '../../src/postgres/statements.ts';
import { as, speakingAccess } from '../support/access.ts';
import { openTransaction } from '../support/beside.ts';
import { onServer, openClient } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { useThreeDatabases } from '../support/threeDatabases.ts';
import { until } from '../support/until.ts';

const { databases, replicas, withAll } = useThreeDatabases();
let one: Service;
let two: Service;
beforeAll(() => {
  ({ one, two } = replicas);
});

const inDatabase = <Row extends object>(name: string, text: string): Promise<Row[]> =>
  onServer<Row>(databases[name]?.url as string, text);

const put = (queue: string, database: string, config: object = {}) =>
  one.call('PUT', `/queues/${queue}`, { ...config, database });
const enqueue = (job: object, headers: Record<string, string> = {}, service = one) =>
  service.call('POST', '/jobs', job, headers);
const claim = async (queue: string, more: object = {}, service = two) => {
  const { status, body } = await service.call('POST', '/jobs/claim', {
    queues: [queue],
    limit: 100,
    ...more,
  });
  expect(status).toBe(200);
  return body.jobs;
};

async function relocate(queue: string, to: string, service = one) {
  const { status, body } = await service.call('POST', `/queues/${queue}/relocate`, { to });
  expect({ status, body }).toMatchObject({ status: 202, body: { verb: 'relocate', queue, to } });
  return until(
    async () => {
      const { body: now } = await two.call('GET', `/operations/${body.id}`);
      return now.state === 'running' ? undefined : now;
    },
    { withinMs: 20_000 },
  );
}

/** What is left in a database of a queue with this number. */
async function leftIn(name: string, queueId: number): Promise<string[]> {
  const tables = [
    'jobs',
    'relocating_jobs',
    'relocating_queues',
    'unique_windows',
    'claim_limits',
    'claim_log',
    'relay_arrivals',
  ];
  const left: string[] = [];
  for (const table of tables) {
    const rows = await inDatabase(name, `select from dibs.${table} where queue_id = ${queueId} limit 1`);
    if (rows.length > 0) left.push(table);
  }
  return left;
}

const queueIdOf = (jobId: string) => Number.parseInt(jobId.slice(-6), 16);

test.each([
  ['a', 'b'],
  ['home', 'a'],
  ['b', 'home'],
])(
  'a queue that is relocated from %s to %s keeps its jobs, with their ids, leases and order',
  async (from, to) => {
    const queue = `kept-${from}`;
    const config = { retention_seconds: 60, max_attempts: 7, backoff: { kind: 'constant', base_seconds: 3 } };
    await put(queue, from, config);
    const payloads = ['{"z":1.0,"a":"\\u0000"}', '1e400', '"text"'];
    for (const payload of payloads)
      await one.call('POST', '/jobs', `{"queue":"${queue}","payload":${payload},"headers":{"a":"b"}}`);
    for (let i = 0; i < 20; i++) await enqueue({ queue, payload: i, priority: i % 3 });
    await enqueue({ queue, payload: 'later', delay_seconds: 3600 });
    const [first, second, third] = await claim(queue, { limit: 3, worker: 'w', lease_seconds: 60 });
    await one.call('POST', `/jobs/${third.id}/nack`, {
      lease_token: third.lease_token,
      retry: false,
      error: 'no',
    });
    const [{ body: wasQueue }, { body: was }] = await Promise.all([
      one.call('GET', `/queues/${queue}`),
      one.call('GET', `/jobs?queue=${queue}&include=payload&limit=1000`),
    ]);

    expect(await relocate(queue, to)).toMatchObject({ state: 'done', matched: 24, done: 24, error: null });

    const { body: is } = await two.call('GET', `/jobs?queue=${queue}&include=payload&limit=1000`);
    expect(is).toEqual(was);
    expect((await two.call('GET', `/queues/${queue}`)).body).toEqual({
      ...wasQueue,
      database: to,
      oldest_ready_age_seconds: expect.any(Number),
    });
    expect(await leftIn(from, queueIdOf(first.id))).toEqual([]);
    // Its workers go on with their tokens.
    const { id, lease_token } = first;
    expect(await two.call('POST', `/jobs/${id}/ack`, { lease_token, result: 1 })).toMatchObject({
      status: 200,
    });
    const extended = { lease_token: second.lease_token, lease_seconds: 60 };
    expect(await one.call('POST', `/jobs/${second.id}/extend`, extended)).toMatchObject({ status: 200 });
    // The rest comes in the order of the queue.
    const rest = await claim(queue);
    const order = (jobs: { payload: number; priority: number }[]) => jobs.map(({ payload }) => payload);
    const byPriority = [2, 1, 0].flatMap((priority) =>
      Array.from({ length: 20 }, (_, i) => i).filter((i) => i % 3 === priority),
    );
    expect(order(rest)).toEqual([
      ...byPriority.slice(3, -7),
      ...payloads.map((text) => JSON.parse(text)),
      ...byPriority.slice(-7),
    ]);
  },
);

test('unique keys, windows, idempotency keys, groups and limits of a relocated queue hold as before', async () => {
  const queue = 'keys-go';
  await put(queue, 'a', { max_leased: 3, rate_limit: { jobs: 4, per_seconds: 3600 } });
  // PostgreSQL reads no member of JSON that has half of a surrogate pair.
  const headers = { odd: '\ud800' };
  const { body: unique } = await enqueue({ queue, headers, unique_key: 'u', delay_seconds: 3600 });
  const { body: windowed } = await enqueue({ queue, headers, unique_key: 'w', unique_for_seconds: 3600 });
  const keyed = { queue, headers, payload: 'once' };
  const { body: once } = await enqueue(keyed, { 'idempotency-key': 'k1' });
  for (const payload of ['g1', 'g2', 'g3']) await enqueue({ queue, group: 'g', payload });
  const [gone] = await claim(queue, { limit: 1 });
  expect(gone.id).toBe(windowed.id);
  await one.call('POST', `/jobs/${gone.id}/ack`, { lease_token: gone.lease_token });
  const leased = await claim(queue, { limit: 2 });
  expect(leased.map(({ payload }: { payload: string }) => payload)).toEqual(['once', 'g1']);

  await relocate(queue, 'b');

  expect((await enqueue({ queue, unique_key: 'u' }, {}, two)).body).toMatchObject({
    id: unique.id,
    deduplicated: true,
  });
  expect((await enqueue({ queue, unique_key: 'w' })).body).toMatchObject({
    id: windowed.id,
    deduplicated: true,
    state: 'completed',
    headers,
  });
  expect(await enqueue(keyed, { 'idempotency-key': 'k1' }, two)).toMatchObject({
    status: 201,
    body: { id: once.id },
    headers: { 'idempotent-replayed': 'true' },
  });
  // The group goes on when its first job is settled, one job at a time. The limits count what was claimed before.
  expect(await claim(queue)).toEqual([]);
  const [, g1] = leased;
  await two.call('POST', `/jobs/${g1.id}/ack`, { lease_token: g1.lease_token });
  const more = await claim(queue, { wait_seconds: 5 });
  expect(more.map(({ payload }: { payload: string }) => payload)).toEqual(['g2']);
  await enqueue({ queue });
  expect((await two.call('GET', `/queues/${queue}/explain`)).body.code).toBe('rate_limited');
});

test('a repeat of a claim_id finds its leases after the queue was relocated', async () => {
  const queue = 'repeats-go';
  await put(queue, 'b');
  for (let i = 0; i < 3; i++) await enqueue({ queue });
  const first = await claim(queue, { limit: 2, claim_id: 'c1' });
  await relocate(queue, 'a');
  const again = await claim(queue, { limit: 2, claim_id: 'c1' }, one);
  expect(again.map(({ id, lease_token }: { id: string; lease_token: string }) => [id, lease_token])).toEqual(
    first.map(({ id, lease_token }: { id: string; lease_token: string }) => [id, lease_token]),
  );
});

test('a claim that waits while its queue is relocated gets the next job, on every replica', async () => {
  const queue = 'waits-go';
  await put(queue, 'a');
  const waiting = [one, two].map((service) => claim(queue, { limit: 1, wait_seconds: 30 }, service));
  await relocate(queue, 'home');
  const { body: x } = await enqueue({ queue });
  const { body: y } = await enqueue({ queue });
  const got = (await Promise.all(waiting)).flat().map(({ id }) => id);
  expect(got.sort()).toEqual([x.id, y.id].sort());
});

test('a client that waits for a job while its queue is relocated hears of its end', async () => {
  const queue = 'awaited-go';
  await put(queue, 'a');
  const { body: job } = await enqueue({ queue });
  const awaited = two.call('GET', `/jobs/${job.id}?wait_seconds=30`);
  await relocate(queue, 'b');
  const [leased] = await claim(queue);
  await one.call('POST', `/jobs/${job.id}/ack`, { lease_token: leased.lease_token });
  expect(await awaited).toMatchObject({ status: 200, body: { id: job.id, state: 'completed' } });
});

test('jobs that go to a relocated queue with others arrive there, before, during and after', async () => {
  const queue = 'crossed';
  await put(queue, 'a');
  await put('crossing', 'home');
  const batch = (payload: string) =>
    one.call('POST', '/jobs/batch', { jobs: [{ queue: 'crossing' }, { queue, payload }] });
  expect((await batch('before')).status).toBe(201);
  const moving = relocate(queue, 'b');
  const during = [];
  for (let i = 0; i < 20; i++) during.push(await batch(`during${i}`));
  await moving;
  expect((await batch('after')).status).toBe(201);
  expect(during.map(({ status }) => status)).toEqual(during.map(() => 201));
  await until(async () => (await one.call('GET', `/queues/${queue}`)).body.counts.ready === 22);
  const got = await claim(queue);
  expect(got.map(({ payload }: { payload: string }) => payload)).toEqual([
    'before',
    ...Array.from({ length: 20 }, (_, i) => `during${i}`),
    'after',
  ]);
});

test('a lease that runs out as its queue is relocated is extended, and then rescued within seconds', async () => {
  const queue = 'leases-go';
  await put(queue, 'a');
  await enqueue({ queue });
  // It is less than the extension, and more than a busy machine needs until the relocation begins.
  const [job] = await claim(queue, { lease_seconds: 4 });
  await relocate(queue, 'b');
  const { body } = await two.call('GET', `/jobs/${job.id}`);
  expect(body.state).toBe('leased');
  expect(Date.parse(body.lease_expires_at)).toBeGreaterThan(Date.parse(job.lease_expires_at));
  await until(async () => (await two.call('GET', `/jobs/${job.id}`)).body.state === 'ready', {
    withinMs: 15_000,
  });
});

test('a dry run tells how many jobs there are and how long calls would wait, and moves nothing', async () => {
  const queue = 'dry';
  await put(queue, 'a');
  for (let i = 0; i < 5; i++) await enqueue({ queue });
  const { body } = await one.call('POST', `/queues/${queue}/relocate`, { to: 'b', dry_run: true });
  const done = await until(async () => {
    const { body: now } = await one.call('GET', `/operations/${body.id}`);
    return now.state === 'running' ? undefined : now;
  });
  expect(done).toMatchObject({ state: 'done', matched: 5, dry_run: true, hold_seconds: expect.any(Number) });
  expect((await one.call('GET', `/queues/${queue}`)).body.database).toBe('a');
});

test('a relocation that makes no sense is refused, and changes nothing', async () => {
  const queue = 'refused';
  await put(queue, 'a');
  const ask = (to: unknown, name = queue) => one.call('POST', `/queues/${name}/relocate`, { to });
  expect(await ask('a')).toMatchObject({ status: 409, body: { code: 'queue_elsewhere' } });
  expect(await ask('nowhere')).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  expect(await ask('b', 'unknown')).toMatchObject({ status: 404, body: { code: 'queue_not_found' } });
  await one.call('PUT', '/databases/b', { accepts_queues: false });
  expect(await ask('b')).toMatchObject({ status: 409, body: { code: 'database_closed' } });
  await one.call('PUT', '/databases/b', { accepts_queues: true });
  await inDatabase(
    'a',
    `insert into dibs.operations (id, verb, queue_id, queue, states, dry_run, last_position, open_transactions, next_transaction, worked_at)
     select gen_random_uuid(), 'cancel', id, name, '{dead}', false, 0, '{}', 0, now() + interval '1 day' from dibs.queues where name = '${queue}'`,
  );
  expect(await ask('b')).toMatchObject({ status: 409, body: { code: 'queue_busy' } });
  await inDatabase('a', `delete from dibs.operations where queue = '${queue}'`);
});

test('a queue and its dead letter queue stay together: neither is relocated, and neither may be elsewhere', async () => {
  await put('letters', 'a');
  await put('other.letters', 'b');
  const configure = (dead_letter_queue: string, name = 'tied') =>
    one.call('PUT', `/queues/${name}`, { database: 'a', dead_letter_queue });
  expect(await configure('other.letters')).toMatchObject({ status: 409, body: { code: 'queue_elsewhere' } });
  expect((await configure('letters')).status).toBe(200);
  for (const name of ['tied', 'letters'])
    expect(await one.call('POST', `/queues/${name}/relocate`, { to: 'b' })).toMatchObject({
      status: 409,
      body: { code: 'queue_busy' },
    });
  const service = await startService({ ...withAll(), access: speakingAccess() });
  const told = async (key: string) =>
    (await as(service, key)('POST', '/queues/letters/relocate', { to: 'b' })).body.detail;
  expect(await told('admin@*')).toContain('tied');
  expect(await told('admin@letters')).toMatch(/^(?!.*tied).*stay together/);
  await service.stop();
  // One that is not there yet is made beside its queue, whatever its name.
  expect((await configure('far:letters')).status).toBe(200);
  expect((await two.call('GET', '/queues/far:letters')).body.database).toBe('a');
  await enqueue({ queue: 'tied', payload: 7 });
  const [job] = (await two.call('POST', '/jobs/claim', { queues: ['tied'] })).body.jobs;
  await two.call('POST', `/jobs/${job.id}/nack`, { lease_token: job.lease_token, retry: false });
  const [letter] = (await one.call('POST', '/jobs/claim', { queues: ['far:letters'] })).body.jobs;
  expect(letter).toMatchObject({ payload: 7, headers: { 'dibs-dead-from': 'tied' } });
  await one.call('POST', `/jobs/${letter.id}/release`, { lease_token: letter.lease_token });
  expect((await one.call('POST', '/queues/far:letters/redrive', { home: true })).body).toEqual({ count: 1 });
  await one.call('PUT', '/queues/tied', { database: 'a' });
  expect((await one.call('POST', '/queues/letters/relocate', { to: 'b' })).status).toBe(202);
});

test('a queue that a transaction holds for long stays, and its calls do not wait for that', async () => {
  const queue = 'held';
  await put(queue, 'a');
  const holder = await openTransaction(databases.a?.url as string);
  await holder.query('select from dibs.queues where name = $1 for key share', [queue]);
  const { body } = await one.call('POST', `/queues/${queue}/relocate`, { to: 'b' });
  let slowest = 0;
  const ended = await until(
    async () => {
      const began = performance.now();
      expect((await enqueue({ queue })).status).toBe(201);
      slowest = Math.max(slowest, performance.now() - began);
      const { body: now } = await one.call('GET', `/operations/${body.id}`);
      return now.state === 'running' ? undefined : now;
    },
    { withinMs: 30_000 },
  );
  await holder.end('commit');
  expect(ended).toMatchObject({ state: 'failed', error: 'A transaction holds the queue.' });
  expect((await one.call('GET', `/queues/${queue}`)).body.database).toBe('a');
});

test('the jobs of a queue that leaves have the columns of dibs.jobs, and a relocation copies all but the position', async () => {
  const columnsOf = async (table: string) =>
    (
      await inDatabase<{ name: string }>(
        'a',
        `select attname as name from pg_attribute where attrelid = 'dibs.${table}'::regclass and attnum > 0
         and not attisdropped order by attnum`,
      )
    ).map(({ name }) => name);
  const jobs = await columnsOf('jobs');
  expect(await columnsOf('relocating_jobs')).toEqual(jobs);
  const copied = readSql('shared/relocated_columns.sql')
    .replaceAll(/^--.*$/gm, '')
    .split(',')
    .map((name) => name.trim());
  expect(copied.toSorted()).toEqual(jobs.filter((name) => name !== 'position').toSorted());
});

test('an enqueue that is under way while its queue leaves waits for that, and finds the holder of its unique key', async () => {
  const queue = 'under-way';
  await put(queue, 'a');
  const { body: holder } = await enqueue({ queue, unique_key: 'k' });
  await inDatabase('a', `create table leaving as select * from dibs.queues where name = '${queue}'`);
  const leaving = await openClient(databases.a?.url as string);
  const place = async (moving_to: string) =>
    inDatabase(
      'home',
      `with placed as (update dibs.placements set moving_to = ${moving_to} where name = '${queue}' returning name)
       select pg_notify('dibs', 'placed sql ' || name) from placed`,
    );
  try {
    await leaving.query('begin');
    await leaving.query('delete from dibs.queues where name = $1', [queue]);
    const asked = [
      enqueue({ queue, unique_key: 'k' }),
      enqueue({ queue, unique_key: 'k' }, { 'idempotency-key': 'under-way' }),
      enqueue({ queue, payload: 'plain' }),
      enqueue({ queue, payload: 'keyed' }, { 'idempotency-key': 'under-way too' }),
      one.call('POST', '/batches', { queue, jobs: [{ queue }] }),
    ];
    await until(
      async () =>
        (await inDatabase('a', `select from pg_stat_activity where wait_event_type = 'Lock'`)).length > 1,
    );
    await place(`'b'`);
    await sleep(300);
    await leaving.query('commit');
    await sleep(300);
    await inDatabase('a', 'insert into dibs.queues select * from leaving');
    await place('null');
    const [single, keyed, plain, keyedToo, batch] = await Promise.all(asked);
    for (const answer of [single, keyed])
      expect(answer).toMatchObject({ status: 200, body: { id: holder.id, deduplicated: true } });
    for (const answer of [plain, keyedToo])
      expect(answer).toMatchObject({ status: 201, body: { state: 'ready' } });
    expect(batch).toMatchObject({ status: 201, body: { counts: { ready: 1 } } });
    expect(await inDatabase('a', 'select from dibs.relay')).toEqual([]);
  } finally {
    await leaving.end();
    await inDatabase('a', 'drop table leaving');
  }
});

test('a queue that has got a batch since its relocation was asked for stays, with the batch', async () => {
  const queue = 'got-a-batch';
  await put(queue, 'a');
  const holding = await openClient(databases.a?.url as string);
  try {
    await holding.query('begin');
    await holding.query('select from dibs.queues where name = $1 for key share', [queue]);
    const { body: operation } = await one.call('POST', `/queues/${queue}/relocate`, { to: 'b' });
    const { body: batch } = await two.call('POST', '/batches', {
      queue,
      jobs: [{ queue }],
      on_end: { queue },
      closed: true,
    });
    await holding.query('commit');
    const ended = await until(
      async () => {
        const { body: now } = await one.call('GET', `/operations/${operation.id}`);
        return now.state === 'running' ? undefined : now;
      },
      { withinMs: 20_000 },
    );
    expect(ended).toMatchObject({ state: 'failed', error: expect.stringContaining(`the batch ${batch.id}`) });
    expect((await one.call('GET', `/queues/${queue}`)).body.database).toBe('a');
    const [job] = await claim(queue);
    await two.call('POST', `/jobs/${job.id}/ack`, { lease_token: job.lease_token });
    const [follower] = await claim(queue, { wait_seconds: 5 });
    expect(follower.headers).toEqual({ 'dibs-batch': batch.id });
    expect((await one.call('GET', `/batches/${batch.id}`)).body.state).toBe('succeeded');
  } finally {
    await holding.end();
  }
});
