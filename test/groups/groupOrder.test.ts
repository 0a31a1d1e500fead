import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { queueIdOf } from '../../src/ids.ts';
import { planned, valuesOf } from '../../src/postgres/statements.ts';
import { openTransaction } from '../support/beside.ts';
import { createDatabase } from '../support/database.ts';
import { oneFrontClaim } from '../support/jobs.ts';
import { eventually, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onQueue } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  database = await createDatabase();
  service = await startService({ databaseUrl: database.url });
  other = await startService({ databaseUrl: database.url });
  at = moves(service);
});
beforeEach(async () => {
  queue = at.newQueue();
  await at.configure(queue, { group_concurrency: 3 });
});
afterAll(async () => {
  await service.stop();
  await other.stop();
  await database.drop();
});

const addAll = (jobs: object[]): Promise<Json[]> =>
  at.enqueueAll(jobs.map((job, i) => ({ queue, group: 'g', payload: i, ...job })));
const payloadsOf = (jobs: Json[]) => jobs.map(({ payload }) => payload);

/** Claims until nothing comes. */
async function claimAll(limit: number): Promise<Json[]> {
  const jobs: Json[] = [];
  for (;;) {
    const more = await at.claim(queue, { limit });
    if (more.length === 0) return jobs;
    jobs.push(...more);
  }
}

const WAYS: Record<string, { config: object; jobs: object[] }> = {
  priorities: { config: {}, jobs: [{ priority: 0 }, { priority: 5 }, { priority: 9 }] },
  'fairness keys': {
    config: {},
    jobs: [{ fairness_key: 'c' }, { fairness_key: 'a' }, { fairness_key: 'b' }],
  },
  'priorities and fairness keys': {
    config: {},
    jobs: [{ fairness_key: 'c' }, { priority: 5 }, { fairness_key: 'b', priority: 9 }],
  },
  'priorities, in a queue with a limit of leases': {
    config: { max_leased: 10 },
    jobs: [{ priority: 0 }, { priority: 5 }, { priority: 9 }],
  },
};

describe.each(Object.keys(WAYS))('jobs of a group with several %s', (way) => {
  const { config, jobs } = WAYS[way] as (typeof WAYS)[string];

  test.each([1, 10])('begin in the order in which they came, by claims of %i', async (limit) => {
    await at.configure(queue, { group_concurrency: 3, ...config });
    await addAll(jobs);
    expect(payloadsOf(await claimAll(limit))).toEqual([0, 1, 2]);
  });

  test('begin in that order after one came back', async () => {
    await at.configure(queue, { group_concurrency: 3, ...config });
    await addAll(jobs);
    const [first, second] = [await at.claimOne(queue), await at.claimOne(queue)];
    await at.settle('release', second);
    await at.settle('release', first);
    await eventually(async () => {
      const again = await at.claimOne(queue);
      if (again.payload !== 0) await at.settle('release', again);
      expect(again.payload).toBe(0);
    });
    expect(payloadsOf(await claimAll(1))).toEqual([1, 2]);
  });
});

test('an urgent job brings its group forward, before less urgent ones of others', async () => {
  await addAll([
    { group: 'h', payload: 'h', priority: 3 },
    { payload: 'first', priority: 0 },
    { payload: 'urgent', priority: 9 },
  ]);
  expect(payloadsOf(await claimAll(1))).toEqual(['first', 'urgent', 'h']);
});

test('explain names the job that an urgent one of its group waits for', async () => {
  const [first, , urgent] = await addAll([{ priority: 0 }, { priority: 0 }, { priority: 9 }]);
  expect(await at.ok('GET', `/jobs/${urgent.id}/explain`)).toMatchObject({
    code: 'behind_in_group',
    ahead: 2,
    blocking_job_id: first.id,
    detail: `In its group "g", 2 jobs go before it. Job ${first.id} is the first of them and is ready.`,
  });
  expect(await at.ok('GET', `/jobs/${first.id}/explain`)).toMatchObject({ code: 'next_in_line' });
});

test('a key has had its turn when another one of the group goes in its place', async () => {
  await addAll([
    { group: 'first', fairness_key: 'a', payload: 'a' },
    { fairness_key: 'a', payload: 'before b' },
    { fairness_key: 'a', payload: 'before b, too' },
    { fairness_key: 'b', payload: 'b' },
    { group: 'other', fairness_key: 'c', payload: 'c' },
  ]);
  expect(payloadsOf(await claimAll(1)).slice(0, 3)).toEqual(['a', 'before b', 'c']);
});

test('a claim from the front of a queue keeps their order, too, and tells whose turn it was', async () => {
  const [first, , urgent] = await addAll([
    { fairness_key: 'a' },
    { fairness_key: 'b' },
    { fairness_key: 'c', priority: 9 },
  ]);
  const statement = planned('claim/front');
  const rows = await onQueue(
    database.url,
    queue,
    statement.text,
    valuesOf(statement, oneFrontClaim(queueIdOf(urgent.id) as number, 2)),
  );
  expect(rows).toMatchObject([{ id: first.id, stand_ins: { [first.id]: { rank: -9, key: 'c' } } }]);
});

test('a claim gets none of a group whose first job another transaction has locked, and one that waits gets it when that is over', async () => {
  const [first] = await addAll([{ priority: 0 }, { priority: 9 }]);
  const user = await openTransaction(await databaseOf(database.url, queue));
  await user.query('select from dibs.jobs where id = $1 for update', [first.id]);
  expect(await at.claim(queue)).toEqual([]);
  let isOver = false;
  const waiting = at.claim(queue, { wait_seconds: 20 }).finally(() => {
    isOver = true;
  });
  await sleep(300);
  expect(isOver).toBe(false);
  await user.end('commit');
  expect(payloadsOf(await waiting)).toEqual([0]);
});

test('workers of several replicas begin the jobs of a group in order', async () => {
  const groups = ['g', 'h'];
  const jobs = Array.from({ length: 600 }, (_, i) => ({
    queue,
    group: groups[i % 2],
    priority: (i * 7) % 4,
    payload: i,
  }));
  await at.enqueueAll(jobs);
  /** When the claim of each job was sent, and when it was answered. */
  const begun: { payload: number; sent: number; answered: number }[] = [];
  const work = async (one: Service) => {
    while (begun.length < jobs.length) {
      const sent = performance.now();
      const { body } = await one.call('POST', '/jobs/claim', { queues: [queue], limit: 3 });
      const answered = performance.now();
      for (const { payload } of body.jobs) begun.push({ payload, sent, answered });
      const acks = body.jobs.map(({ id, lease_token }: Json) => ({ id, lease_token }));
      if (acks.length > 0) await one.call('POST', '/jobs/settle', { acks });
    }
  };
  await Promise.all([service, other, service, other, service, other].map(work));
  const tooLate = begun.filter((one) =>
    begun.some(
      (later) =>
        later.payload > one.payload && later.payload % 2 === one.payload % 2 && later.answered < one.sent,
    ),
  );
  expect(tooLate).toEqual([]);
  expect((await at.ok('GET', `/queues/${queue}`)).counts).toMatchObject({ ready: 0, blocked: 0, leased: 0 });
});
