import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { holdSession } from '../support/sessions.ts';
import { AT_HOME, onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let other: Service;
let url: string;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  database = await createDatabase();
  service = await startService({ databaseUrl: database.url });
  other = await startService({ databaseUrl: database.url });
  url = await service.listen();
  at = moves(service);
});
afterAll(async () => {
  await service.stop();
  await other.stop();
  await database.drop();
});

/** Where there are several databases, there is a row for the session of a lease in its own one. */
const leasesOfNoSession = () =>
  onAll<{ id: string }>(
    database.url,
    `select id from dibs.jobs
     where state = 'leased' and session_id is not null and session_id not in (select id from dibs.sessions)`,
  );

test('no lease is tied to a session that has ended, however many claims come while it ends', async () => {
  await at.configure('races', { max_attempts: 1000 });
  for (let n = 0; n < 3; n++)
    await at.ok('POST', '/jobs/batch', { jobs: Array.from({ length: 1000 }, () => ({ queue: 'races' })) });
  for (let round = 0; round < 20; round++) {
    const session = await holdSession(url, { resume_seconds: 0 });
    let isOver = false;
    const claims = [service, other].flatMap((replica) =>
      Array.from({ length: 4 }, async () => {
        while (!isOver) {
          const body = { queues: ['races'], limit: 5, lease_seconds: 600, session: session.id };
          const answer = await replica.call('POST', '/jobs/claim', body);
          if (answer.status === 404) return;
          // On a busy machine, a claim may be too late.
          if (answer.status !== 503) expect(answer.status).toBe(200);
        }
      }),
    );
    await sleep(50 + Math.random() * 50);
    session.hangUp();
    // Each claimer hears of it, with jobs left or not.
    await Promise.race([Promise.all(claims), sleep(20_000)]);
    isOver = true;
    await Promise.all(claims);
    expect(await leasesOfNoSession()).toEqual([]);
  }
  // All leases end, and nothing is left of the sessions.
  await until(async () => {
    const left = await onAll(
      database.url,
      `select 'lease' from dibs.jobs where state = 'leased'
       union all select 'session' from dibs.sessions
       union all select 'replica' from dibs.session_replicas`,
    );
    return left.length === 0;
  });
}, 120_000);

test('a session does not end before a claim that has begun with it, and its lease ends, too', async () => {
  await at.configure('begun', AT_HOME);
  await at.enqueue({ queue: 'begun' });
  const session = await holdSession(url, { resume_seconds: 0 });
  const client = await openClient(database.url);
  await client.query('begin');
  await client.query('select id from dibs.sessions where id = $1 for key share', [session.id]);
  session.hangUp();
  await sleep(700);
  // What the claiming statement would do.
  const { rows } = await client.query<{ id: string }>(
    `update dibs.jobs set state = 'leased', attempt = 1, deliveries = 1, lease_token = gen_random_uuid(), session_id = $1,
       lease_expires_at = now() + interval '1 hour', leased_at = now()
     where queue_id = (select id from dibs.queues where name = 'begun') returning id`,
    [session.id],
  );
  await client.query('commit');
  await client.end();
  const job: Json = await at.reaches(rows[0]?.id as string, 'ready');
  expect(job).toMatchObject({ attempt: 1, last_error: 'connection lost' });
});

test('a claim that waits while its session ends gets no job, or 404', async () => {
  const session = await holdSession(url, { resume_seconds: 0 });
  const waiting = service.call('POST', '/jobs/claim', {
    ...{ queues: ['waits'], session: session.id, wait_seconds: 3 },
  });
  await sleep(300);
  session.hangUp();
  await until(async () => (await onServer(database.url, 'select id from dibs.sessions')).length === 0);
  await at.enqueue({ queue: 'waits' });
  const { status, body } = await waiting;
  expect(status === 404 || body.jobs.length === 0).toBe(true);
  expect(await at.claim('waits')).toHaveLength(1);
});

describe('many resumes of one session at once', () => {
  test('leave one connection that holds it, and close all others', async () => {
    const first = await holdSession(url, { resume_seconds: 1 });
    const all = [
      first,
      ...(await Promise.all(Array.from({ length: 20 }, () => holdSession(url, { session: first.id })))),
    ];
    await until(() => all.filter((one) => !one.isOver()).length === 1);
    await sleep(2000);
    const [last] = all.filter((one) => !one.isOver());
    expect((await service.call('POST', '/jobs/claim', { queues: ['none'], session: first.id })).status).toBe(
      200,
    );
    last?.hangUp();
    await until(
      async () =>
        (await service.call('POST', '/jobs/claim', { queues: ['none'], session: first.id })).status === 404,
    );
  });
});

test('while there is no session, no replica sends a statement for them', async () => {
  await until(async () => (await onServer(database.url, 'select from dibs.session_replicas')).length === 0);
  await sleep(1500);
  const sent: string[] = [];
  for (const db of [...service.pools, ...other.pools]) {
    const { query } = db;
    db.query = (statement, ...rest) => {
      if (statement.file?.startsWith('sessions/')) sent.push(statement.file);
      return query(statement, ...rest);
    };
  }
  await at.enqueue({ queue: 'plain' });
  await at.claimOne('plain');
  await sleep(2500);
  expect(sent).toEqual([]);
});
