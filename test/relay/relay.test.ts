import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { RawJson } from '../../src/job.ts';
import type { RelayTarget } from '../../src/relay/relay.ts';
import { onServer } from '../support/database.ts';
import { createDatabases, type Databases, openReplica, payloadsIn, waitingIn } from '../support/relayed.ts';
import { until } from '../support/until.ts';

let databases: Databases;
let replica: ReturnType<typeof openReplica>;
/** Whether `east` seems to be away. */
let away = false;
/** How long a parcel is under way to `east`, in milliseconds. */
let transitMs = 0;

beforeAll(async () => {
  databases = await createDatabases();
  const targets: Record<string, Partial<RelayTarget>> = {
    east: {
      serves: () => !away,
      async receive(parcel) {
        await sleep(transitMs);
        return replica.at('east').rooms.receive(parcel);
      },
    },
  };
  replica = openReplica(databases, { targets });
  for (const [queue, database] of [
    ['here', 'home'],
    ['east.a', 'east'],
    ['east.b', 'east'],
    ['west.a', 'west'],
  ])
    await databases.place(queue as string, database as string);
});
afterAll(async () => {
  await replica.stop();
  await databases.drop();
});
beforeEach(async () => {
  away = false;
  transitMs = 0;
  for (const url of databases.urls.values())
    await onServer(url, 'delete from dibs.jobs; delete from dibs.relay; delete from dibs.unique_windows');
});

const payload = (value: unknown) => new RawJson(JSON.stringify(value));
const home = () => replica.at('home');

test('a batch over three databases is one commit, and each job is there when it is answered', async () => {
  const jobs = await home().enqueue([
    { queue: 'here', payload: payload(1) },
    { queue: 'east.a', payload: payload(2) },
    { queue: 'west.a', payload: payload(3) },
    { queue: 'east.b', payload: payload(4) },
    { queue: 'east.a', payload: payload(5) },
  ]);
  expect(jobs.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready', 'ready', 'ready']);
  expect(jobs.map(({ queue }) => queue)).toEqual(['here', 'east.a', 'west.a', 'east.b', 'east.a']);
  expect(await payloadsIn(databases, 'here')).toEqual([1]);
  expect(await payloadsIn(databases, 'east.a')).toEqual([2, 5]);
  expect(await payloadsIn(databases, 'east.b')).toEqual([4]);
  expect(await payloadsIn(databases, 'west.a')).toEqual([3]);
  await until(async () => (await waitingIn(databases, 'home')) === 0);
  const ids = await onServer<{ id: string }>(
    databases.urls.get('east') as string,
    'select id from dibs.jobs order by position',
  );
  expect(new Set(ids.map(({ id }) => id))).toEqual(new Set([jobs[1]?.id, jobs[3]?.id, jobs[4]?.id]));
  expect(replica.errors).toEqual([]);
});

test('what a job asks for arrives with it', async () => {
  const [, asked] = await home().enqueue([
    { queue: 'here' },
    {
      queue: 'east.a',
      payload: payload({ a: 1 }),
      headers: { tenant: 'x' },
      priority: 7,
      max_attempts: 3,
      backoff: { kind: 'constant', base_seconds: 2, max_seconds: 2, jitter: 0 },
      group: 'g',
      fairness_key: 'f',
      expires_in_seconds: 100,
    },
  ]);
  expect(asked).toMatchObject({
    state: 'ready',
    priority: 7,
    max_attempts: 3,
    group: 'g',
    fairness_key: 'f',
  });
  const [row] = await onServer(
    databases.urls.get('east') as string,
    `select j.*, q.fair, extract(epoch from expires_at - now()) as expires_in
     from dibs.jobs j join dibs.queues q on q.id = j.queue_id`,
  );
  expect(row).toMatchObject({
    id: asked?.id,
    payload: { a: 1 },
    headers: { tenant: 'x' },
    priority: 7,
    max_attempts: 3,
    backoff: { kind: 'constant', base_seconds: 2 },
    group_key: 'g',
    is_head: true,
    fairness_key: 'f',
    fair: true,
  });
  expect(Number(row?.expires_in)).toBeGreaterThan(60);
  expect(Number(row?.expires_in)).toBeLessThanOrEqual(100);
});

test('a job without max_attempts has those of its queue, in the other database', async () => {
  await databases.place('west.nine', 'west');
  const url = databases.urls.get('west') as string;
  await onServer(url, `update dibs.queues set max_attempts = 9 where name = 'west.nine'`);
  const [, job] = await home().enqueue([{ queue: 'here' }, { queue: 'west.nine' }]);
  expect(job?.max_attempts).toBe(9);
});

test('while a database is away a batch is taken, its jobs there are scheduled, and they arrive in order when it is back', async () => {
  away = true;
  const [first] = await home().enqueue([{ queue: 'here' }, { queue: 'east.a', payload: payload(1) }]);
  expect(first?.state).toBe('ready');
  const [, , second] = await home().enqueue([
    { queue: 'here' },
    { queue: 'west.a', payload: payload('w') },
    { queue: 'east.a', payload: payload(2), delay_seconds: 0.5 },
  ]);
  expect(second).toMatchObject({ state: 'scheduled', queue: 'east.a', max_attempts: 5 });
  expect(await home().relay.find(second?.id as string)).toMatchObject({
    id: second?.id,
    queue: 'east.a',
    state: 'scheduled',
    payload: '2',
    run_at: second?.run_at,
    created_at: second?.created_at,
  });
  expect(await payloadsIn(databases, 'west.a')).toEqual(['w']);
  expect(await payloadsIn(databases, 'east.a')).toEqual([]);
  expect(home().relay.hasWork()).toBe(true);
  await home().relay.run();
  expect(home().relay.waiting().jobs).toBe(2);
  expect(await waitingIn(databases, 'home')).toBe(2);
  away = false;
  await home().relay.run();
  expect(await payloadsIn(databases, 'east.a')).toEqual([1, 2]);
  expect(await home().relay.find(second?.id as string)).toBeUndefined();
  await home().relay.run();
  expect(home().relay.hasWork()).toBe(false);
  expect(home().relay.waiting()).toEqual({ jobs: 0, oldestSeconds: 0 });
});

test('the time that a job waited for its database counts for its delay and its expiry', async () => {
  away = true;
  await home().enqueue([
    { queue: 'here' },
    { queue: 'east.a', delay_seconds: 3600, expires_in_seconds: 7200 },
    { queue: 'east.a', delay_seconds: 60 },
  ]);
  await onServer(
    databases.urls.get('home') as string,
    `update dibs.relay set created_at = created_at - interval '30 minutes'`,
  );
  away = false;
  await home().relay.run();
  const [row, late] = await onServer<{ state: string; due_in: string; expires_in: string }>(
    databases.urls.get('east') as string,
    `select state, extract(epoch from run_at - now()) as due_in, extract(epoch from expires_at - now()) as expires_in
     from dibs.jobs order by position`,
  );
  expect(row?.state).toBe('scheduled');
  expect(Number(row?.due_in)).toBeGreaterThan(1700);
  expect(Number(row?.due_in)).toBeLessThanOrEqual(1800);
  expect(Number(row?.expires_in)).toBeGreaterThan(5300);
  expect(Number(row?.expires_in)).toBeLessThanOrEqual(5400);
  expect(late?.state).toBe('ready');
});

test('the time that its parcel was under way counts, too', async () => {
  transitMs = 1500;
  const began = Date.now();
  await home().enqueue([
    { queue: 'here' },
    { queue: 'east.a', delay_seconds: 60, expires_in_seconds: 100, payload: payload('slow') },
  ]);
  const url = databases.urls.get('east') as string;
  const row = await until(async () => {
    const [found] = await onServer<{ due: Date; ends: Date }>(
      url,
      `select run_at as due, expires_at as ends from dibs.jobs where payload::text = '"slow"'`,
    );
    return found;
  });
  expect(row.due.getTime() - began).toBeLessThan(61_000);
  expect(row.ends.getTime() - began).toBeLessThan(101_000);
});

test('a full queue takes jobs from another database', async () => {
  await databases.place('west.full', 'west');
  const url = databases.urls.get('west') as string;
  await onServer(url, `update dibs.queues set max_ready = 1 where name = 'west.full'`);
  const jobs = await home().enqueue([{ queue: 'here' }, { queue: 'west.full' }, { queue: 'west.full' }]);
  expect(jobs.map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
});

/** Two replicas began it at once: one of them with jobs that the other one's parcel had brought already. */
test('a parcel whose jobs are gone keeps none back', async () => {
  const [, first] = await home().enqueue([{ queue: 'here' }, { queue: 'east.a', payload: payload(1) }]);
  await until(async () => (await waitingIn(databases, 'home')) === 0);
  await onServer(
    databases.urls.get('home') as string,
    `update dibs.relay_parcels set number = number + 1, places = '{1000000000}'
     where queue_id = $1`,
    [databases.places.get('east.a')?.queueId],
  );
  const [, second] = await home().enqueue([{ queue: 'here' }, { queue: 'east.a', payload: payload(2) }]);
  expect([first?.state, second?.state]).toEqual(['ready', 'ready']);
  expect(await payloadsIn(databases, 'east.a')).toEqual([1, 2]);
});

test('a parcel that is sent again arrives once, also when its jobs are done and gone', async () => {
  const target = replica.at('west').rooms.receive;
  const [, job] = await home().enqueue([{ queue: 'here' }, { queue: 'west.a', payload: payload(1) }]);
  await until(async () => (await waitingIn(databases, 'home')) === 0);
  const [arrival] = await onServer<{ number: string }>(
    databases.urls.get('west') as string,
    `select number from dibs.relay_arrivals where source = 'home' and queue_id = $1`,
    [databases.places.get('west.a')?.queueId],
  );
  await onServer(databases.urls.get('west') as string, 'delete from dibs.jobs');
  const again = {
    source: 'home',
    readAt: performance.now(),
    queueId: databases.places.get('west.a')?.queueId as number,
    queue: 'west.a',
    jobs: [
      {
        place: 1,
        id: job?.id as string,
        moved: null,
        waited_seconds: 0,
        awaited_seconds: null,
        delay_seconds: 0,
        run_at: null,
        priority: 0,
        max_attempts: 5,
        headers: '{}',
        payload: '1',
        backoff: null,
        unique_key: null,
        unique_for_seconds: null,
        on_duplicate: null,
        unique_until: null,
        group: null,
        fairness_key: null,
        expires_in_seconds: null,
      },
    ],
  };
  const number = Number(arrival?.number);
  expect(await target({ ...again, number })).toEqual(new Map());
  expect(await target({ ...again, number: number - 1 })).toEqual(new Map());
  expect(await payloadsIn(databases, 'west.a')).toEqual([]);
  // A later one does.
  expect((await target({ ...again, number: number + 1 })).size).toBe(1);
});

/** A standby of home was promoted that lacks its last commits: what had arrived waits there again, with what came since. */
test('jobs that are there already have arrived: they come no second time, and hold up no others', async () => {
  const url = databases.urls.get('home') as string;
  const east = databases.urls.get('east') as string;
  away = true;
  const [, first] = await home().enqueue([
    { queue: 'here' },
    { queue: 'east.a', payload: payload('live') },
    { queue: 'east.a', payload: payload('retained') },
    { queue: 'east.a', payload: payload('moved') },
  ]);
  const line = { state: 'ready', attempt: 0, deliveries: 0, priority: 0, max_attempts: 5, is_paused: false };
  const times = { run_at: first?.created_at, created_at: first?.created_at };
  await onServer(
    url,
    `update dibs.relay set job = null, moved = $1 where (job).payload::text like '%moved%'`,
    [JSON.stringify({ ...line, ...times, headers: '{}', payload: '"moved"', cancel_requested: false })],
  );
  await onServer(
    url,
    `update dibs.relay set job.unique_key = 'k', on_duplicate = 'replace' where (job).payload::text like '%retained%'`,
  );
  await onServer(url, 'create table kept as select * from dibs.relay');
  away = false;
  await home().relay.run();
  expect(replica.errors).toEqual([]);
  expect(await payloadsIn(databases, 'east.a')).toEqual(['live', 'retained', 'moved']);
  await onServer(
    east,
    `update dibs.jobs set state = 'completed', finished_at = now() where payload::text = '"retained"'`,
  );
  const again = { queue: 'east.a', unique_key: 'k', payload: payload('holds the key since') };
  await replica.at('east').enqueue([again]);
  const before = await onServer(east, 'select * from dibs.jobs order by position');

  await onServer(url, 'insert into dibs.relay overriding system value select * from kept');
  await onServer(url, 'drop table kept');
  const since = ['a', 'b'].map((value) => ({ queue: 'east.a', payload: payload(value) }));
  const [, ...jobs] = await home().enqueue([{ queue: 'here' }, ...since]);
  expect(jobs.map(({ state }) => state)).toEqual(['ready', 'ready']);
  const after = await onServer(east, 'select * from dibs.jobs order by position');
  expect(after.slice(0, 4)).toEqual(before);
  expect(after.slice(4).map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
  expect(await waitingIn(databases, 'home')).toBe(0);
  expect(replica.errors).toEqual([]);
});

test('what waits for a queue that is gone goes with it', async () => {
  away = true;
  await databases.place('east.gone', 'east');
  await home().enqueue([{ queue: 'here' }, { queue: 'east.gone' }]);
  await onServer(databases.urls.get('east') as string, `delete from dibs.queues where name = 'east.gone'`);
  away = false;
  // It is not there yet, as far as its place says.
  await home().relay.run();
  expect(await waitingIn(databases, 'home')).toBe(1);
  databases.places.delete('east.gone');
  await home().relay.run();
  expect(await waitingIn(databases, 'home')).toBe(0);
});

test('jobs that are cancelled while they are sent: each is cancelled here, or arrives', async () => {
  const other = openReplica(databases);
  let removed = 0;
  for (let round = 0; round < 8; round++) {
    away = true;
    const jobs = await home().enqueue([
      { queue: 'here' },
      ...Array.from({ length: 12 }, (_, i) => ({ queue: 'east.a', payload: payload(`${round} ${i}`) })),
    ]);
    away = false;
    const ids = jobs.slice(1).map(({ id }) => id);
    const [gone] = await Promise.all([
      Promise.all(ids.map((id) => home().relay.remove(id))),
      other.at('home').relay.run(),
      home().relay.run(),
    ]);
    await until(async () => {
      await home().relay.run();
      return (await waitingIn(databases, 'home')) === 0;
    });
    const arrived = await onServer<{ id: string }>(
      databases.urls.get('east') as string,
      'select id from dibs.jobs order by position',
    );
    expect(arrived.map(({ id }) => id)).toEqual(ids.filter((_, i) => !gone[i]));
    for (const job of gone) if (job) expect(job).toMatchObject({ queue: 'east.a', state: 'cancelled' });
    removed += gone.filter((job) => job).length;
    await onServer(databases.urls.get('east') as string, 'delete from dibs.jobs');
  }
  expect(removed).toBeGreaterThan(0);
  expect(other.errors).toEqual([]);
  await other.stop();
});

test('a request does not wait long for a database that hangs', async () => {
  const impatient = openReplica(databases, {
    answerMs: 50,
    targets: { east: { receive: () => new Promise(() => undefined) } },
  });
  const [, job] = await impatient
    .at('home')
    .enqueue([{ queue: 'here' }, { queue: 'east.a', payload: payload(1) }]);
  expect(job?.state).toBe('scheduled');
  await impatient.stop();
  // Its transaction may end a moment later.
  await until(async () => {
    await home().relay.run();
    return (await waitingIn(databases, 'home')) === 0;
  });
  expect(await payloadsIn(databases, 'east.a')).toEqual([1]);
});

test('what is kept of parcels to queues that are gone is given back, also where jobs still waited', async () => {
  const url = databases.urls.get('home') as string;
  const kept = async () =>
    (await onServer<{ id: number }>(url, 'select queue_id as id from dibs.relay_parcels order by id')).map(
      ({ id }) => id,
    );
  await until(async () => (await waitingIn(databases, 'home')) === 0);
  await onServer(url, 'delete from dibs.relay_parcels');
  for (const queue of ['west.left', 'east.left']) await databases.place(queue, queue.slice(0, 4));
  const ids = ['east.a', 'west.left', 'east.left'].map((queue) => databases.places.get(queue)?.queueId);
  await home().enqueue([{ queue: 'here' }, { queue: 'east.a' }, { queue: 'west.left' }]);
  away = true;
  await home().enqueue([{ queue: 'here' }, { queue: 'east.left' }]);
  // It was begun, and its replica was killed.
  await onServer(
    url,
    `insert into dibs.relay_parcels (queue_id, number, places)
     select queue_id, 1, array[place] from dibs.relay where queue_id = $1`,
    [ids[2]],
  );
  await until(async () => (await kept()).length === 3);
  await home().relay.forget();
  expect(await kept()).toEqual(ids);

  for (const queue of ['west.left', 'east.left']) databases.places.delete(queue);
  await home().relay.forget();
  expect(await kept()).toEqual([ids[0], ids[2]]);
  away = false;
  await home().relay.run();
  expect(await waitingIn(databases, 'home')).toBe(0);
  expect(await kept()).toEqual([ids[0]]);

  // The next parcel has a higher number, though the clock was set back.
  await onServer(url, `update dibs.relay_parcels set number = number + 1000000000000`);
  await onServer(
    databases.urls.get('east') as string,
    `update dibs.relay_arrivals set number = number + 1000000000000 where queue_id = ${ids[0]}`,
  );
  await home().relay.forget();
  await home().enqueue([{ queue: 'here' }, { queue: 'east.a', payload: payload('after') }]);
  expect(await payloadsIn(databases, 'east.a')).toContain('after');
});
