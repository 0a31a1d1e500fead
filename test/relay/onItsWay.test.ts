import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDatabase, createOtherDatabase, onServer } from '../support/database.ts';
import { expectProblem } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/* What is told of a job that waits for its database, and what can be done with it. */

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;
type Call = Parameters<Service['call']>;

const RETURNS = { withinMs: 170_000 };
let home: Awaited<ReturnType<typeof createDatabase>>;
let west: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;

beforeAll(async () => {
  home = await createDatabase();
  west = await createOtherDatabase();
  service = await startService({ databaseUrl: home.url, others: { west: west.url } });
  for (const [queue, database] of [
    ['home.q', 'home'],
    ['west.q', 'west'],
    ['west.kept', 'west'],
  ])
    await ok('PUT', `/queues/${queue}`, { database });
});
afterAll(async () => {
  await service.stop();
  await west.drop();
  await home.drop();
});
beforeEach(async () => {
  await comeBack();
  for (const { url } of [home, west]) await onServer(url, 'delete from dibs.jobs; delete from dibs.relay');
});

async function ok(...call: Call): Promise<Json> {
  const answer = await service.call(...call);
  if (answer.status >= 300)
    throw new Error(`${call[0]} ${call[1]} answered ${answer.status}: ${answer.text}`);
  return answer.body;
}

const nameOf = ({ url }: { url: string }) => new URL(url).pathname.slice(1);
const allow = (isAllowed: boolean) =>
  onServer(home.url, `alter database ${nameOf(west)} allow_connections ${isAllowed}`);
const isAway = async () =>
  (await ok('GET', '/databases')).databases.some(
    ({ name, state }: Json) => name === 'west' && state === 'away',
  );

async function takeAway(): Promise<void> {
  await allow(false);
  await onServer(home.url, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
    nameOf(west),
  ]);
  await until(isAway);
}

async function comeBack(): Promise<void> {
  await allow(true);
  await until(async () => !(await isAway()), RETURNS);
}

/** A job for the other database, decided at home. */
async function enqueueAcross(job: object = {}): Promise<Json> {
  const { jobs } = await ok('POST', '/jobs/batch', {
    jobs: [{ queue: 'home.q' }, { queue: 'west.q', ...job }],
  });
  return jobs[1];
}

/** The job is in a parcel, as after a replica that was killed before it had sent it. */
const putInParcel = ({ id }: Json) =>
  onServer(
    home.url,
    `insert into dibs.relay_parcels (queue_id, number, places)
     select queue_id, 1, array[place] from dibs.relay where id = $1
     on conflict (queue_id) do update set number = relay_parcels.number + 1, places = excluded.places`,
    [id],
  );

const waiting = async () =>
  (await onServer<{ n: number }>(home.url, 'select count(*)::integer as n from dibs.relay'))[0]?.n;

const claim = async (queue = 'west.q', wait_seconds = 0): Promise<Json[]> =>
  (await ok('POST', '/jobs/claim', { queues: [queue], wait_seconds, limit: 10 })).jobs;

test('explain and history tell that it is on its way to its database', async () => {
  await takeAway();
  const job = await enqueueAcross();
  expect(await ok('GET', `/jobs/${job.id}/explain`)).toEqual({
    id: job.id,
    state: 'scheduled',
    code: 'delayed',
    detail: 'It is on its way to the database "west", which is away.',
  });
  expect(await ok('GET', `/jobs/${job.id}/history`)).toEqual({
    id: job.id,
    queue: 'west.q',
    events: [{ at: job.created_at, event: 'enqueued' }],
    truncated: false,
  });
});

test('it is cancelled on its way, and arrives no more', async () => {
  await takeAway();
  const job = await enqueueAcross();
  const other = await enqueueAcross();
  expect(await ok('DELETE', `/jobs/${job.id}`)).toMatchObject({
    id: job.id,
    queue: 'west.q',
    state: 'cancelled',
    finished_at: expect.stringMatching(/Z$/),
  });
  await comeBack();
  await until(async () => (await waiting()) === 0);
  expectProblem(await service.call('GET', `/jobs/${job.id}`), 404, 'job_not_found');
  expect((await claim()).map(({ id }) => id)).toEqual([other.id]);
});

test('one that is in a parcel may have arrived: it is not cancelled while its database is away, and is there after that', async () => {
  await takeAway();
  const job = await enqueueAcross();
  await putInParcel(job);
  const refused = await service.call('DELETE', `/jobs/${job.id}`);
  expectProblem(refused, 503, 'unavailable');
  expect(refused.body.outcome).toBe('not_done');
  await comeBack();
  await until(async () => (await waiting()) === 0);
  expect(await ok('DELETE', `/jobs/${job.id}`)).toMatchObject({ id: job.id, state: 'cancelled' });
  expect(await claim()).toEqual([]);
});

test.each([
  ['PATCH', '', { priority: 7 }, { priority: 7 }],
  ['POST', '/retry', undefined, { state: 'ready' }],
] as const)(
  '%s %s of it is refused while its database is away, and done there after that',
  async (method, path, body, expected) => {
    await takeAway();
    const job = await enqueueAcross({ delay_seconds: 3600 });
    const change = () => service.call(method, `/jobs/${job.id}${path}`, body);
    expectProblem(await change(), 503, 'unavailable');
    // The first one may be sent on a connection that breaks then.
    await until(async () => (await change()).body.outcome === 'not_done');
    await comeBack();
    await until(async () => (await change()).status === 200);
    expect(await ok('GET', `/jobs/${job.id}`)).toMatchObject(expected);
  },
);

test.each([
  ['GET', '/explain', undefined, 200],
  ['GET', '/history', undefined, 200],
  ['DELETE', '', undefined, 200],
  ['PATCH', '', { priority: 1 }, 200],
  ['POST', '/retry', undefined, 200],
] as const)(
  '%s %s of one that a replica has left behind is answered, while both databases are there',
  async (method, path, body, status) => {
    const job = await enqueueAcross({ delay_seconds: 3600 });
    // As if it had not arrived yet. Its parcel has a number of its own, so it arrives.
    await onServer(west.url, 'delete from dibs.jobs');
    await onServer(
      home.url,
      `insert into dibs.relay (id, queue_id, queue, job, bytes)
     select $1, id, 'west.q', row($1, 3600, null, 0, 3, null, '{}', 'null', null, null, null, null, null, null)::dibs.new_job, 6
     from (select ('x' || right($2, 6))::bit(24)::integer as id) as queue`,
      [job.id, job.id],
    );
    expect((await service.call(method, `/jobs/${job.id}${path}`, body)).status).toBe(status);
  },
);

test('a client that waits for it hears of its end, also in a queue that keeps nothing, where it ends at once', async () => {
  await takeAway();
  const jobs = [await enqueueAcross(), await enqueueAcross(), await enqueueAcross()];
  const heard = jobs.map(({ id }) => service.call('GET', `/jobs/${id}?wait_seconds=60`));
  await until(async () => {
    const [row] = await onServer<{ n: number }>(
      home.url,
      'select count(*)::integer as n from dibs.relay where awaited_until > now()',
    );
    return row?.n === 3;
  });
  let done = 0;
  const worker = (async () => {
    while (done < jobs.length)
      for (const { id, lease_token } of await claim('west.q', 1).catch(() => [])) {
        await ok('POST', `/jobs/${id}/ack`, { lease_token, result: 'done' });
        done++;
      }
  })();
  await comeBack();
  for (const answer of await Promise.all(heard))
    expect(answer).toMatchObject({ status: 200, body: { state: 'completed', result: 'done' } });
  await worker;
});

test('it tells as many attempts as its queue says, as this replica knew it last', async () => {
  await ok('PUT', '/queues/west.q', { max_attempts: 9 });
  await ok('POST', '/jobs', { queue: 'west.q' });
  await takeAway();
  const job = await enqueueAcross();
  expect(job).toMatchObject({ state: 'scheduled', max_attempts: 9 });
  expect(await ok('GET', `/jobs/${job.id}`)).toMatchObject({ state: 'scheduled', max_attempts: 9 });
  await ok('DELETE', `/jobs/${job.id}`);
  expect(await enqueueAcross({ max_attempts: 2 })).toMatchObject({ max_attempts: 2 });
});
