import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/errors.ts';
import { aroundQueries } from '../support/aroundQueries.ts';
import { createDatabase, createOtherDatabase, onServer } from '../support/database.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

const NAMES = ['home', 'east', 'west'];
const databases: Record<string, Awaited<ReturnType<typeof createDatabase>>> = {};
let service: Service;

beforeAll(async () => {
  databases.home = await createDatabase();
  for (const name of ['east', 'west']) databases[name] = await createOtherDatabase();
  const others = Object.fromEntries(['east', 'west'].map((name) => [name, databases[name]?.url as string]));
  service = await startService({ databaseUrl: databases.home.url, others });
  for (const name of NAMES) await ok('PUT', `/queues/${name}.q`, { database: name });
});
afterAll(async () => {
  await service.stop();
  for (const { drop } of Object.values(databases)) await drop();
});

async function ok(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<Json> {
  const answer = await service.call(method, path, body);
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

const claim = async (queue: string, limit = 10): Promise<Json[]> =>
  (await ok('POST', '/jobs/claim', { queues: [queue], limit })).jobs;

/** Claims and acks all that there is. Returns the payloads. */
async function drain(queue: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let jobs = await claim(queue); jobs.length > 0; jobs = await claim(queue)) {
    seen.push(...jobs.map(({ payload }) => payload));
    await ok('POST', '/jobs/settle', {
      acks: jobs.map(({ id, lease_token }) => ({ id, lease_token })),
    });
  }
  return seen;
}

const arrived = (queue: string, count: number) =>
  until(async () => (await ok('GET', `/queues/${queue}`)).counts.ready === count);

const allow = (name: string, isAllowed: boolean) =>
  onServer(
    databases.home?.url as string,
    `alter database ${new URL(databases[name]?.url as string).pathname.slice(1)} allow_connections ${isAllowed}`,
  );

async function takeAway(name: string): Promise<void> {
  await allow(name, false);
  await onServer(
    databases.home?.url as string,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
    [new URL(databases[name]?.url as string).pathname.slice(1)],
  );
  await until(async () => (await stateOf(name)) === 'away');
}

const stateOf = async (name: string): Promise<string> =>
  (await ok('GET', '/databases')).databases.find((one: Json) => one.name === name).state;

test('a batch over three databases is answered in its order, and its jobs are claimed where they are', async () => {
  const { jobs } = await ok('POST', '/jobs/batch', {
    jobs: ['east', 'home', 'west', 'east'].map((name, i) => ({ queue: `${name}.q`, payload: i })),
  });
  expect(jobs.map(({ queue }: Json) => queue)).toEqual(['east.q', 'home.q', 'west.q', 'east.q']);
  for (const { id } of jobs) await until(async () => (await ok('GET', `/jobs/${id}`)).state === 'ready');
  await arrived('home.q', 1);
  expect(await drain('east.q')).toEqual([0, 3]);
  expect(await drain('home.q')).toEqual([1]);
  expect(await drain('west.q')).toEqual([2]);
});

test('a batch may name new queues, wherever they come to live', async () => {
  const names = Array.from({ length: 6 }, (_, i) => `fresh${i}`);
  const { jobs } = await ok('POST', '/jobs/batch', {
    jobs: names.map((queue) => ({ queue, payload: queue })),
  });
  expect(jobs).toHaveLength(6);
  const where = new Set<string>();
  for (const queue of names) {
    await until(async () => (await service.call('GET', `/queues/${queue}`)).body.counts?.ready === 1);
    where.add((await ok('GET', `/queues/${queue}`)).database);
    expect(await drain(queue)).toEqual([queue]);
  }
  expect(where.size).toBe(3);
});

test('a batch with a unique key outside of the database of its first job is 400', async () => {
  const answer = await service.call('POST', '/jobs/batch', {
    jobs: [{ queue: 'home.q' }, { queue: 'east.q', unique_key: 'k' }],
  });
  expectProblem(answer, 400, 'invalid_request');
  expect(answer.body.errors).toMatchObject([{ in: 'body', path: '/jobs/1/unique_key' }]);
  expect(await drain('home.q')).toEqual([]);
});

test('follow-ups go to queues in other databases, of a settle too, and to new ones', async () => {
  await ok('POST', '/jobs/batch', { jobs: [{ queue: 'east.q' }, { queue: 'east.q' }] });
  const [first, second] = await claim('east.q');
  const acked = await ok('POST', `/jobs/${first.id}/ack`, {
    lease_token: first.lease_token,
    enqueue: [{ queue: 'home.q', payload: 'a' }],
  });
  expect(acked.enqueued).toMatchObject([{ queue: 'home.q' }]);
  await ok('POST', '/jobs/settle', {
    acks: [
      {
        id: second.id,
        lease_token: second.lease_token,
        enqueue: [
          { queue: 'west.q', payload: 'b' },
          { queue: 'follow0', payload: 0 },
          { queue: 'follow1', payload: 1 },
        ],
      },
    ],
  });
  await arrived('home.q', 1);
  await arrived('west.q', 1);
  expect(await drain('home.q')).toEqual(['a']);
  expect(await drain('west.q')).toEqual(['b']);
  for (const i of [0, 1]) {
    await arrived(`follow${i}`, 1);
    expect(await drain(`follow${i}`)).toEqual([i]);
  }
});

test('a schedule makes its jobs in another database', async () => {
  await ok('PUT', '/schedules/s', { cron: '* * * * * *', job: { queue: 'west.q', payload: 'tick' } });
  await until(async () => (await ok('GET', '/queues/west.q')).counts.ready >= 2);
  await ok('DELETE', '/schedules/s');
  expect(new Set(await drain('west.q'))).toEqual(new Set(['tick']));
});

test('an operation moves jobs to another database and back, and their ids lead to them', async () => {
  const { jobs } = await ok('POST', '/jobs/batch', {
    jobs: [1, 2, 3].map((payload) => ({ queue: 'home.q', payload })),
  });
  const move = async (queue: string, to: string) => {
    const { id } = await ok('POST', `/operations`, {
      verb: 'move',
      queue,
      to,
      filter: { states: ['ready'] },
    });
    const operation = await until(async () => {
      const found = await ok('GET', `/operations/${id}`);
      return found.state !== 'running' && found;
    });
    expect(operation).toMatchObject({ state: 'done', matched: 3, done: 3 });
    await arrived(to, 3);
  };
  await move('home.q', 'east.q');
  for (const more of ['', '/history'])
    expect((await service.call('GET', `/jobs/${jobs[0].id}${more}`)).status).toBe(404);
  await move('east.q', 'home.q');
  const { events } = await ok('GET', `/jobs/${jobs[0].id}/history`);
  expect(events.map(({ event }: Json) => event)).toEqual(['enqueued', 'moved', 'moved']);
  expect(await ok('GET', `/jobs/${jobs[0].id}`)).toMatchObject({ state: 'ready', payload: 1 });
  expect(await drain('home.q')).toEqual([1, 2, 3]);
});

test('a triggered schedule enqueues where its queue is: a key that is taken and a full queue are told', async () => {
  const trigger = () => service.call('POST', '/schedules/t/trigger');
  await ok('PUT', '/queues/west.t', { max_ready: 1 });
  await ok('PUT', '/schedules/t', { cron: '0 0 1 1 *', job: { queue: 'west.t', unique_key: 'k' } });
  const first = await trigger();
  expect(first).toMatchObject({ status: 201, body: { state: 'ready' } });
  expect(await trigger()).toMatchObject({ status: 200, body: { id: first.body.id, deduplicated: true } });
  await ok('PUT', '/schedules/t', { cron: '0 0 1 1 *', job: { queue: 'west.t' } });
  expectProblem(await trigger(), 429, 'queue_full');
  await ok('DELETE', '/schedules/t');
  await ok('DELETE', '/queues/west.t?force=true');
});

test('while a database cannot tell whether a job is on its way from there, a look at it is 503, not 404', async () => {
  const { id } = await ok('POST', '/jobs', { queue: 'west.q' });
  await drain('west.q');
  const look = () => service.call('GET', `/jobs/${id}`);
  expectProblem(await look(), 404, 'job_not_found');
  const undo = aroundQueries(service, (statement, _, run) =>
    statement.text.includes('from dibs.relay') ? Promise.reject(unavailable()) : run(),
  );
  try {
    expectProblem(await look(), 503, 'unavailable');
  } finally {
    undo();
  }
});

test('while a database is away, jobs for it are taken and told as scheduled, and are there when it is back', async () => {
  const metrics = async () => (await service.call('GET', '/metrics')).text;
  await ok('PUT', '/queues/west.q', { retention_seconds: 3600 });
  await takeAway('west');
  const { jobs } = await ok('POST', '/jobs/batch', {
    jobs: [{ queue: 'home.q' }, { queue: 'west.q', payload: 1 }, { queue: 'west.q', payload: 2 }],
  });
  expect(jobs.map(({ state }: Json) => state)).toEqual(['ready', 'scheduled', 'scheduled']);
  expect(await ok('GET', `/jobs/${jobs[1].id}`)).toMatchObject({
    id: jobs[1].id,
    queue: 'west.q',
    state: 'scheduled',
    payload: 1,
  });
  expect((await ok('GET', `/jobs/${jobs[1].id}?wait_seconds=1`)).state).toBe('scheduled');
  await until(async () => /dibs_relay_jobs\{database="home"\} 2\n/.test(await metrics()));
  const waited = ok('GET', `/jobs/${jobs[2].id}?wait_seconds=60`);
  await allow('west', true);
  await until(async () => (await stateOf('west')) === 'open', { withinMs: 170_000 });
  await arrived('west.q', 2);
  expect(await drain('west.q')).toEqual([1, 2]);
  expect((await waited).state).toBe('completed');
  await until(async () => /dibs_relay_jobs\{database="home"\} 0\n/.test(await metrics()));
  expect((await ok('GET', `/jobs/${jobs[1].id}`)).state).toBe('completed');
  await drain('home.q');
});
