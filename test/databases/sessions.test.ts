import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { readSql } from '../../src/postgres/statements.ts';
import { onServer, openClient } from '../support/database.ts';
import { bearer, withKeys } from '../support/keys.ts';
import { expectProblem, moves } from '../support/moves.ts';
import type { Service } from '../support/service.ts';
import { holdSession } from '../support/sessions.ts';
import { useThreeDatabases } from '../support/threeDatabases.ts';
import { until } from '../support/until.ts';

const NAMES = ['home', 'a', 'b'] as const;

const { databases, replicas } = useThreeDatabases();
let url: string;
let otherUrl: string;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  url = await replicas.one.listen();
  otherUrl = await replicas.two.listen();
  at = moves(replicas.one);
  for (const database of NAMES) await at.configure(`in-${database}`, { database, max_attempts: 1000 });
});

const on = <Row extends Record<string, unknown>>(name: string, text: string, values: unknown[] = []) =>
  onServer<Row>(databases[name]?.url as string, text, values);

/** The leases of all databases that are tied to sessions which home does not have, or which have ended there. */
async function leasesOfNoSession(): Promise<string[]> {
  const tied: { id: string; session_id: string }[] = [];
  for (const name of NAMES)
    tied.push(
      ...(await on<{ id: string; session_id: string }>(
        name,
        "select id, session_id from dibs.jobs where state = 'leased' and session_id is not null",
      )),
    );
  const sessions = await on<{ id: string }>('home', 'select id from dibs.sessions where not ended');
  const there = new Set(sessions.map(({ id }) => id));
  return tied.filter(({ session_id }) => !there.has(session_id)).map(({ id }) => id);
}

/** All rows about sessions, in all databases. */
async function rowsOfSessions(): Promise<number> {
  let rows = 0;
  for (const name of NAMES) rows += (await on(name, 'select from dibs.sessions')).length;
  return rows;
}

const claim = (service: Service, queues: string[], session: string, more: object = {}) =>
  service.call('POST', '/jobs/claim', { queues, session, lease_seconds: 600, ...more });

/** A job of each database, leased by one session. */
async function leaseEverywhere(session: string) {
  const jobs = [];
  for (const name of NAMES) {
    await at.enqueue({ queue: `in-${name}` });
    const { body } = await claim(replicas.one, [`in-${name}`], session);
    expect(body.jobs).toHaveLength(1);
    jobs.push(body.jobs[0]);
  }
  return jobs;
}

test('leases in all databases end with the connection, as if they had run out, and nothing is left of the session', async () => {
  const session = await holdSession(url, { resume_seconds: 0.3 });
  const jobs = await leaseEverywhere(session.id);
  session.hangUp();
  const began = performance.now();
  for (const job of jobs) {
    expect(await at.reaches(job.id, 'ready')).toMatchObject({ attempt: 1, last_error: 'connection lost' });
    expectProblem(await at.settle('ack', job), 409, 'lease_lost');
  }
  expect(performance.now() - began).toBeLessThan(15_000);
  await until(async () => (await rowsOfSessions()) === 0);
  for (const { id, queue } of jobs) {
    const again = await at.claimOne(queue);
    expect(again.id).toBe(id);
    await at.settle('ack', again);
  }
});

test('a session that is resumed at another replica keeps its leases in all databases', async () => {
  const first = await holdSession(url, { resume_seconds: 1.5 });
  const jobs = await leaseEverywhere(first.id);
  first.hangUp();
  await sleep(500);
  const second = await holdSession(otherUrl, { session: first.id });
  await sleep(2500);
  for (const job of jobs) expect((await at.settle('ack', job)).status).toBe(200);
  second.hangUp();
  await until(async () => (await rowsOfSessions()) === 0);
});

test('one claim takes jobs of several databases with its session, and a claim that waits does', async () => {
  const session = await holdSession(url, { resume_seconds: 0 });
  const queues = NAMES.map((name) => `in-${name}`);
  const jobs = [];
  for (const queue of queues) jobs.push(await at.enqueue({ queue }));
  const taken = await claim(replicas.two, queues, session.id, { limit: 3 });
  expect(taken.body.jobs.map(({ id }: { id: string }) => id)).toEqual(jobs.map(({ id }) => id));
  const waiting = claim(replicas.two, ['in-home', 'in-b'], session.id, { wait_seconds: 20 });
  await sleep(200);
  const { id } = await at.enqueue({ queue: 'in-b' });
  expect((await waiting).body.jobs).toMatchObject([{ id }]);
  session.hangUp();
  for (const job of [...jobs, { id }]) {
    await at.reaches(job.id, 'ready');
    await replicas.one.call('DELETE', `/jobs/${job.id}`);
  }
});

test('a claim after the end is 404 in each database, whether its queue has jobs, has none, or is not there', async () => {
  const session = await holdSession(url, { resume_seconds: 0 });
  const jobs = await leaseEverywhere(session.id);
  session.hangUp();
  for (const { id } of jobs) await at.reaches(id, 'ready');
  for (const service of [replicas.one, replicas.two])
    for (const name of NAMES)
      for (const queues of [[`in-${name}`], [`in-${name}`, 'not-there']])
        expectProblem(await claim(service, queues, session.id), 404, 'session_not_found');
  for (const { id } of jobs) {
    expect(await at.get(id)).toMatchObject({ state: 'ready', attempt: 1 });
    await replicas.one.call('DELETE', `/jobs/${id}`);
  }
});

test('no lease is tied to a session that is over for longer than a moment, however many first claims come while it ends', async () => {
  for (const name of NAMES)
    await at.ok('POST', '/jobs/batch', {
      jobs: Array.from({ length: 1000 }, () => ({ queue: `in-${name}` })),
    });
  for (let round = 0; round < 30; round++) {
    const session = await holdSession(url, { resume_seconds: 0 });
    const statuses = new Set<number>();
    let isOver = false;
    // The first claims of this session in each database, at both replicas, around its end.
    const claims = [replicas.one, replicas.two].flatMap((service) =>
      NAMES.map(async (name) => {
        await sleep(Math.random() * 60);
        while (!isOver) {
          const { status } = await claim(service, [`in-${name}`], session.id, { limit: 5 });
          // A busy machine may be too slow for one.
          if (status !== 200 && status !== 503) {
            statuses.add(status);
            return;
          }
        }
      }),
    );
    await sleep(Math.random() * 60);
    session.hangUp();
    await Promise.race([Promise.all(claims), sleep(20_000)]);
    isOver = true;
    await Promise.all(claims);
    expect([...statuses]).toEqual([404]);
    await until(async () => (await leasesOfNoSession()).length === 0, { what: 'the leases of no session' });
  }
  await until(async () => (await rowsOfSessions()) === 0);
  for (const name of NAMES)
    expect(await on(name, "select from dibs.jobs where state = 'leased'")).toHaveLength(0);
}, 120_000);

describe('what a killed replica leaves', () => {
  const enter = readSql('sessions/enter.sql').replaceAll(':sessions', '$1');

  test('a guest whose session was never found in home goes', async () => {
    await until(async () => (await rowsOfSessions()) === 0);
    const id = '00000000-0000-4000-8000-00000000dead';
    const client = await openClient(databases.b?.url as string);
    await client.query('begin');
    await client.query(enter, [[id]]);
    expect((await client.query('select from dibs.sessions where is_guest')).rowCount).toBe(1);
    await client.query('commit');
    await client.end();
    await until(async () => (await rowsOfSessions()) === 0);
  });

  test('a session that it has ended in home, and in no other database, ends there too', async () => {
    const session = await holdSession(url, { resume_seconds: 60 });
    const jobs = await leaseEverywhere(session.id);
    await on('home', 'update dibs.sessions set replica = null, ends_at = now(), ended = true where id = $1', [
      session.id,
    ]);
    for (const { id } of jobs) {
      await at.reaches(id, 'ready');
      await replicas.one.call('DELETE', `/jobs/${id}`);
    }
    await until(async () => (await rowsOfSessions()) === 0);
  });

  test('guests of a session that is gone from home end, with their leases', async () => {
    const session = await holdSession(url, { resume_seconds: 60 });
    const jobs = await leaseEverywhere(session.id);
    await on('home', 'delete from dibs.sessions where id = $1', [session.id]);
    for (const { id } of jobs.slice(1)) await at.reaches(id, 'ready');
    for (const { id } of jobs) await replicas.one.call('DELETE', `/jobs/${id}`);
    await until(async () => (await rowsOfSessions()) === 0);
  });
});

test('a guest that was lost with a restore of its database comes again', async () => {
  const session = await holdSession(url, { resume_seconds: 0 });
  await at.enqueueAll([{ queue: 'in-b' }, { queue: 'in-b' }]);
  await claim(replicas.one, ['in-b'], session.id);
  await on('b', 'delete from dibs.sessions');
  const { body } = await claim(replicas.one, ['in-b'], session.id);
  expect(body.jobs).toHaveLength(1);
  session.hangUp();
  await at.reaches(body.jobs[0].id, 'ready');
});

test('a session with leases in a queue that moves has them at its new place, and they end with it there', async () => {
  for (const [from, to] of [
    ['a', 'b'],
    ['b', 'home'],
    ['home', 'a'],
  ] as const) {
    const queue = at.newQueue();
    await at.configure(queue, { database: from });
    const { id } = await at.enqueue({ queue });
    const session = await holdSession(url, { resume_seconds: 0 });
    await claim(replicas.one, [queue], session.id);
    await at.ok('POST', `/queues/${queue}/relocate`, { to });
    await until(async () => (await at.ok('GET', `/queues/${queue}`)).database === to);
    expect(await at.get(id)).toMatchObject({ state: 'leased' });
    session.hangUp();
    expect(await at.reaches(id, 'ready')).toMatchObject({ attempt: 1, last_error: 'connection lost' });
  }
});

test('a session is not there for another key, in any database', async () => {
  const keys = await withKeys(replicas.one);
  const worker = await keys.create({ name: 'worker', scopes: ['consume'] });
  const other = await keys.create({ name: 'other', scopes: ['consume', 'admin'] });
  const session = await holdSession(url, {}, bearer(worker.key));
  for (const name of NAMES) {
    const body = { queues: [`in-${name}`], session: session.id };
    const as = (key: string) => replicas.one.call('POST', '/jobs/claim', body, bearer(key));
    expect((await as(worker.key)).status).toBe(200);
    expectProblem(await as(other.key), 404, 'session_not_found');
  }
  session.hangUp();
});

test('while there is no session, no replica sends a statement for them to any database', async () => {
  await until(async () => (await rowsOfSessions()) === 0);
  await until(async () => (await on('home', 'select from dibs.session_replicas')).length === 0);
  await sleep(1500);
  const sent: string[] = [];
  for (const { pools } of [replicas.one, replicas.two])
    for (const db of pools) {
      const { query } = db;
      db.query = (statement, ...rest) => {
        if (/session/.test(statement.file ?? '')) sent.push(statement.file as string);
        return query(statement, ...rest);
      };
    }
  await sleep(6500);
  expect(sent).toEqual([]);
});
