import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ORDER_IN_TRIP } from '../../src/batching/roundTrip.ts';
import { createRoundTrips } from '../../src/batching/roundTrips.ts';
import { newClaim } from '../../src/claim/claim.ts';
import { createLease } from '../../src/claim/lease.ts';
import { createQueueMemories } from '../../src/claim/queueMemories.ts';
import { createCapacity } from '../../src/enqueue/capacity.ts';
import { createEnqueue } from '../../src/enqueue/enqueue.ts';
import { createArrivals } from '../../src/floor/arrivals.ts';
import { createGroupHeads } from '../../src/groups/heads.ts';
import { createNarrowing } from '../../src/groups/narrow.ts';
import { createGroupRepair } from '../../src/groups/repair.ts';
import { createLeaseTimes } from '../../src/leaseTimes.ts';
import { createLedger } from '../../src/ledger.ts';
import { createMemory } from '../../src/memory.ts';
import { createTally } from '../../src/metrics/tally.ts';
import { databaseClock } from '../../src/postgres/clock.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { queueCache } from '../../src/queues/cache.ts';
import { createNotifier } from '../../src/replicas/notifier.ts';
import { createSettlement } from '../../src/settle/verbs.ts';
import type { LeasedJob } from '../../src/verbs/claims.ts';
import { createSoleWaiters } from '../../src/waiting/soleWaiters.ts';
import { createWaiters } from '../../src/waiting/waiters.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { until } from '../support/until.ts';

const QUEUE = 'races';

/** An engine's verbs without its duties: nothing repairs what they leave behind. */
function bareEngine(url: string) {
  const db = openDatabase(url, 10);
  const queues = queueCache(db);
  const inRoundTrip = createRoundTrips(db);
  const errors: unknown[] = [];
  const log = (error: unknown) => errors.push(error);
  // It is not started: it hears nothing, and tells nobody.
  const notifier = createNotifier({ db, url, log });
  const ledger = createLedger();
  const waiters = createWaiters({ tell: () => undefined, ledger });
  const arrivals = createArrivals(db);
  const tally = createTally(Date.now);
  const groups = createGroupHeads({
    db,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.advance),
    queues,
    arrivals,
    notifier,
    log,
  });
  const { enqueue } = createEnqueue({
    db,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.enqueue),
    queues,
    clock: databaseClock(db),
    notifier,
    groups,
    capacity: createCapacity(db),
    arrivals,
    tally,
  });
  const settlement = createSettlement({
    leaseEnds: createLeaseTimes(),
    db,
    joinRoundTrip: inRoundTrip(ORDER_IN_TRIP.settle),
    queues,
    arrivals,
    notifier,
    waiters,
    soleWaiters: createSoleWaiters({ ledger }),
    groups,
    tally,
  });
  const memories = createQueueMemories();
  const narrowing = createNarrowing({ db, groups, log });
  const { leaseJobs } = createLease({
    leaseEnds: createLeaseTimes(),
    db,
    arrivals,
    memory: createMemory(),
    memories,
    narrowing,
    lost: () => undefined,
  });
  return {
    db,
    errors,
    repair: createGroupRepair({ db, queues, groups, narrowing, log }),
    enqueue: async (group: string, count = 1) =>
      enqueue(
        Array.from({ length: count }, () => ({ queue: QUEUE, group })),
        () => '',
      ),
    ack: ({ id, lease_token }: LeasedJob) => settlement.ack({ id, lease_token }),
    async claim(limit = 1000): Promise<LeasedJob[]> {
      const queue = await queues.open(QUEUE, false);
      const claims = [newClaim({ limit, lease_seconds: 600 }, undefined)];
      const leases = await inRoundTrip(ORDER_IN_TRIP.claim)(queue.id, (trip) =>
        leaseJobs(queue, claims, trip),
      );
      return leases.jobs.flat();
    },
  };
}

let database: Awaited<ReturnType<typeof createDatabase>>;
let engines: ReturnType<typeof bareEngine>[];
beforeAll(async () => {
  database = await createDatabase();
  engines = [bareEngine(database.url), bareEngine(database.url)];
});
afterAll(async () => {
  for (const { db } of engines) await db.close();
  await database.drop();
});

const [one, two] = [0, 1].map((i) => () => engines[i] as ReturnType<typeof bareEngine>) as [
  () => ReturnType<typeof bareEngine>,
  () => ReturnType<typeof bareEngine>,
];

/** For each group that has jobs: how many of them are blocked, and how many are heads. */
const standing = () =>
  onServer<{ group_key: string; blocked: number; heads: number }>(
    database.url,
    `select group_key, (count(*) filter (where state = 'blocked'))::integer as blocked,
       (count(*) filter (where is_head))::integer as heads
     from dibs.jobs group by group_key`,
  );

async function expectOneHeadEach(): Promise<void> {
  expect((await standing()).filter(({ heads }) => heads !== 1)).toEqual([]);
  expect(engines.flatMap(({ errors }) => errors)).toEqual([]);
}

/** As after a crash between the commit that took the heads and the advance of their groups. */
async function behead(): Promise<void> {
  await onServer(database.url, `update dibs.jobs set state = 'blocked', is_head = false`);
  expect((await standing()).some(({ heads }) => heads > 0)).toBe(false);
}

async function empty(): Promise<void> {
  await onServer(database.url, 'delete from dibs.jobs');
}

test('two engines that enqueue into the same empty group at once give it one head', async () => {
  for (let i = 0; i < 100; i++) {
    const groups = Array.from({ length: 5 }, (_, n) => `both ${i} ${n}`);
    await Promise.all(groups.flatMap((group) => [one().enqueue(group, 2), two().enqueue(group, 2)]));
  }
  await expectOneHeadEach();
  expect(await standing()).toHaveLength(500);
  await empty();
});

/** Runs work that waits for a lock of a transaction. The transaction then commits. */
async function whileHeld(
  hold: string,
  work: () => Promise<unknown>,
  meanwhile = async () => undefined as unknown,
) {
  const client = await openClient(database.url);
  try {
    await client.query('begin');
    expect((await client.query(hold)).rowCount).toBeGreaterThan(0);
    const working = work();
    await until(async () => (await onServer(database.url, WAITING)).length > 0, {
      what: 'a wait for a lock',
    });
    await meanwhile();
    await client.query('commit');
    await working;
  } finally {
    await client.end();
  }
}
const WAITING = `select from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and application_name = 'dibs'`;

/** The lease of the first of three jobs of a group. */
async function leaseOne(group: string): Promise<LeasedJob> {
  await one().enqueue(group, 3);
  const [lease] = await two().claim();
  return lease as LeasedJob;
}
const nth = (n: number) =>
  `select id from dibs.jobs where state = 'blocked' order by position limit 1 offset ${n}`;

describe('no group is left without a head', () => {
  afterEach(async () => {
    await expectOneHeadEach();
    await empty();
  });

  test('when a job comes while the last job before it is acked', async () => {
    await one().enqueue('leaving');
    const [lease] = (await two().claim()) as [LeasedJob];
    await whileHeld(
      'select from dibs.jobs for update',
      () => two().ack(lease),
      async () => expect((await one().enqueue('leaving'))[0]).toMatchObject({ state: 'blocked' }),
    );
    expect(await standing()).toEqual([{ group_key: 'leaving', blocked: 0, heads: 1 }]);
  });

  test('when the next head is deleted at that moment', async () => {
    const lease = await leaseOne('cancelled');
    await whileHeld(`delete from dibs.jobs where id = (${nth(0)})`, () => two().ack(lease));
    expect(await standing()).toEqual([{ group_key: 'cancelled', blocked: 0, heads: 1 }]);
  });

  test('when two replicas that see different jobs give it a head at the same moment', async () => {
    await one().enqueue('twice', 3);
    await behead();
    await whileHeld(`update dibs.jobs set state = 'ready', is_head = true where id = (${nth(1)})`, () =>
      one().enqueue('twice'),
    );
    expect(await standing()).toEqual([{ group_key: 'twice', blocked: 3, heads: 1 }]);
  });
});

test('a job that comes into a group whose head is missing goes behind the jobs that wait there', async () => {
  const [first] = await one().enqueue('order', 2);
  await behead();
  const [late] = await two().enqueue('order');
  expect(late).toMatchObject({ state: 'blocked' });
  const [lease] = (await one().claim()) as [LeasedJob];
  expect(lease.id).toBe(first?.id);
  await empty();
});

test('a job that comes while a producer has not committed its own waits for nobody', async () => {
  await one().enqueue('open');
  await empty();
  const client = await openClient(database.url);
  await client.query('begin');
  await client.query(`select dibs.enqueue($1, "group" => 'open')`, [QUEUE]);
  const [job] = await one().enqueue('open');
  expect(job).toMatchObject({ state: 'ready' });
  await client.query('commit');
  await client.end();
  const [lease] = (await two().claim()) as [LeasedJob];
  expect(lease.id).toBe(job?.id);
  expect(await two().claim()).toEqual([]);
  await one().ack(lease);
  expect(await two().claim()).toHaveLength(1);
  await empty();
});

test('32 concurrent producers into one group are served one at a time, in order, by two engines', async () => {
  const order: string[] = [];
  const answered: { id: string; sent: number; at: number }[] = [];
  let clock = 0;
  let producing = true;
  let together = 0;
  const worker = async (engine: ReturnType<typeof bareEngine>) => {
    for (let idle = 0; idle < 20; ) {
      const leases = await engine.claim(10);
      if (leases.length > 0) together++;
      expect(leases.length).toBeLessThanOrEqual(1);
      for (const lease of leases) {
        expect(together).toBe(1);
        order.push(lease.id);
        together--;
        await engine.ack(lease);
      }
      idle = leases.length > 0 || producing ? 0 : idle + 1;
    }
  };
  const workers = [worker(one()), worker(two()), worker(one()), worker(two())];
  await Promise.all(
    Array.from({ length: 32 }, async (_, i) => {
      for (let n = 0; n < 10; n++) {
        const sent = clock++;
        const [job] = await (i % 2 ? one() : two()).enqueue('crowd');
        answered.push({ id: (job as { id: string }).id, sent, at: clock++ });
      }
    }),
  );
  producing = false;
  await Promise.all(workers);
  expect(new Set(order)).toEqual(new Set(answered.map(({ id }) => id)));
  expect(order).toHaveLength(320);
  const place = new Map(order.map((id, i) => [id, i]));
  for (const a of answered)
    for (const b of answered)
      if (a.at < b.sent) expect(place.get(a.id)).toBeLessThan(place.get(b.id) as number);
});

test('a group whose replica died before it could advance the group gets its head from another replica', async () => {
  const groups = Array.from({ length: 30 }, () => randomUUID());
  for (const group of groups) await one().enqueue(group, 2);
  await behead();
  // The first run finds the queues, and looks at the first groups.
  await two().repair.run();
  await expectOneHeadEach();
  await empty();
});

test('all groups of one queue are repaired on demand', async () => {
  for (let i = 0; i < 3; i++) {
    await one().enqueue(`asked ${i}`, 2);
    await behead();
    two().repair.blocked(QUEUE, undefined);
    await until(async () => (await standing()).every(({ heads }) => heads === 1));
  }
  await empty();
});

test('the repair goes through any number of groups', async () => {
  for (let i = 0; i < 3; i++)
    await Promise.all(Array.from({ length: 1000 }, (_, n) => one().enqueue(`${i} ${n}`, 2)));
  await behead();
  for (let page = 0; page < 4; page++) await two().repair.run();
  await expectOneHeadEach();
  expect(await standing()).toHaveLength(3000);
});
