import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase, createOtherDatabase, onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';

const databases: Record<string, Awaited<ReturnType<typeof createDatabase>>> = {};
let one: Service;
let two: Service;
beforeAll(async () => {
  databases.home = await createDatabase();
  databases.a = await createOtherDatabase();
  databases.b = await createOtherDatabase();
  const { home, a, b } = databases as Record<'home' | 'a' | 'b', { url: string }>;
  const options = { databaseUrl: home.url, others: { a: a.url, b: b.url } };
  one = await startService(options);
  two = await startService(options);
});
afterAll(async () => {
  await one.stop();
  await two.stop();
  for (const database of Object.values(databases)) await database.drop();
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
