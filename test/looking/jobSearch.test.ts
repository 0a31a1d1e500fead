import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { aroundQueries } from '../support/aroundQueries.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(async () => {
  queue = at.newQueue();
  await at.configure(queue, {});
});
afterAll(() => service.stop());

const list = (query: object) =>
  service.call('GET', `/jobs?${new URLSearchParams({ queue, ...query } as Record<string, string>)}`);

/** The payloads on all pages, and how many pages there were. */
async function search(query: object) {
  const payloads: unknown[] = [];
  let pages = 0;
  for (let cursor: string | null | undefined; cursor !== null; pages++) {
    const { body, status, text } = await list({
      include: 'payload',
      ...query,
      ...(cursor ? { cursor } : {}),
    });
    expect(status, text).toBe(200);
    payloads.push(...body.jobs.map((job: { payload: unknown }) => job.payload));
    cursor = body.next_cursor;
  }
  return { payloads, pages };
}

const found = async (query: object) => (await search({ order: 'oldest', ...query })).payloads;

test('worker, fairness_key, error_contains and times filter, alone and together with the others', async () => {
  await at.enqueueAll([
    { queue, payload: 'a', fairness_key: 'k' },
    { queue, payload: 'b', group: 'g' },
    { queue, payload: 'c', unique_key: 'u' },
    { queue, payload: 'd' },
  ]);
  const jobs = await at.claim(queue, { limit: 4, worker: 'w1' });
  for (const job of jobs)
    if (job.payload !== 'd') await at.settle('nack', job, { retry: false, error: `100% ${job.payload}_x` });
  expect(await found({ worker: 'w1' })).toEqual(['d']);
  expect(await found({ worker: 'w2' })).toEqual([]);
  expect(await found({ fairness_key: 'k' })).toEqual(['a']);
  expect(await found({ error_contains: '100%' })).toEqual(['a', 'b', 'c']);
  expect(await found({ error_contains: 'b_x', group: 'g', state: 'dead' })).toEqual(['b']);
  expect(await found({ error_contains: '100%', unique_key: 'u' })).toEqual(['c']);
  expect(await found({ error_contains: '100%', state: 'ready' })).toEqual([]);
  const { created_at } = await at.get(jobs[0].id);
  expect(await found({ created_after: created_at, created_before: '2100-01-01T00:00:00Z' })).toHaveLength(4);
  expect(await found({ created_before: '2020-01-01T00:00:00Z' })).toEqual([]);
  expect(await found({ created_after: '2100-01-01T00:00:00Z' })).toEqual([]);
});

/** Dead jobs, an hour old. Every 1000th has the error `needle`. */
const fill = (count: number) =>
  onAll(
    service.databaseUrl,
    `insert into dibs.jobs (queue_id, state, id, run_at, created_at, finished_at, max_attempts, payload_bytes, priority, headers,
       payload, last_error)
     select q.id, 'dead', ('00000000-0000-7000-8000-' || lpad(to_hex(i), 6, '0') || lpad(to_hex(q.id), 6, '0'))::uuid,
       now(), now() - interval '1 hour', now(), 5, 4, 0, '{}', to_json(i), case when i % 1000 = 0 then 'needle' else 'hay' end
     from dibs.queues q, generate_series(1, $2::integer) i where q.name = $1`,
    [queue, count],
  );

test.each(['newest', 'oldest'])('a search finds all that match, page by page, %s first', async (order) => {
  await fill(12_000);
  const all = Array.from({ length: 12 }, (_, i) => (i + 1) * 1000);
  const expected = order === 'newest' ? all.toReversed() : all;
  for (const limit of [1, 5, 12, 100]) {
    const { payloads, pages } = await search({ order, error_contains: 'needle', state: 'dead', limit });
    expect(payloads).toEqual(expected);
    expect(pages).toBeGreaterThanOrEqual(Math.ceil(12 / limit));
  }
  expect((await search({ order, error_contains: 'nothing of that' })).payloads).toEqual([]);
});

test('payload_contains finds jobs by their payload as it was sent, alone and with other filters', async () => {
  const ids = await at.enqueueAll([
    { queue, payload: { to: 'ada@example.com', n: 1 } },
    { queue, payload: { to: 'bob@example.com' }, group: 'g' },
    { queue, payload: '100%_' },
  ]);
  const contains = async (text: string, more = {}) =>
    (await list({ payload_contains: text, order: 'oldest', ...more })).body.jobs.map(
      ({ id }: { id: string }) => id,
    );
  expect(await contains('@example.com')).toEqual([ids[0], ids[1]].map(({ id }) => id));
  expect(await contains('"n":1')).toEqual([ids[0].id]);
  expect(await contains('0%_')).toEqual([ids[2].id]);
  expect(await contains('ADA@')).toEqual([]);
  expect(await contains('@example.com', { group: 'g', state: 'blocked' })).toEqual([]);
  expect(await contains('@example.com', { group: 'g' })).toEqual([ids[1].id]);
  await at.claim(queue, { limit: 1 });
  expect(await contains('ada', { state: 'leased' })).toEqual([ids[0].id]);
});

test('a search tells at how many jobs it looked, and from which time the last one is', async () => {
  const before = Date.now();
  await at.enqueueAll([1, 2, 3].map((payload) => ({ queue, payload })));
  const { body } = await list({ payload_contains: 'nothing of that' });
  expect(body).toMatchObject({ jobs: [], looked_at: 3, next_cursor: null });
  expect(Date.parse(body.looked_to)).toBeGreaterThan(before - 60_000);
});

test('large payloads end a look early, and the search goes on to the last job', async () => {
  await fill(30);
  await onAll(
    service.databaseUrl,
    `update dibs.jobs set payload_bytes = 1000002, payload = ('"' || repeat('x', 999999) || 'y"')::json
     where queue_id = (select id from dibs.queues where name = $1)`,
    [queue],
  );
  const looks: number[] = [];
  const undo = aroundQueries(service, async (_, parameters, run) => {
    const rows = await run();
    if (parameters && 'look_bytes' in parameters) looks.push(rows[0].looked);
    return rows;
  });
  try {
    const [first] = (await list({ payload_contains: 'xy', order: 'oldest', limit: 30 })).body.jobs;
    expect(first).toBeDefined();
    expect((await search({ payload_contains: 'xy' })).payloads).toHaveLength(30);
    expect((await search({ payload_contains: 'z' })).payloads).toEqual([]);
    // 8 MiB of them are 9.
    expect(Math.max(...looks)).toBe(9);
  } finally {
    undo();
  }
});

test('a request searches for a bounded time, and the cursor goes on where it stopped', async () => {
  await fill(5000);
  let looks = 0;
  const undo = aroundQueries(service, async (_, parameters, run) => {
    const rows = await run();
    if (parameters && 'look' in parameters) {
      looks++;
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    return rows;
  });
  try {
    const { payloads, pages } = await search({ order: 'oldest', error_contains: 'needle' });
    expect(payloads).toEqual([1000, 2000, 3000, 4000, 5000]);
    expect(pages).toBe(3);
    // Each page has a short look and a long one.
    expect(looks).toBe(6);
  } finally {
    undo();
  }
});

test('a filter without its queue, a cursor of another search and malformed values are 400', async () => {
  for (const [query, field] of [
    ['worker=w', '/queue'],
    ['payload_contains=x', '/queue'],
    ['payload_contains=x&state=leased', '/queue'],
    [`queue=${queue}&payload_contains=%00`, '/payload_contains'],
    [`queue=${queue}&created_after=yesterday`, '/created_after'],
    [`queue=${queue}&created_before=2026-12-31T23:59:60Z`, '/created_before'],
    [`queue=${queue}&error_contains=`, '/error_contains'],
    [`queue=${queue}&worker=%00`, '/worker'],
  ])
    expectProblem(await service.call('GET', `/jobs?${query}`), 400, 'invalid_request', field);
  await fill(10);
  const { body } = await list({ error_contains: 'hay', limit: 1 });
  const other = { error_contains: 'needle', limit: 1, cursor: body.next_cursor };
  expectProblem(await list(other), 400, 'invalid_request', '/cursor');
});
