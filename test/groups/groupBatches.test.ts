import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { createDatabase } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  database = await createDatabase();
  service = await startService({ databaseUrl: database.url });
  at = moves(service);
});
beforeEach(async () => {
  queue = at.newQueue();
  await at.configure(queue, { group_concurrency: 4, group_batches: 3 });
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const addAll = (jobs: object[]): Promise<Json[]> =>
  at.enqueueAll(jobs.map((job, i) => ({ queue, group: 'g', payload: i, ...job })));
const claimed = async (limit: number): Promise<unknown[]> =>
  (await at.claim(queue, { limit })).map(({ payload }: Json) => payload);

test('a claim gets up to so many jobs of a group, in their order', async () => {
  await addAll([{}, {}, {}, {}, {}, {}]);
  expect(await claimed(10)).toEqual([0, 1, 2]);
});

test('and no more than may run at once', async () => {
  await addAll([{}, {}, {}, {}, {}, {}]);
  expect(await claimed(10)).toEqual([0, 1, 2]);
  expect(await claimed(10)).toEqual([3]);
  expect(await claimed(10)).toEqual([]);
});

test('nor more than its limit', async () => {
  await addAll([{}, {}, { group: 'h' }, {}, { group: 'h' }]);
  expect((await claimed(4)).toSorted()).toEqual([0, 1, 2, 3]);
  expect(await claimed(4)).toEqual([4]);
});

const WAYS: Record<string, { config?: object; jobs: object[] }> = {
  priorities: { jobs: [{ priority: 0 }, { priority: 5 }, { priority: 9 }] },
  'fairness keys': { jobs: [{ fairness_key: 'c' }, { fairness_key: 'a' }, { fairness_key: 'b' }] },
  'priorities, in a queue with a limit of leases': {
    config: { max_leased: 10 },
    jobs: [{ priority: 0 }, { priority: 5 }, { priority: 9 }],
  },
};
describe.each(Object.keys(WAYS))('of jobs with several %s', (way) => {
  test('a claim gets the first ones of the group', async () => {
    const { config = {}, jobs } = WAYS[way] as { config?: object; jobs: object[] };
    await at.configure(queue, { group_concurrency: 3, group_batches: 2, ...config });
    await addAll(jobs);
    expect(await claimed(10)).toEqual([0, 1]);
    expect(await claimed(10)).toEqual([2]);
  });
});

test('a claim gets none behind one that another transaction has locked', async () => {
  const [, second] = await addAll([{}, {}, {}]);
  const user = await openTransaction(await databaseOf(database.url, queue));
  await user.query('select from dibs.jobs where id = $1 for update', [second.id]);
  expect(await claimed(10)).toEqual([0]);
  await user.end('commit');
  expect(await claimed(10)).toEqual([1, 2]);
});

test('where one job of a group may run, a claim gets one', async () => {
  await at.configure(queue, { group_batches: 3 });
  await addAll([{}, {}, {}]);
  expect(await claimed(10)).toEqual([0]);
});

test('it is a whole number from 1 to 1000, and 1 unless it is said', async () => {
  for (const group_batches of [0, 1001, 1.5, 'x'])
    expectProblem(
      await service.call('PUT', `/queues/${queue}`, { group_batches }),
      400,
      'invalid_request',
      '/group_batches',
    );
  expect((await at.configure(queue, {})).config.group_batches).toBe(1);
});
