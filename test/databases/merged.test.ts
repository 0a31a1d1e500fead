import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pageOf } from '../../routes/http/answers/cursor.ts';
import { type Answers, askAll } from '../../src/databases/merged.ts';
import { mergedGetMetrics, mergedGetOverview, mergedGetSamples } from '../../src/databases/mergedCounting.ts';
import { mergedDatabases } from '../../src/databases/mergedDatabases.ts';
import { mergedListJobs } from '../../src/databases/mergedJobs.ts';
import { mergedListOperations, mergedOperation } from '../../src/databases/mergedOperations.ts';
import { mergedListQueues, mergedListWorkers } from '../../src/databases/mergedQueues.ts';
import { mergedVerbs } from '../../src/databases/mergedVerbs.ts';
import { invalidRequest, operationNotFound, unavailable } from '../../src/errors.ts';
import { JOB_STATES, type Job } from '../../src/job.ts';
import {
  EVENTS,
  type Family,
  MEASURES,
  type Overview,
  type QueueOverview,
  type Samples,
  type Series,
} from '../../src/verbs/counting.ts';
import type { JobListing } from '../../src/verbs/jobs.ts';
import type { Operation } from '../../src/verbs/operations.ts';
import type { QueueStatus, WorkersNow } from '../../src/verbs/queues.ts';

const NAMES = ['home', 'east', 'west'];

/** Databases whose verbs are made up. Those of `away` are known to be. */
const databases = <V>(all: V[], away: string[] = []) =>
  all.map((verbs, i) => {
    const name = NAMES[i] as string;
    return { name, verbs, isAway: () => away.includes(name) };
  });
const isOut = () => Promise.reject(unavailable());

const zeros = <K extends string>(keys: readonly K[]) =>
  Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;

describe('all databases are asked at once', () => {
  const ask = (away: string[], ...answers: (() => Promise<string>)[]): Promise<Answers<string>> =>
    askAll(databases(answers, away), ({ verbs }) => verbs());

  test('and the answers stand in their order', async () => {
    expect(
      await ask(
        [],
        async () => 'a',
        async () => 'b',
      ),
    ).toEqual({
      answers: [
        { name: 'home', answer: 'a' },
        { name: 'east', answer: 'b' },
      ],
    });
  });

  test('but for one that is away, which is named', async () => {
    const never = () => expect.unreachable();
    expect(await ask(['home'], never, async () => 'b')).toEqual({
      answers: [{ name: 'east', answer: 'b' }],
      away: ['home'],
    });
  });

  test('one that turns out to be away is named, too', async () => {
    const { away } = await ask(['west'], async () => 'a', isOut, isOut);
    expect(away).toEqual(['east', 'west']);
  });

  test('where all are away, it is unavailable', async () => {
    await expect(ask(['home', 'east'], isOut, isOut)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(ask(['home'], isOut, isOut)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('a refusal that is no outage is the answer', async () => {
    const refused = () => Promise.reject(invalidRequest([{ path: '/queue', message: 'must be there' }]));
    await expect(ask([], refused, refused)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

/** Ids ascend over all databases. */
const idOf = (n: number) => `019aa5b2-7c1e-7a3f-9d2c-${n.toString(16).padStart(12, '0')}`;
const jobOf = (n: number, bytes = 0) => ({ id: idOf(n), headers: '', payload: 'x'.repeat(bytes) }) as Job;

/** Which database has the item of each number, and how it answers. */
const spread = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 });
const ofDatabase = (places: number[], database: number) =>
  places.flatMap((place, n) => (place === database ? [n] : []));

/** All pages of a list, as the API serves them. */
async function allPages<Item>(
  limit: number,
  list: (limit: number, after: string | undefined) => Promise<{ items: Item[]; stoppedAt?: string }>,
  keyOf: (item: Item) => string,
): Promise<Item[]> {
  const found: Item[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < 500; pages++) {
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const { items, next } = await pageOf({ of: 'items' }, page, { list, keyOf, isKey: () => true });
    found.push(...items);
    if (next === null) return found;
    cursor = next;
  }
  return expect.unreachable();
}

describe('pages over several databases', () => {
  test('of jobs: each job once, in order, with any limits, cuts and searches that stop', async () => {
    const size = fc.integer({ min: 0, max: 30 });
    await fc.assert(
      fc.asyncProperty(
        spread,
        fc.array(size, { minLength: 40, maxLength: 40 }),
        fc.constantFrom('newest' as const, 'oldest' as const),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 90 }),
        fc.infiniteStream(fc.option(fc.integer({ min: 1, max: 5 }))),
        async (places, sizes, order, limit, max_bytes, lookedAt) => {
          const isBehind = (a: string, b: string) => (order === 'newest' ? a < b : a > b);
          /** As one database does it: it may stop its search, and it cuts a page that is too large. */
          const listJobs = (database: number) => async (asked: JobListing) => {
            const numbers = ofDatabase(places, database);
            if (order === 'newest') numbers.reverse();
            const behind = numbers.filter((n) => !asked.after || isBehind(idOf(n), asked.after));
            const look = lookedAt.next().value ?? undefined;
            const searched = look === undefined ? behind : behind.slice(0, look);
            const matched = searched.slice(0, asked.limit);
            const stop = matched.length < behind.length ? matched.at(-1) : undefined;
            let bytes = 0;
            const fitting = matched.filter((n, i) => {
              bytes += sizes[n] as number;
              return i === 0 || bytes <= asked.max_bytes;
            });
            return {
              jobs: fitting.map((n) => jobOf(n, sizes[n])),
              isCut: fitting.length < matched.length,
              ...(look !== undefined && stop !== undefined ? { stoppedAt: idOf(stop) } : {}),
            };
          };
          const list = mergedListJobs(databases([0, 1, 2].map((i) => ({ listJobs: listJobs(i) }))));
          const found = await allPages(
            limit,
            async (limit, after) => {
              const listing = { order, limit, max_bytes, payload: true, ...(after ? { after } : {}) };
              const { jobs, ...page } = await list(listing);
              const bytes = jobs.reduce((sum, { payload }) => sum + String(payload).length, 0);
              expect(jobs.length <= 1 || bytes <= max_bytes).toBe(true);
              return { items: jobs, ...page } as { items: Job[] };
            },
            ({ id }) => id,
          );
          const all = places.map((_, n) => idOf(n));
          expect(found.map(({ id }) => id)).toEqual(order === 'newest' ? all.reverse() : all);
        },
      ),
    );
  });

  const nameOf = (n: number) => `q${String(n).padStart(3, '0')}`;

  test('of queues: each queue once, by name, with its database', async () => {
    await fc.assert(
      fc.asyncProperty(spread, fc.integer({ min: 1, max: 12 }), async (places, limit) => {
        const listQueues =
          (database: number) =>
          async ({ limit, after = '' }: { limit: number; after?: string | undefined }) => ({
            queues: ofDatabase(places, database)
              .map((n) => ({ name: nameOf(n) }) as QueueStatus)
              .filter(({ name }) => name > after)
              .slice(0, limit),
          });
        const list = mergedListQueues(databases([0, 1, 2].map((i) => ({ listQueues: listQueues(i) }))));
        const found = await allPages(
          limit,
          async (limit, after) => ({ items: (await list({ limit, after })).queues }),
          ({ name }) => name,
        );
        expect(found).toEqual(places.map((place, n) => ({ name: nameOf(n), database: NAMES[place] })));
      }),
    );
  });

  test('of operations: each operation once, newest first', async () => {
    await fc.assert(
      fc.asyncProperty(spread, fc.integer({ min: 1, max: 12 }), async (places, limit) => {
        const listOperations =
          (database: number) =>
          async ({ limit, after }: { limit: number; after?: string | undefined }) => ({
            operations: ofDatabase(places, database)
              .reverse()
              .map((n) => ({ id: idOf(n) }) as Operation)
              .filter(({ id }) => after === undefined || id < after)
              .slice(0, limit),
          });
        const list = mergedListOperations(
          databases([0, 1, 2].map((i) => ({ listOperations: listOperations(i) }))),
        );
        const found = await allPages(
          limit,
          async (limit, after) => ({ items: (await list({ limit, after })).operations }),
          ({ id }) => id,
        );
        expect(found.map(({ id }) => id)).toEqual(places.map((_, n) => idOf(n)).reverse());
      }),
    );
  });

  test('name the databases that are away', async () => {
    const listJobs = async () => ({ jobs: [jobOf(1)], isCut: false });
    const listed = await mergedListJobs(databases([{ listJobs }, { listJobs: isOut }]))({
      order: 'newest',
      limit: 10,
      max_bytes: 1000,
      payload: false,
    });
    expect(listed).toMatchObject({ jobs: [{ id: idOf(1) }], away: ['east'] });
    const listQueues = async () => ({ queues: [] });
    expect(
      await mergedListQueues(databases([{ listQueues }, { listQueues }], ['home']))({ limit: 1 }),
    ).toEqual({ queues: [], away: ['home'] });
    const listOperations = async () => ({ operations: [] });
    expect(
      await mergedListOperations(databases([{ listOperations }, { listOperations: isOut }]))({ limit: 1 }),
    ).toEqual({ operations: [], away: ['east'] });
  });
});

describe('an operation by its id', () => {
  const has = async () => ({ id: 'o' }) as Operation;
  const lacks = () => Promise.reject(operationNotFound('o'));
  const get = (all: (() => Promise<Operation>)[], away: string[] = []) =>
    mergedOperation(
      databases(
        all.map((stopOperation) => ({ stopOperation })),
        away,
      ),
      'stopOperation',
    )({ id: 'o' });

  test('is found in the database that has it, also while another is away', async () => {
    expect(await get([lacks, has])).toEqual({ id: 'o' });
    expect(await get([isOut, lacks, has])).toEqual({ id: 'o' });
  });

  test('is not found when no database has it', async () => {
    await expect(get([lacks, lacks])).rejects.toMatchObject({ code: 'operation_not_found' });
  });

  test('is unavailable when only a database that is away may have it', async () => {
    await expect(get([lacks, has], ['east'])).rejects.toMatchObject({
      code: 'unavailable',
      outcome: 'not_done',
    });
    await expect(get([lacks, isOut])).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('workers of several databases', () => {
  const worker = (
    name: string | null,
    leased: number,
    queue: string,
    since: string | null,
    ends: string,
  ) => ({
    worker: name,
    leased,
    queues: [queue],
    since,
    next_lease_expires_at: ends,
  });
  const listed = (all: WorkersNow[]) =>
    mergedListWorkers(databases(all.map((now) => ({ listWorkers: async () => now }))))({});

  test('are one by one, with their leases together, those with most leases first', async () => {
    const { workers, ...rest } = await listed([
      {
        workers: [worker('a', 2, 'x', '2026-01-01', '2026-02-01'), worker(null, 1, 'x', null, '2026-02-01')],
        total: 2,
        complete: true,
      },
      {
        workers: [
          worker('b', 3, 'w', '2026-01-01', '2026-02-01'),
          worker('a', 2, 'w', '2025-12-01', '2026-01-15'),
        ],
        total: 2,
        complete: true,
      },
    ]);
    expect(rest).toEqual({ total: 3, complete: true });
    expect(workers).toEqual([
      {
        worker: 'a',
        leased: 4,
        queues: ['w', 'x'],
        since: '2025-12-01',
        next_lease_expires_at: '2026-01-15',
      },
      worker('b', 3, 'w', '2026-01-01', '2026-02-01'),
      worker(null, 1, 'x', null, '2026-02-01'),
    ]);
  });

  test('are complete only if all are', async () => {
    const none = { workers: [], total: 0 };
    expect(
      await listed([
        { ...none, complete: true },
        { ...none, complete: false },
      ]),
    ).toMatchObject({
      complete: false,
    });
  });

  test('that a database does not show are counted all the same', async () => {
    const one = worker('a', 2, 'x', null, '2026-02-01');
    expect(
      await listed([
        { workers: [one], total: 1500, complete: true },
        { workers: [one], total: 1, complete: true },
      ]),
    ).toMatchObject({ total: 1500, workers: [{ worker: 'a', leased: 4 }] });
  });
});

describe('the overview of several databases', () => {
  const queueOf = (name: string, more: Partial<QueueOverview> = {}): QueueOverview => ({
    ...{ name, paused: false, troubles: [], counted_age_seconds: 1 },
    ...{ oldest_ready_age_seconds: null, drain_seconds: 0 },
    ...more,
  });
  const of = (queues: QueueOverview[], more: Partial<Overview> = {}): Overview => ({
    complete: true,
    total: queues.length,
    troubled: queues.filter(({ troubles }) => troubles.length > 0).length,
    counts: zeros(JOB_STATES),
    per_second: zeros(EVENTS),
    oldest_ready_age_seconds: null,
    drain_seconds: 0,
    ...more,
    queues,
  });
  const merged = (all: Overview[], limit = 10, away: string[] = []) =>
    mergedGetOverview(
      databases(
        all.map((one) => ({ getOverview: async () => one })),
        away,
      ),
    )({ limit });

  test('has the sums, and the queues with trouble first, each with its database', async () => {
    const counts = (ready: number) => ({ ...zeros(JOB_STATES), ready });
    const per_second = (acked: number) => ({ ...zeros(EVENTS), acked });
    const busy = { per_second: { ...zeros(EVENTS), enqueued: 5 } };
    const overview = await merged([
      of([queueOf('bad', { troubles: ['failing'] }), queueOf('calm')], {
        counts: counts(3),
        per_second: per_second(1.5),
        oldest_ready_age_seconds: 4,
        drain_seconds: 10,
      }),
      of([queueOf('worse', { troubles: ['dead_growing', 'paused'] }), queueOf('busy', busy)], {
        counts: counts(4),
        per_second: per_second(2),
        oldest_ready_age_seconds: 9,
        drain_seconds: 7,
      }),
    ]);
    expect(overview).toMatchObject({ complete: true, total: 4, troubled: 2 });
    expect(overview).toMatchObject({ counts: { ready: 7 }, per_second: { acked: 3.5 } });
    expect(overview).toMatchObject({ oldest_ready_age_seconds: 9, drain_seconds: 10 });
    expect(overview).not.toHaveProperty('away');
    expect(overview.queues.map(({ name, database }) => `${name} ${database}`)).toEqual([
      'worse east',
      'bad home',
      'busy east',
      'calm home',
    ]);
  });

  test('shows as many queues as it is asked for', async () => {
    const { queues, total } = await merged([of([queueOf('a'), queueOf('c')]), of([queueOf('b')])], 2);
    expect(queues.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(total).toBe(3);
  });

  test('is not complete, and is never drained, if one of them is not', async () => {
    expect(await merged([of([]), of([], { complete: false, drain_seconds: null })])).toMatchObject({
      complete: false,
      drain_seconds: null,
    });
  });

  test('is without a database that is away, and names it', async () => {
    const overview = await merged([of([queueOf('a')]), of([queueOf('b')])], 10, ['home']);
    expect(overview).toMatchObject({ total: 1, queues: [{ name: 'b' }], away: ['home'] });
  });
});

describe('the samples of several databases', () => {
  const seriesOf = (numbers: (number | null)[]) =>
    Object.fromEntries(MEASURES.map((measure) => [measure, numbers])) as Series;
  const merged = (all: Samples[]) =>
    mergedGetSamples(databases(all.map((one) => ({ getSamples: async () => one }))))({ minutes: 60 });
  const at = (...minutes: number[]) => minutes.map((minute) => `2026-01-01T00:0${minute}:00.000Z`);

  test('stand at the same times, unknown where a database has none', async () => {
    const samples = await merged([
      {
        at: at(1, 2, 3),
        all: seriesOf([1, 2, 3]),
        queues: [{ name: 'a', ...seriesOf([1, 2, 3]) }],
      },
      {
        at: at(2, 3, 4),
        all: seriesOf([10, null, 30]),
        queues: [{ name: 'b', ...seriesOf([10, null, 30]) }],
      },
    ]);
    expect(samples.at).toEqual(at(2, 3, 4));
    expect(samples.all?.ready).toEqual([12, 3, 30]);
    expect(samples.all?.oldest_ready_age_seconds).toEqual([10, 3, 30]);
    expect(samples.queues).toEqual([
      { name: 'b', ...seriesOf([10, null, 30]) },
      { name: 'a', ...seriesOf([2, 3, null]) },
    ]);
  });

  test('are those of the busiest 100 queues', async () => {
    const many = (from: number) =>
      Array.from({ length: 80 }, (_, i) => ({ name: `q${from + i}`, ...seriesOf([from + i]) }));
    const { queues } = await merged([
      { at: at(1), queues: many(0) },
      { at: at(1), queues: many(80) },
    ]);
    expect(queues.map(({ name }) => name)).toEqual(Array.from({ length: 100 }, (_, i) => `q${159 - i}`));
  });

  test('of one queue have no sum', async () => {
    const one = { at: at(1), queues: [{ name: 'a', ...seriesOf([1]) }] };
    expect(await merged([one, { at: [], queues: [] }])).toEqual(one);
  });
});

describe('the metrics of several databases', () => {
  const family = (name: string, labels: string, value: number, more: Partial<Family> = {}): Family => ({
    ...{ name, type: 'gauge', help: 'h' },
    samples: [{ suffix: '', labels, value }],
    ...more,
  });
  const merged = (all: Family[][], isWhole = true) =>
    mergedGetMetrics(
      databases(
        all.map((families) => ({ getMetrics: async () => ({ families, isWhole }) })),
        ['east'],
      ),
    )({});
  const linesOf = (families: Family[]) =>
    families.flatMap(({ name, samples }) =>
      samples.map(({ labels, value }) => `${name}{${labels}} ${value}`),
    );

  test('have the label database, also of one that is away', async () => {
    const { families } = await merged([
      [family('jobs', 'queue="a"', 1), family('up', '', 1)],
      [family('jobs', 'queue="(other)"', 2), family('up', '', 0)],
    ]);
    expect(linesOf(families)).toEqual([
      'jobs{queue="a",database="home"} 1',
      'jobs{queue="(other)",database="east"} 2',
      'up{database="home"} 1',
      'up{database="east"} 0',
    ]);
  });

  test('of the process are told once', async () => {
    const { families } = await merged([
      [family('memory', '', 1, { isOfProcess: true })],
      [family('memory', '', 2, { isOfProcess: true }), family('late', '', 3)],
    ]);
    expect(linesOf(families)).toEqual(['memory{} 1', 'late{database="east"} 3']);
  });

  test('are whole only for a caller that sees all', async () => {
    expect(await merged([[], []])).toMatchObject({ isWhole: true });
    expect(await merged([[], []], false)).toMatchObject({ isWhole: false });
  });
});

describe('the databases', () => {
  const counts = zeros(JOB_STATES);
  const own = (queues: number) => ({
    listDatabases: async () => [{ name: 'home', state: 'open' as const, queues, counts }],
  });
  /** Home with this set of open databases. */
  function merged(open: Set<string>, away: string[] = []) {
    const accepting = {
      isOut: false,
      async find() {
        if (this.isOut) throw unavailable();
        return new Set(open);
      },
      async set(name: string, accepts: boolean) {
        if (accepts) open.add(name);
        else open.delete(name);
      },
    };
    return { accepting, ...mergedDatabases(databases([own(1), own(2), own(3)], away), accepting) };
  }

  test('tell each of themselves, and home whether they take new queues', async () => {
    expect(await merged(new Set(['home', 'west'])).listDatabases({})).toEqual([
      { name: 'home', state: 'open', queues: 1, counts },
      { name: 'east', state: 'closed', queues: 2, counts },
      { name: 'west', state: 'open', queues: 3, counts },
    ]);
  });

  test('that are away tell nothing of themselves', async () => {
    expect((await merged(new Set(['home', 'east']), ['home', 'east']).listDatabases({})).slice(0, 2)).toEqual(
      [
        { name: 'home', state: 'away' },
        { name: 'east', state: 'away' },
      ],
    );
  });

  test('are as home said last, while it is away', async () => {
    const { accepting, listDatabases } = merged(new Set(['home']));
    await listDatabases({});
    accepting.isOut = true;
    expect((await listDatabases({})).map(({ state }) => state)).toEqual(['open', 'closed', 'closed']);
  });

  test('are opened and closed by name', async () => {
    const { configureDatabase, listDatabases } = merged(new Set(NAMES));
    expect(await configureDatabase({ name: 'east', accepts_queues: false })).toMatchObject({
      name: 'east',
      state: 'closed',
    });
    expect((await listDatabases({})).map(({ state }) => state)).toEqual(['open', 'closed', 'open']);
    expect(await configureDatabase({ name: 'east', accepts_queues: true })).toMatchObject({ state: 'open' });
    await expect(configureDatabase({ name: 'north', accepts_queues: true })).rejects.toMatchObject({
      code: 'database_not_found',
    });
  });
});

test('what is about one queue is asked where that queue is', async () => {
  const asked: string[] = [];
  const verbs = (name: string) =>
    new Proxy({} as Record<string, unknown>, {
      get: (_, verb) => async () => void asked.push(`${name} ${String(verb)}`),
    }) as never;
  const parts = databases([verbs('home'), verbs('east')]);
  const { listJobs, listWorkers, getSamples } = mergedVerbs(
    parts,
    (queue, run) => {
      expect(queue).toBe('q');
      return run(parts[1] as never);
    },
    {} as never,
    {} as never,
  );
  await listJobs({ queue: 'q', order: 'newest', limit: 1, max_bytes: 1, payload: false });
  await listWorkers({ queue: 'q' });
  await getSamples({ queue: 'q', minutes: 1 });
  expect(asked).toEqual(['east listJobs', 'east listWorkers', 'east getSamples']);
});
