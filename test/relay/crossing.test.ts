import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { RawJson } from '../../src/job.ts';
import type { Receive } from '../../src/relay/receive.ts';
import type { NewJob } from '../../src/verbs/enqueue.ts';
import { onServer } from '../support/database.ts';
import { createDatabases, type Databases, openReplica, payloadsIn, waitingIn } from '../support/relayed.ts';
import { until } from '../support/until.ts';

let databases: Databases;
let replica: ReturnType<typeof openReplica>;
let away = false;
const moving = new Set<string>();

beforeAll(async () => {
  databases = await createDatabases();
  replica = openReplica(databases, { moving, targets: { east: { serves: () => !away } } });
  for (const [queue, database] of [
    ['here', 'home'],
    ['kept', 'home'],
    ['east.a', 'east'],
    ['east.b', 'east'],
    ['west.a', 'west'],
  ])
    await databases.place(queue as string, database as string);
  await onServer(
    databases.urls.get('home') as string,
    `update dibs.queues set retention_seconds = 3600 where name = 'kept'`,
  );
});
afterAll(async () => {
  await replica.stop();
  await databases.drop();
});
beforeEach(async () => {
  away = false;
  for (const url of databases.urls.values())
    await onServer(
      url,
      'delete from dibs.jobs; delete from dibs.relay; delete from dibs.unique_windows; delete from dibs.schedules',
    );
});

const payload = (value: unknown) => new RawJson(JSON.stringify(value));
const home = () => replica.at('home');
const east = () => replica.at('east');

/** A lease of a new job of a queue of home. */
async function lease(queue: string, job: NewJob = {}) {
  await home().enqueue([{ ...job, queue }]);
  const [leased] = await home().verbs.claim({
    queues: [queue],
    limit: 1,
    wait_seconds: 0,
    onHangup: () => undefined,
  } as never);
  const { id, lease_token } = leased as unknown as { id: string; lease_token: string };
  return { id, lease_token };
}

const at = (i: number) => `/enqueue/${i}`;

test('follow-ups of an ack for queues in other databases arrive when the ack counted', async () => {
  const item = await lease('here');
  const acked = await home().verbs.ack({
    ...item,
    at,
    enqueue: [
      { queue: 'east.a', payload: payload('e') },
      { queue: 'here', payload: payload('h') },
      { queue: 'west.a', payload: payload('w') },
    ],
  });
  expect(acked).toMatchObject({ state: 'completed' });
  expect(acked.enqueued?.map(({ queue, state }) => [queue, state])).toEqual([
    ['east.a', 'ready'],
    ['here', 'ready'],
    ['west.a', 'ready'],
  ]);
  expect(await payloadsIn(databases, 'east.a')).toEqual(['e']);
  expect(await payloadsIn(databases, 'here')).toEqual(['h']);
  expect(await payloadsIn(databases, 'west.a')).toEqual(['w']);
  await expect(home().verbs.ack({ ...item, at, enqueue: [{ queue: 'east.a' }] })).rejects.toMatchObject({
    code: 'job_not_found',
  });
  expect(await payloadsIn(databases, 'east.a')).toEqual(['e']);
});

test('a repeated ack of a kept job is answered as the first, and enqueues nothing', async () => {
  const item = await lease('kept');
  const first = await home().verbs.ack({ ...item, at, enqueue: [{ queue: 'east.a', payload: payload(1) }] });
  expect(first.enqueued).toMatchObject([{ queue: 'east.a', state: 'scheduled' }]);
  const again = await home().verbs.ack({ ...item, at, enqueue: [{ queue: 'east.a', payload: payload(1) }] });
  expect(again.enqueued).toEqual(first.enqueued);
  expect(await payloadsIn(databases, 'east.a')).toEqual([1]);
});

test('follow-ups of a nack that makes a job dead arrive in other databases', async () => {
  const item = await lease('here', { max_attempts: 1 });
  const nacked = await home().verbs.nack({
    ...item,
    at,
    enqueue: [{ queue: 'east.a', payload: payload(1) }],
  });
  expect(nacked).toMatchObject({ state: 'dead' });
  expect(await payloadsIn(databases, 'east.a')).toEqual([1]);
});

test('a follow-up whose unique key is held in its database is dropped there', async () => {
  const [holder] = await east().enqueue([
    { queue: 'east.a', unique_key: 'k', unique_for_seconds: 60, payload: payload('holder') },
  ]);
  const item = await lease('here');
  const acked = await home().verbs.ack({
    ...item,
    at,
    enqueue: [
      { queue: 'east.a', unique_key: 'k', payload: payload('dropped') },
      { queue: 'east.a', unique_key: 'other', payload: payload('taken') },
      { queue: 'east.a', unique_key: 'other', payload: payload('dropped, too') },
    ],
  });
  expect(acked.enqueued).toMatchObject([
    { id: holder?.id, deduplicated: true },
    { unique_key: 'other', state: 'ready' },
    { unique_key: 'other', deduplicated: true },
  ]);
  expect(await payloadsIn(databases, 'east.a')).toEqual(['holder', 'taken']);
});

test('a batch with a unique key outside of the database of its first job is refused, and enqueues nothing', async () => {
  const refusal = {
    code: 'invalid_request',
    errors: [
      {
        path: '/jobs/1/unique_key',
        message: 'must not stand in a queue of another database than the first job',
      },
    ],
  };
  const jobs = [{ queue: 'here' }, { queue: 'east.a', unique_key: 'k' }];
  await expect(home().enqueue(jobs)).rejects.toMatchObject(refusal);
  const request = { route: 'r', key: 'refused', fingerprint: 'a'.repeat(64) };
  await expect(home().verbs.enqueueOnce({ jobs, at: (i) => `/jobs/${i}`, request })).rejects.toMatchObject(
    refusal,
  );
  const own = await home().enqueue([{ queue: 'here', unique_key: 'k' }, { queue: 'east.a' }]);
  expect(own.map(({ state }) => state)).toEqual(['ready', 'ready']);
  expect(await payloadsIn(databases, 'here')).toEqual([null]);
  expect(await payloadsIn(databases, 'east.a')).toEqual([null]);
});

test('a batch with an Idempotency-Key over several databases is enqueued once', async () => {
  const request = { route: 'r', key: 'k', fingerprint: 'a'.repeat(64) };
  const jobs = [
    { queue: 'here', payload: payload(1) },
    { queue: 'east.a', payload: payload(2) },
  ];
  const once = () => home().verbs.enqueueOnce({ jobs, at: (i) => `/jobs/${i}`, request });
  const first = await once();
  const again = await once();
  expect(again).toMatchObject({ replayed: true });
  expect(again.jobs.map(({ id, state }) => [id, state])).toEqual(
    first.jobs.map(({ id, state }) => [id, state]),
  );
  expect(await payloadsIn(databases, 'here')).toEqual([1]);
  expect(await payloadsIn(databases, 'east.a')).toEqual([2]);
});

test('each tick of a schedule makes one job in another database, unless one there holds its key', async () => {
  const spec = {
    cron: '* * * * * *',
    timezone: 'UTC',
    paused: false,
    job: { queue: 'east.a', payload: payload('tick'), unique_key: 'k', unique_for_seconds: 0 },
  };
  await home().verbs.putSchedule({ name: 's', spec } as never);
  // A trigger is led to the database of the queue (src/databases/verbs.ts).
  const [triggered] = await east().enqueue([spec.job]);
  expect(triggered).toMatchObject({ queue: 'east.a', state: 'ready' });
  expect(await payloadsIn(databases, 'east.a')).toEqual(['tick']);
  // The job of the trigger holds the key: a tick is dropped where it arrives.
  const ticks = await import('../../src/schedules/ticker.ts').then(({ scheduleTicks }) =>
    scheduleTicks({
      db: home().base.db,
      enqueueWithin: home().rooms.enqueue.enqueueWithin,
      rest: home().base.rest,
      log: (error) => replica.errors.push(error),
    }),
  );
  const ticked = async () => {
    await ticks();
    const [row] = await onServer<{ at: string | null }>(
      databases.urls.get('home') as string,
      'select last_run_at as at from dibs.schedules',
    );
    return row?.at;
  };
  const first = await until(ticked);
  expect(await payloadsIn(databases, 'east.a')).toEqual(['tick']);
  await onServer(databases.urls.get('east') as string, 'delete from dibs.jobs');
  await until(async () => String(await ticked()) !== String(first));
  expect(await payloadsIn(databases, 'east.a')).toEqual(['tick']);
  expect(await waitingIn(databases, 'home')).toBe(0);
  expect(replica.errors).toEqual([]);
});

test('queues with much to send take turns: a fifth one waits for one parcel of the others', async () => {
  const queues = ['turn.0', 'turn.1', 'turn.2', 'turn.3', 'turn.4'];
  for (const queue of queues) await databases.place(queue, 'east');
  const arrivals: { queue: string; pass(): void }[] = [];
  const receive: Receive = async (parcel) => {
    await new Promise<void>((pass) => arrivals.push({ queue: parcel.queue, pass }));
    return await east().rooms.receive(parcel);
  };
  const other = openReplica(databases, { answerMs: 0, targets: { east: { receive } } });
  const item = await lease('here');
  // A parcel has 500 jobs.
  const enqueue = Array.from({ length: 501 }, () => queues.map((queue) => ({ queue }))).flat();
  const acked = other.at('home').verbs.ack({ ...item, at, enqueue });
  await until(async () => arrivals.length === 4);
  arrivals[0]?.pass();
  await until(async () => arrivals.length === 5);
  expect(arrivals.map(({ queue }) => queue).sort()).toEqual(queues);
  for (let passed = 1; (await waitingIn(databases, 'home')) > 0; ) {
    for (; passed < arrivals.length; passed++) arrivals[passed]?.pass();
    await new Promise((next) => setTimeout(next, 10));
  }
  await acked;
  await other.stop();
});

test('jobs for a queue whose database is away leave places to those for others', async () => {
  away = true;
  const other = openReplica(databases, {
    answerMs: 0,
    mostWaiting: 8,
    targets: { east: { serves: () => false } },
  });
  const follow = async (queue: string, count: number) => {
    const item = await lease('here');
    const enqueue = Array.from({ length: count }, () => ({ queue }));
    const told = await other
      .at('home')
      .verbs.ack({ ...item, at, enqueue })
      .catch((error: Error) => error);
    await until(async () => {
      await other.at('home').relay.run();
      return other.at('home').relay.waiting().jobs === (await waitingIn(databases, 'home'));
    });
    return told instanceof Error ? told.message : told.enqueued?.length;
  };
  expect(await follow('east.a', 6)).toBe(6);
  expect(await follow('east.a', 1)).toMatch(/^Too many jobs wait for queue east\.a, whose database is away/);
  expect(await follow('west.a', 1)).toBe(1);
  expect(await follow('east.b', 1)).toBe(1);
  expect(await follow('west.a', 1)).toBe(1);
  await other.stop();
});

test('an operation moves jobs to a queue in another database, as they are', async () => {
  await home().enqueue([
    { queue: 'here', payload: payload({ text: '\u0001 "x"', n: 1 }), headers: { a: 'b' }, fairness_key: 'f' },
    { queue: 'here', payload: payload(2), group: 'g' },
    { queue: 'here', payload: payload(3), group: 'g' },
    { queue: 'here', payload: payload(4), unique_key: 'k', max_attempts: 7, priority: 3 },
    { queue: 'here', payload: payload(5), unique_key: 'held' },
  ]);
  await home().enqueue([{ queue: 'here', payload: payload('later'), delay_seconds: 3600 }]);
  await east().enqueue([{ queue: 'east.b', payload: payload('holds'), unique_key: 'held' }]);
  const item = await lease('kept', { max_attempts: 1, payload: payload('dead') });
  await home().verbs.nack({ ...item, at, error: 'broken' });
  for (const queue of ['here', 'kept'])
    await home().verbs.startOperation({
      verb: 'move',
      queue,
      to: 'east.b',
      filter: { states: ['ready', 'blocked', 'scheduled', 'dead'] },
      by: undefined,
    } as never);
  await until(async () => {
    await home().rooms.operationWork.run();
    const running = await onServer(
      databases.urls.get('home') as string,
      `select from dibs.operations where state = 'running'`,
    );
    return running.length === 0 && (await waitingIn(databases, 'home')) === 0;
  });
  expect(await payloadsIn(databases, 'here')).toEqual([]);
  const rows = await onServer(
    databases.urls.get('east') as string,
    `select payload, state, group_key, is_head, unique_key, max_attempts, priority, attempt, last_error, headers,
      right(id::text, 6) = lpad(to_hex(queue_id), 6, '0') as is_own
     from dibs.jobs order by position`,
  );
  expect(rows.every(({ is_own }) => is_own)).toBe(true);
  const byPayload = new Map(rows.map((one) => [JSON.stringify(one.payload), one]));
  expect([...byPayload.keys()]).toContain(JSON.stringify({ text: '\u0001 "x"', n: 1 }));
  // One of the group is its head there.
  const group = rows.filter(({ group_key }) => group_key === 'g');
  expect(group.map(({ state, is_head }) => [state, is_head]).sort()).toEqual([
    ['blocked', false],
    ['ready', true],
  ]);
  expect(byPayload.get('4')).toMatchObject({ unique_key: 'k', max_attempts: 7, priority: 3 });
  expect(byPayload.get('"later"')).toMatchObject({ state: 'scheduled' });
  expect(byPayload.get('"dead"')).toMatchObject({ state: 'dead', attempt: 1, last_error: 'broken' });
  // A duplicate is dropped where it arrives.
  expect(byPayload.has('5')).toBe(false);
  const [queue] = await onServer(
    databases.urls.get('east') as string,
    `select fair from dibs.queues where name = 'east.b'`,
  );
  expect(queue).toEqual({ fair: true });
});

test('a move into a queue that is being relocated keeps no other operation of its caller back, and goes on later', async () => {
  await home().enqueue([{ queue: 'here' }, { queue: 'kept' }]);
  const filter = { states: ['ready'] };
  const start = async (body: object) =>
    ((await home().verbs.startOperation({ ...body, filter, by: undefined } as never)) as { id: string }).id;
  const stateOf = async (id: string) => {
    await home().rooms.operationWork.run();
    return ((await home().verbs.getOperation({ id } as never)) as { state: string }).state;
  };
  moving.add('east.b');
  const move = await start({ verb: 'move', queue: 'here', to: 'east.b' });
  // It is counted first.
  for (let i = 0; i < 5; i++) expect(await stateOf(move)).toBe('running');
  const cancel = await start({ verb: 'cancel', queue: 'kept' });
  await until(async () => (await stateOf(cancel)) === 'done');
  expect(await stateOf(move)).toBe('running');
  moving.clear();
  await until(async () => (await stateOf(move)) === 'done');
});

test('a moved job that has not arrived is told as scheduled', async () => {
  away = true;
  const [job] = await home().enqueue([
    { queue: 'here', payload: payload(1), headers: { a: 'b' }, group: 'g' },
  ]);
  await home().verbs.startOperation({
    verb: 'move',
    queue: 'here',
    to: 'east.b',
    filter: { states: ['ready'] },
    by: undefined,
  } as never);
  await until(async () => {
    await home().rooms.operationWork.run();
    return (await waitingIn(databases, 'home')) === 1;
  });
  const number = databases.places.get('east.b')?.queueId as number;
  const id = (job?.id.slice(0, 30) ?? '') + number.toString(16).padStart(6, '0');
  const { headers, created_at } = job as { headers: string; created_at: string };
  expect(await home().relay.find(id)).toMatchObject({
    id,
    queue: 'east.b',
    state: 'scheduled',
    payload: '1',
    group: 'g',
    headers,
    created_at,
  });
});
