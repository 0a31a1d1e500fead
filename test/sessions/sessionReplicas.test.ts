import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { nothingIsHeld } from '../support/ledger.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { holdSession, isLost } from '../support/sessions.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let stays: Replica;
let dies: Replica;
let queue: string;
let queues = 0;
beforeAll(async () => {
  database = await createDatabase();
  stays = await startReplica({ DATABASE_URL: database.url });
});
beforeEach(async () => {
  queue = `q-${++queues}`;
  dies = await startReplica({ DATABASE_URL: database.url });
});
afterEach(() => dies.end('SIGKILL'));
afterAll(async () => {
  await stays.end('SIGKILL');
  await database.drop();
});

const enqueue = () => client(stays.url).enqueue(queue);
const claim = async (at: Replica, wish: object = {}) =>
  (await http(at.url, 'POST', '/jobs/claim', { queues: [queue], ...wish })).body.jobs;
const look = async (id: string) => (await http(stays.url, 'GET', `/jobs/${id}`)).body;

test('a replica that is killed ends the connections of its sessions within 3 s, and resume_seconds later the jobs are claimable', async () => {
  await enqueue();
  const session = await holdSession(dies.url, { resume_seconds: 1 });
  // Whatever the replica is at when it is killed.
  await sleep(Math.random() * 1000);
  const [job] = await claim(stays, { session: session.id, lease_seconds: 600, worker: 'w1' });
  await dies.end('SIGKILL');
  const began = performance.now();
  const [again] = await claim(stays, { wait_seconds: 20 });
  const tookMs = performance.now() - began;
  expect(again).toMatchObject({ id: job.id, attempt: 2, last_error: 'connection lost' });
  expect(tookMs).toBeGreaterThan(1000);
  expect(tookMs).toBeLessThan(4500);
});

test('a session that is resumed at another replica in time keeps its leases when the first one is killed', async () => {
  await enqueue();
  const session = await holdSession(dies.url, { resume_seconds: 2 });
  const [job] = await claim(dies, { session: session.id, lease_seconds: 600 });
  await dies.end('SIGKILL');
  const resumed = await holdSession(stays.url, { session: session.id });
  await sleep(6000);
  expect(resumed.isOver()).toBe(false);
  expect(
    (await http(stays.url, 'POST', `/jobs/${job.id}/ack`, { lease_token: job.lease_token })).status,
  ).toBe(200);
  resumed.hangUp();
});

test('a connection at another replica takes a session over, and the one before is told and closed', async () => {
  await enqueue();
  const session = await holdSession(dies.url, { resume_seconds: 0 });
  const [job] = await claim(dies, { session: session.id, lease_seconds: 600 });
  const resumed = await holdSession(stays.url, { session: session.id });
  await isLost(session, 'resumed');
  await sleep(1500);
  expect(await look(job.id)).toMatchObject({ state: 'leased' });
  resumed.hangUp();
  await until(async () => (await look(job.id)).state === 'ready');
});

test('a replica that stops closes the connections of its sessions, and they can be resumed elsewhere', async () => {
  await enqueue();
  const session = await holdSession(dies.url, { resume_seconds: 5 });
  const [job] = await claim(dies, { session: session.id, lease_seconds: 600 });
  expect(await dies.end('SIGTERM')).toBe(0);
  await isLost(session, 'stopping');
  const resumed = await holdSession(stays.url, { session: session.id });
  await sleep(5500);
  expect(
    (await http(stays.url, 'POST', `/jobs/${job.id}/ack`, { lease_token: job.lease_token })).status,
  ).toBe(200);
  resumed.hangUp();
});

test('a replica that stood still loses its sessions to nobody, if they have not ended', async () => {
  await enqueue();
  const session = await holdSession(dies.url, { resume_seconds: 10 });
  const [job] = await claim(dies, { session: session.id, lease_seconds: 600 });
  process.kill(dies.pid, 'SIGSTOP');
  await sleep(5000);
  process.kill(dies.pid, 'SIGCONT');
  await sleep(9000);
  expect(session.isOver()).toBe(false);
  expect(await look(job.id)).toMatchObject({ state: 'leased', attempt: 1 });
  session.hangUp();
});

test('one that stood still for longer tells its connections that their sessions have ended', async () => {
  await enqueue();
  const session = await holdSession(dies.url, { resume_seconds: 0 });
  const [job] = await claim(dies, { session: session.id, lease_seconds: 600 });
  process.kill(dies.pid, 'SIGSTOP');
  await until(async () => (await look(job.id)).state === 'ready');
  process.kill(dies.pid, 'SIGCONT');
  await isLost(session, 'session_ended');
});

test('after all replicas were away, a session of before can be resumed for RESCUE_GRACE_SECONDS, and ends then', async () => {
  const alone = await createDatabase();
  const env = { DATABASE_URL: alone.url, RESCUE_GRACE_SECONDS: '10' };
  const before = await startReplica(env);
  for (let n = 0; n < 2; n++) await client(before.url).enqueue('alone');
  const sessions = [];
  for (let n = 0; n < 2; n++) {
    const session = await holdSession(before.url, { resume_seconds: 0 });
    const body = { queues: ['alone'], session: session.id, lease_seconds: 600 };
    const { jobs } = (await http(before.url, 'POST', '/jobs/claim', body)).body;
    sessions.push({ session, id: jobs[0].id });
  }
  await before.end('SIGKILL');
  await sleep(4000);
  const after = await startReplica(env);
  const [kept, lost] = sessions as [(typeof sessions)[number], (typeof sessions)[number]];
  const resumed = await holdSession(after.url, { session: kept.session.id });
  const stateOf = async (id: string) => (await http(after.url, 'GET', `/jobs/${id}`)).body.state;
  await until(async () => (await stateOf(lost.id)) === 'ready');
  expect(await stateOf(kept.id)).toBe('leased');
  resumed.hangUp();
  await after.end('SIGKILL');
  await alone.drop();
});

test('what a session takes of a replica is given back when its connection ends', async () => {
  const sessions = await Promise.all(Array.from({ length: 50 }, () => holdSession(dies.url)));
  expect(await fetch(`${dies.url}/metrics`).then((answer) => answer.text())).toContain(
    'dibs_held{kind="sessions"} 50',
  );
  for (const session of sessions) session.hangUp();
  await nothingIsHeld(async () => (await fetch(`${dies.url}/metrics`)).text());
});
