import { beforeAll, describe, expect, test } from 'vitest';
import { MOST_QUEUE_NUMBERS } from '../../src/ids.ts';
import { onServer, openClient } from '../support/database.ts';
import { expectProblem } from '../support/moves.ts';
import type { Service } from '../support/service.ts';
import { useThreeDatabases } from '../support/threeDatabases.ts';
import { until } from '../support/until.ts';

const { databases, replicas } = useThreeDatabases();
let one: Service;
let two: Service;
beforeAll(() => {
  ({ one, two } = replicas);
});

/** The names of the queues in each database. */
async function queuesIn(name: string): Promise<string[]> {
  const rows = await onServer<{ name: string }>(
    databases[name]?.url as string,
    'select name from dibs.queues order by name',
  );
  return rows.map((row) => row.name);
}

async function databaseOf(queue: string): Promise<string | undefined> {
  for (const name of Object.keys(databases)) if ((await queuesIn(name)).includes(queue)) return name;
  return undefined;
}

const enqueue = (service: Service, queue: string) => service.call('POST', '/jobs', { queue });

test('new queues are spread over the databases with the fewest queues', async () => {
  for (let i = 0; i < 9; i++) expect((await enqueue(one, `spread${i}`)).status).toBe(201);
  for (const name of Object.keys(databases)) expect(await queuesIn(name)).toHaveLength(3);
});

test('queues with the same first part of the name live together, also when they are made at once on two replicas', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `mail${i % 2 ? '.' : ':'}kind${i}`);
  const answers = await Promise.all(names.map((name, i) => enqueue(i % 2 ? one : two, name)));
  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
  const where = new Set(await Promise.all(names.map(databaseOf)));
  expect(where.size).toBe(1);
});

test('a job is claimed, acked and looked at through another replica, wherever its queue lives', async () => {
  for (let i = 0; i < 6; i++) {
    const queue = `life${i}`;
    const { body: job } = await enqueue(one, queue);
    expect((await two.call('GET', `/jobs/${job.id}`)).body).toMatchObject({ id: job.id, queue });
    const { body } = await two.call('POST', '/jobs/claim', { queues: [queue] });
    expect(body.jobs).toMatchObject([{ id: job.id }]);
    const [{ id, lease_token }] = body.jobs;
    expect((await one.call('POST', `/jobs/${id}/ack`, { lease_token })).status).toBe(200);
    expect((await two.call('GET', `/jobs/${id}`)).status).toBe(404);
  }
});

test('a settle of jobs from several databases is split by item', async () => {
  const queues = ['s1', 's2', 's3', 's4'];
  for (const queue of queues) await enqueue(one, queue);
  const leased = [];
  for (const queue of queues) {
    const { body } = await one.call('POST', '/jobs/claim', { queues: [queue] });
    leased.push(body.jobs[0]);
  }
  expect(new Set(await Promise.all(queues.map(databaseOf))).size).toBeGreaterThan(1);
  const { body } = await two.call('POST', '/jobs/settle', {
    acks: leased.map(({ id, lease_token }) => ({ id, lease_token })),
  });
  expect(body.acks.map((item: { id: string }) => item.id)).toEqual(leased.map(({ id }) => id));
  expect(JSON.stringify(body)).not.toContain('lease_lost');
});

test('the number of a queue leads to it over all databases', async () => {
  const numbers = [];
  for (const { url } of Object.values(databases))
    numbers.push(...(await onServer<{ id: number }>(url, 'select id from dibs.queues')).map(({ id }) => id));
  expect(new Set(numbers).size).toBe(numbers.length);
});

test('a queue that was deleted may be created anew, in whichever database', async () => {
  for (const queue of ['gone1', 'gone2', 'gone3']) {
    expect(await one.call('PUT', `/queues/${queue}`, {})).toMatchObject({ status: 200 });
    expect(await two.call('GET', `/queues/${queue}`)).toMatchObject({ status: 200 });
    const before = await databaseOf(queue);
    expect(await two.call('DELETE', `/queues/${queue}`)).toMatchObject({ status: 204 });
    expect((await one.call('GET', `/queues/${queue}`)).status).toBe(404);
    const answer = await enqueue(one, queue);
    expect([before, answer.status]).toEqual([expect.any(String), 201]);
    expect(await databaseOf(queue)).toBeDefined();
    expect((await two.call('GET', `/jobs/${answer.body.id}`)).status).toBe(200);
  }
});

describe('jobs for a queue in another database arrive, though it was deleted at another replica', () => {
  const put = (queue: string, database: string) => one.call('PUT', `/queues/${queue}`, { database });
  const from = async (queue: string) => {
    await put(queue, 'a');
    await two.call('POST', '/jobs', { queue });
    return (await two.call('POST', '/jobs/claim', { queues: [queue] })).body.jobs[0];
  };
  /** The replica `two` has seen it, and does not hear that it is gone. */
  const deleted = async (queue: string) => {
    await put(queue, 'b');
    expect((await two.call('POST', '/jobs', { queue })).status).toBe(201);
    expect((await one.call('DELETE', `/queues/${queue}?force=true`)).status).toBe(204);
  };
  const arrived = async (queue: string) => {
    await until(async () => {
      const { body } = await one.call('GET', `/jobs?queue=${queue}`);
      return body.jobs?.length === 1 && body.jobs[0].state === 'ready';
    });
    return (await one.call('GET', `/jobs?queue=${queue}`)).body.jobs[0].id;
  };

  test.each([
    ['and not made again', undefined],
    ['and made again', 'b'],
    ['and made again in another database', 'home'],
  ])('%s', async (how, database) => {
    const queue = `gone-${how.replaceAll(' ', '-')}`;
    await from(`${queue}-from`);
    await deleted(queue);
    if (database) await put(queue, database);
    const jobs = [{ queue: `${queue}-from` }, { queue }];
    const { status, body } = await two.call('POST', '/jobs/batch', { jobs });
    expect(status).toBe(201);
    expect(await arrived(queue)).toBe(body.jobs[1].id);
  });

  test('as follow-ups', async () => {
    const queue = 'gone-follow-up';
    const { id, lease_token } = await from(`${queue}-from`);
    await deleted(queue);
    const { status, body } = await two.call('POST', `/jobs/${id}/ack`, { lease_token, enqueue: [{ queue }] });
    expect(status).toBe(200);
    expect(await arrived(queue)).toBe(body.enqueued[0].id);
  });

  test('as an operation moves them', async () => {
    const queue = 'gone-move';
    await put(`${queue}-from`, 'a');
    await two.call('POST', '/jobs', { queue: `${queue}-from` });
    await deleted(queue);
    await put(queue, 'b');
    const { body } = await two.call('POST', '/operations', {
      ...{ verb: 'move', queue: `${queue}-from`, to: queue },
      filter: { states: ['ready'] },
    });
    await until(async () => (await one.call('GET', `/operations/${body.id}`)).body.state !== 'running');
    expect((await one.call('GET', `/operations/${body.id}`)).body).toMatchObject({ state: 'done', done: 1 });
    await arrived(queue);
  });
});

test('SQL in home creates no second queue of a name that lives elsewhere', async () => {
  const away = (await queuesIn('a'))[0] as string;
  const home = databases.home?.url as string;
  await expect(onServer(home, `select dibs.enqueue('${away}')`)).rejects.toThrow(
    `Queue ${away} lives in the database a`,
  );
  await onServer(home, `select dibs.enqueue('from-sql')`);
  const { body } = await one.call('POST', '/jobs/claim', { queues: ['from-sql'] });
  expect(body.jobs).toHaveLength(1);
});

test('SQL in another database names the queue and that database, and says where it is told', async () => {
  const [elsewhere] = await queuesIn('b');
  const user = await openClient(databases.a?.url as string);
  const refused = await user.query(`select dibs.enqueue('${elsewhere}')`).catch((error) => error);
  const { rows } = await openClient(databases.home?.url as string).then((home) =>
    home.query(refused.hint.match(/select .*/)[0]).finally(() => home.end()),
  );
  await user.end();
  expect(refused).toMatchObject({
    code: 'DB003',
    message: `Queue ${elsewhere} is not in this database, a. Dibs tells where it is, and makes a new one`,
  });
  expect(rows).toEqual([{ database: 'b' }]);
});

test('a transaction in home that has created a queue holds up this queue, and no other new one', async () => {
  const user = await openClient(databases.home?.url as string);
  await user.query('begin');
  await user.query(`select dibs.enqueue('users.own', '1')`);
  const held = Promise.all(Array.from({ length: 30 }, () => enqueue(one, 'users.own')));
  const others = await Promise.all(Array.from({ length: 30 }, (_, i) => enqueue(one, `users.other${i}`)));
  expect(others.map(({ status }) => status)).toEqual(others.map(() => 201));
  for (const answer of await held) expectProblem(answer, 503, 'unavailable');
  await user.query('commit');
  await user.end();
  expect((await enqueue(two, 'users.own')).status).toBe(201);
  expect(await databaseOf('users.own')).toBe('home');
});

test('queues that SQL creates in home count where the next new queue goes', async () => {
  const home = databases.home?.url as string;
  const most = async () =>
    (await onServer<{ most: number }>(home, 'select max(queues) as most from dibs.databases'))[0]?.most ?? 0;
  await enqueue(one, 'counts0');
  const before = await most();
  for (let i = 0; i <= before; i++) await onServer(home, `select dibs.enqueue('sql${i}', '1')`);
  for (let i = 1; i < 4; i++) {
    await enqueue(one, `counts${i}`);
    expect(await databaseOf(`counts${i}`)).not.toBe('home');
  }
  // What is noted is counted, and then gone.
  await one.call('DELETE', '/queues/counts1?force=true');
  const counted = await onServer<{ name: string; queues: number }>(
    home,
    'select name, queues from dibs.databases',
  );
  expect(counted.find(({ name }) => name === 'home')?.queues).toBeGreaterThan(before);
  expect(await onServer(home, 'select from dibs.placement_changes')).toHaveLength(0);
});

test('PUT /queues/{queue} chooses the database of a new queue, and moves no other', async () => {
  const put = (queue: string, database: string) => two.call('PUT', `/queues/${queue}`, { database });
  expect(await put('chosen', 'b')).toMatchObject({ status: 200, body: { database: 'b' } });
  expect(await queuesIn('b')).toContain('chosen');
  expect(await put('chosen', 'b')).toMatchObject({ status: 200 });
  expect(await put('chosen', 'a')).toMatchObject({ status: 409, body: { code: 'queue_elsewhere' } });
  expect(await put('chosen2', 'c')).toMatchObject({ status: 400 });
  expect((await one.call('GET', '/queues/chosen')).body).toMatchObject({ name: 'chosen', database: 'b' });
});

test('a new queue goes where its dead letter queue is, and a refused one is made nowhere', async () => {
  const put = (queue: string, config: object) => one.call('PUT', `/queues/${queue}`, config);
  const places = () => onServer(databases.home?.url as string, 'select name from dibs.placements');
  for (const database of ['home', 'a', 'b']) await put(`letters-${database}`, { database });
  for (const database of ['home', 'a', 'b'])
    for (let i = 0; i < 3; i++) {
      const queue = `beside${i}-${database}`;
      const { status, body } = await put(queue, { dead_letter_queue: `letters-${database}` });
      expect({ status, database: body.database }).toEqual({ status: 200, database });
    }

  const before = await places();
  expectProblem(
    await put('apart', { database: 'a', dead_letter_queue: 'letters-b' }),
    409,
    'queue_elsewhere',
  );
  expectProblem(await put('itself', { dead_letter_queue: 'itself' }), 400, 'invalid_request');
  expectProblem(await put('itself', { database: 'b', dead_letter_queue: 'itself' }), 400, 'invalid_request');
  expect(await places()).toEqual(before);
  for (const queue of ['apart', 'itself'])
    expectProblem(await two.call('GET', `/queues/${queue}`), 404, 'queue_not_found');
  expect(await put('apart', { database: 'b', dead_letter_queue: 'letters-b' })).toMatchObject({
    status: 200,
    body: { database: 'b' },
  });

  // One that is there stays as it was.
  expectProblem(
    await put('apart', { max_leased: 3, dead_letter_queue: 'letters-a' }),
    409,
    'queue_elsewhere',
  );
  expect((await two.call('GET', '/queues/apart')).body.config).toMatchObject({
    dead_letter_queue: 'letters-b',
  });
});

test('a database that is closed gets no new queues, but by choice', async () => {
  expect((await one.call('PUT', '/databases/a', { accepts_queues: false })).body).toMatchObject({
    name: 'a',
    state: 'closed',
  });
  const before = await queuesIn('a');
  for (let i = 0; i < 6; i++) await enqueue(two, `later${i}`);
  expect(await queuesIn('a')).toEqual(before);
  await one.call('PUT', '/queues/anyway', { database: 'a' });
  expect(await queuesIn('a')).toContain('anyway');
  await one.call('PUT', '/databases/a', { accepts_queues: true });
});

test('lists are merged, with the database of each queue', async () => {
  const { body } = await one.call('GET', '/databases');
  expect(body.databases.map(({ name }: { name: string }) => name)).toEqual(['home', 'a', 'b']);
  const listed: { name: string; database: string }[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body: page } = await one.call('GET', `/queues?limit=7${cursor && `&cursor=${cursor}`}`);
    listed.push(...page.queues);
    cursor = page.next_cursor;
  }
  const all: { name: string; database: string }[] = [];
  for (const database of Object.keys(databases))
    all.push(...(await queuesIn(database)).map((name) => ({ name, database })));
  expect(listed.map(({ name, database }) => ({ name, database }))).toEqual(
    all.sort((x, y) => (x.name < y.name ? -1 : 1)),
  );
});

test('a claim of queues in several databases waits in each, and gets earlier names first', async () => {
  const queues = ['home', 'a', 'b'].map((database) => `wide-${database}`);
  for (const database of ['home', 'a', 'b']) await one.call('PUT', `/queues/wide-${database}`, { database });
  for (const queue of queues) {
    const claim = two.call('POST', '/jobs/claim', { queues, wait_seconds: 20, limit: 10 });
    const { body: job } = await enqueue(one, queue);
    expect((await claim).body.jobs).toMatchObject([{ id: job.id, queue }]);
  }
  for (const queue of queues.toReversed()) for (let i = 0; i < 2; i++) await enqueue(one, queue);
  const { body } = await two.call('POST', '/jobs/claim', { queues, limit: 5 });
  expect(body.jobs.map(({ queue }: { queue: string }) => queue)).toEqual([
    'wide-home',
    'wide-home',
    'wide-a',
    'wide-a',
    'wide-b',
  ]);
});

test('a claim waits for a queue that does not exist yet, wherever it is created', async () => {
  for (const database of ['home', 'a', 'b']) {
    const queue = `unborn-${database}`;
    const claim = two.call('POST', '/jobs/claim', { queues: [queue], wait_seconds: 20 });
    await until(() => two.engine.ledger.held().claims === 1);
    await one.call('PUT', `/queues/${queue}`, { database });
    const { body: job } = await enqueue(one, queue);
    expect((await claim).body.jobs).toMatchObject([{ id: job.id }]);
  }
});

test('when all numbers of queues are given, a new queue is 409 too_many_queues, by every way', async () => {
  await onServer(databases.home?.url as string, `select setval('dibs.queue_ids', ${MOST_QUEUE_NUMBERS})`);
  const asked: [string, string, object?][] = [
    ['POST', '/jobs', { queue: 'without' }],
    ['POST', '/jobs/batch', { jobs: [{ queue: 'spread0' }, { queue: 'without' }] }],
    ['PUT', '/queues/without', {}],
    ['POST', '/queues/without/pause'],
  ];
  for (const [method, path, body] of asked)
    expectProblem(await one.call(method as 'POST', path, body), 409, 'too_many_queues');
  expect((await enqueue(one, 'spread0')).status).toBe(201);
});
