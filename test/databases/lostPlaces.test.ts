import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLearning } from '../../src/databases/learning.ts';
import type { Members } from '../../src/databases/members.ts';
import { createPlacements } from '../../src/databases/placements.ts';
import { examineTogether } from '../../src/doctor/several.ts';
import { queueIdOf } from '../../src/ids.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { onServer, openClient } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';
import { useThreeDatabases } from '../support/threeDatabases.ts';
import { until } from '../support/until.ts';

/*
 * Home has lost its last commits: a standby was promoted that lacked them, or a backup was restored. Here the rows of places are
 * deleted.
 */

const { databases, replicas } = useThreeDatabases();
let one: Service;
beforeAll(() => {
  one = replicas.one;
});

const urlOf = (name: string) => databases[name]?.url as string;
const options = () => ({ databaseUrl: urlOf('home'), others: { a: urlOf('a'), b: urlOf('b') } });

/** A queue in a database, with a job. Returns the id of the job. */
async function made(queue: string, database: string): Promise<string> {
  expect((await one.call('PUT', `/queues/${queue}`, { database })).status).toBe(200);
  const { status, body } = await one.call('POST', '/jobs', { queue, payload: 'precious' });
  expect(status).toBe(201);
  return body.id;
}

/** Home has lost the place of a queue, and, if `numbers`, that its number was given. */
async function lose(queue: string, numbers = false): Promise<number> {
  const [lost] = await onServer<{ queue_id: number }>(
    urlOf('home'),
    'delete from dibs.placements where name = $1 returning queue_id',
    [queue],
  );
  const id = (lost as { queue_id: number }).queue_id;
  if (numbers) await onServer(urlOf('home'), "select setval('dibs.queue_ids', $1)", [id - 1]);
  return id;
}

const placesOf = (queue: string) =>
  onServer<{ queue_id: number; database: string }>(
    urlOf('home'),
    'select queue_id, database from dibs.placements where name = $1',
    [queue],
  );

/** Ends every connection to a database, as a failover does. */
const cutOff = (name: string) =>
  onServer(
    urlOf(name),
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );

/** The job is found, and claimed, and done. */
async function expectServed(service: Service, queue: string, id: string) {
  expect(await service.call('GET', `/jobs/${id}`)).toMatchObject({ status: 200, body: { queue } });
  expect(await service.call('GET', `/queues/${queue}`)).toMatchObject({ status: 200 });
  const { body } = await service.call('POST', '/jobs/claim', { queues: [queue] });
  expect(body.jobs).toMatchObject([{ id, payload: 'precious' }]);
  const [{ lease_token }] = body.jobs;
  expect((await service.call('POST', `/jobs/${id}/ack`, { lease_token })).status).toBe(200);
}

/** Runs with a replica that has just been started. */
async function withFresh(run: (fresh: Service) => Promise<void>) {
  const fresh = await startService(options());
  try {
    await run(fresh);
  } finally {
    await fresh.stop();
  }
}

test('a replica that starts finds the queues of other databases whose places home has lost', async () => {
  const id = await made('started.b', 'b');
  const number = await lose('started.b');
  await withFresh(async (fresh) => {
    await expectServed(fresh, 'started.b', id);
    expect(await placesOf('started.b')).toEqual([{ queue_id: number, database: 'b' }]);
  });
});

test('replicas find them when home has failed over, also claims that wait for such a queue', async () => {
  const id = await made('over.b', 'b');
  await made('over.a', 'a');
  await lose('over.b');
  await lose('over.a');
  await cutOff('home');
  for (const replica of [one, replicas.two])
    await until(async () => (await replica.call('GET', `/jobs/${id}`)).status === 200);
  await until(async () => (await placesOf('over.a'))[0]?.database === 'a');
  await expectServed(replicas.two, 'over.b', id);
});

test('no new queue gets a number that a queue of another database has', async () => {
  const id = await made('number.b', 'b');
  await lose('number.b', true);
  expect(await one.call('PUT', '/queues/fresh1', { database: 'b' })).toMatchObject({ status: 200 });
  const { status, body } = await one.call('POST', '/jobs', { queue: 'fresh1' });
  expect(status).toBe(201);
  expect(queueIdOf(body.id)).not.toBe(queueIdOf(id));
  expect(await one.call('GET', `/jobs/${body.id}`)).toMatchObject({ status: 200, body: { queue: 'fresh1' } });
  await expectServed(one, 'number.b', id);
});

test('a queue that is there already under another number is used, where its place is lost', async () => {
  const id = await made('twice.b', 'b');
  const number = await lose('twice.b');
  expect(await replicas.two.call('PUT', '/queues/twice.b', { database: 'b' })).toMatchObject({
    status: 200,
    body: { database: 'b' },
  });
  expect(await placesOf('twice.b')).toEqual([{ queue_id: number, database: 'b' }]);
  await expectServed(one, 'twice.b', id);
});

test('a queue whose number and name others have is refused, told, and takes no numbers', async () => {
  await made('barred', 'b');
  const [barred] = await placesOf('barred');
  const id = barred?.queue_id as number;
  await onServer(
    urlOf('home'),
    "update dibs.placements set name = 'barring', database = 'a' where name = 'barred'",
  );
  await withFresh(async (fresh) => {
    expect(fresh.errors.map(String).join()).toMatch(/"b" have no place.* barred \(\d+\)/);
    const refused = {
      status: 503,
      body: { code: 'unavailable', detail: expect.stringContaining('dibs doctor') },
    };
    expect(await fresh.call('PUT', '/queues/barred', { database: 'b' })).toMatchObject(refused);
    const places = await placesOf('barred');
    expect(await fresh.call('POST', '/jobs', { queue: 'barred' })).toMatchObject(refused);
    expect(await fresh.call('POST', '/jobs', { queue: 'barred' })).toMatchObject({
      body: { outcome: 'not_done' },
    });
    expect(await placesOf('barred')).toEqual(places);
    expect(fresh.errors.map(String).join()).toContain('Queue barred cannot be created');
  });
  await onServer(urlOf('home'), "delete from dibs.placements where name in ('barred', 'barring')");
  await onServer(urlOf('b'), 'delete from dibs.jobs where queue_id = $1', [id]);
  await onServer(urlOf('b'), "delete from dibs.queues where name = 'barred'");
});

test('a queue that is deleted while home learns gets no place', async () => {
  await made('leaves.b', 'b');
  await lose('leaves.b');
  const client = await openClient(urlOf('b'));
  await client.query('begin');
  await client.query(
    "delete from dibs.jobs where queue_id = (select id from dibs.queues where name = 'leaves.b')",
  );
  await client.query("delete from dibs.queues where name = 'leaves.b'");
  const starting = startService(options());
  await until(
    async () =>
      (
        await onServer(
          urlOf('b'),
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      ).length > 0,
    { everyMs: 5 },
  );
  await client.query('commit');
  await client.end();
  const fresh = await starting;
  expect(await placesOf('leaves.b')).toEqual([]);
  await fresh.stop();
});

test('a relocation that home has forgotten is found: the queue is where its jobs are', async () => {
  const id = await made('moved', 'a');
  const { body } = await one.call('POST', '/queues/moved/relocate', { to: 'b' });
  await until(async () => (await one.call('GET', `/operations/${body.id}`)).body.state === 'done');
  await onServer(urlOf('home'), "update dibs.placements set database = 'a' where name = 'moved'");
  await withFresh(async (fresh) => {
    expect(await placesOf('moved')).toMatchObject([{ database: 'b' }]);
    await expectServed(fresh, 'moved', id);
  });
});

test('a relocation that cannot go on, because another queue has the number, is logged, and a problem of doctor', async () => {
  await made('numbered', 'b');
  const [{ queue_id: number } = { queue_id: 0 }] = await placesOf('numbered');
  const note = 'insert into dibs.relocating_queues (queue_id, relocation, role, other, queue) values';
  const values = [number, randomUUID(), { name: 'was.a' }];
  await onServer(urlOf('a'), `${note} ($1, $2, 'leaving', 'b', $3)`, values);
  await withFresh(async (fresh) => {
    expect(fresh.errors.map(String).join()).toMatch(/"a", and others have their .* was\.a \(\d+\)/);
    expect((await one.call('GET', '/queues/numbered')).body.database).toBe('b');
  });
  const others = ['a', 'b'].map((name) => ({ name, url: urlOf(name) }));
  const found = await examineTogether({ url: urlOf('home'), others }, ['a', 'b']);
  expect(found.filter(({ check, database }) => check === 'places' && database === 'a')).toMatchObject([
    {
      level: 'problem',
      found: `Relocations were broken off here that home does not know: was.a (${number}).`,
    },
  ]);
  await onServer(urlOf('a'), 'delete from dibs.relocating_queues where queue_id = $1', [number]);
});

/** Leaves a job on its way from a database to a queue, as a replica does that is killed. */
const leaveOnItsWay = (database: string, queueId: number, queue: string) =>
  onServer(
    urlOf(database),
    `with made as (select dibs.new_id($1) as id)
     insert into dibs.relay (id, queue_id, queue, job, bytes)
     select id, $1, $2, row(id, 0, null, 0, 5, null, '{}', '"precious"', null, null, null, null, null, null)::dibs.new_job, 10
     from made
     returning id`,
    [queueId, queue],
  ).then(([row]) => row?.id as string);

const waitIn = async (database: string) => (await onServer(urlOf(database), 'select from dibs.relay')).length;

const relayFindings = async () => {
  const others = ['a', 'b'].map((name) => ({ name, url: urlOf(name) }));
  const found = await examineTogether({ url: urlOf('home'), others }, ['a', 'b']);
  return found.filter(({ check, database }) => check === 'relay' && database === 'b');
};

test('jobs on their way to a queue that home has forgotten, and no database has, wait, and arrive when it has its place again', async () => {
  await one.call('PUT', '/queues/hnew', { database: 'home' });
  const [{ queue_id: number } = { queue_id: 0 }] = await placesOf('hnew');
  // Its place goes with it. It was not deleted: home never had it.
  await onServer(urlOf('home'), "delete from dibs.queues where name = 'hnew'");
  await cutOff('home');
  const id = await leaveOnItsWay('b', number, 'hnew');
  await withFresh(async (fresh) => {
    await sleep(2000);
    expect(await waitIn('b')).toBe(1);
    expect(await fresh.call('GET', `/jobs/${id}`)).toMatchObject({
      status: 200,
      body: { state: 'scheduled' },
    });
    expect(await relayFindings()).toMatchObject([
      {
        level: 'problem',
        found: `Jobs wait here for queues that home has forgotten: hnew (${number}).`,
      },
    ]);
    await onServer(urlOf('home'), 'select dibs.adopt($1, $2, $3)', [[number], ['hnew'], 'home']);
    await until(async () => (await waitIn('b')) === 0);
    await expectServed(fresh, 'hnew', id);
    expect(await relayFindings()).toMatchObject([{ level: 'ok' }]);
  });
});

test('jobs on their way to a queue that was deleted go with it', async () => {
  for (const database of ['home', 'a']) {
    const queue = `deleted.${database}`;
    await one.call('PUT', `/queues/${queue}`, { database });
    const [place] = await placesOf(queue);
    expect((await one.call('DELETE', `/queues/${queue}`)).status).toBe(204);
    await leaveOnItsWay('b', place?.queue_id as number, queue);
    await withFresh(async () => void (await until(async () => (await waitIn('b')) === 0)));
    expect(await placesOf(queue)).toEqual([]);
  }
});

/** Home as a process of its own knows it. */
function homeAlone() {
  const home = openDatabase(urlOf('home'), 2);
  const members: Members = new Map();
  return { home, members };
}

let alone: ReturnType<typeof homeAlone>;
beforeAll(() => {
  alone = homeAlone();
});
afterAll(() => alone.home.close());

test('no queue gets a place before home has learned what the other databases have', async () => {
  const { home, members } = alone;
  const lessons: string[] = [];
  const learning = createLearning({ home, learner: home, members, log: () => undefined });
  const placements = createPlacements(
    home,
    {
      ...learning,
      async fromAll() {
        lessons.push(String((await placesOf('early')).length));
        await learning.fromAll();
      },
    },
    async () => undefined,
  );
  await placements.place(['early'], () => []);
  expect(lessons).toEqual(['0']);
  expect(await placesOf('early')).toHaveLength(1);
  await placements.place(['later'], () => []);
  expect(lessons).toHaveLength(1);
  const never = createPlacements(
    home,
    { ...learning, learnedAt: () => 'another server', fromAll: async () => undefined },
    async () => undefined,
  );
  await expect(never.place(['never'], () => [])).rejects.toMatchObject({
    code: 'unavailable',
    outcome: 'not_done',
  });
  expect(await placesOf('never')).toEqual([]);
  await onServer(urlOf('home'), "delete from dibs.placements where name in ('early', 'later')");
});

test('a queue is not taken for deleted while a database has not told what it has', async () => {
  const { home, members } = alone;
  const learning = createLearning({ home, learner: home, members, log: () => undefined });
  const placements = createPlacements(
    home,
    { ...learning, current: async () => ['b'] },
    async () => undefined,
  );
  await expect(placements.ofQueue(9_999_999)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await createPlacements(home, learning, async () => undefined).ofQueue(9_999_999)).toBeUndefined();
});
