import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { nothingIsHeld } from '../support/ledger.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { holdSession, isLost } from '../support/sessions.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let stays: Replica;
beforeAll(async () => {
  database = await createDatabase();
  stays = await start();
});
afterAll(async () => {
  await stays.end('SIGKILL');
  await database.drop();
});

const start = () => startReplica({ DATABASE_URL: database.url });

let queues = 0;
/** A queue with a job, for one test. */
async function oneJob() {
  const queue = `q-${++queues}`;
  await client(stays.url).enqueue(queue);
  return {
    claim: async (at: Replica, wish: object = {}) =>
      (await http(at.url, 'POST', '/jobs/claim', { queues: [queue], ...wish })).body.jobs,
  };
}
const look = async (id: string) => (await http(stays.url, 'GET', `/jobs/${id}`)).body;

/** Nothing runs beside this one: it measures a time. */
test('a replica that is killed ends the connections of its sessions within 3 s, and resume_seconds later the jobs are claimable', async ({
  onTestFinished,
}) => {
  const dies = await start();
  onTestFinished(async () => void (await dies.end('SIGKILL')));
  const { claim } = await oneJob();
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
  // 4 s are promised. A busy machine may take longer.
  expect(tookMs).toBeLessThan(12_000);
});

describe('side by side', () => {
  /** One for each test. They start before: a start keeps the machine busy. */
  let doomed: Replica[];
  const all: Replica[] = [];
  beforeAll(async () => {
    for (let i = 0; i < 6; i++) all.push(await start());
    doomed = [...all];
  });
  afterAll(() => Promise.all(all.map((replica) => replica.end('SIGKILL'))));

  test.concurrent('a session that is resumed at another replica in time keeps its leases when the first one is killed', async () => {
    const dies = doomed.pop() as Replica;
    const { claim } = await oneJob();
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

  test.concurrent('a connection at another replica takes a session over, and the one before is told and closed', async () => {
    const dies = doomed.pop() as Replica;
    const { claim } = await oneJob();
    const session = await holdSession(dies.url, { resume_seconds: 0 });
    const [job] = await claim(dies, { session: session.id, lease_seconds: 600 });
    const resumed = await holdSession(stays.url, { session: session.id });
    await isLost(session, 'resumed');
    await sleep(1500);
    expect(await look(job.id)).toMatchObject({ state: 'leased' });
    resumed.hangUp();
    await until(async () => (await look(job.id)).state === 'ready');
  });

  test.concurrent('a replica that stops closes the connections of its sessions, and they can be resumed elsewhere', async () => {
    const dies = doomed.pop() as Replica;
    const { claim } = await oneJob();
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

  test.concurrent('a replica that stood still loses its sessions to nobody, if they have not ended', async () => {
    const dies = doomed.pop() as Replica;
    const { claim } = await oneJob();
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

  test.concurrent('one that stood still for longer tells its connections that their sessions have ended', async () => {
    const dies = doomed.pop() as Replica;
    const { claim } = await oneJob();
    const session = await holdSession(dies.url, { resume_seconds: 0 });
    const [job] = await claim(dies, { session: session.id, lease_seconds: 600 });
    process.kill(dies.pid, 'SIGSTOP');
    await until(async () => (await look(job.id)).state === 'ready');
    process.kill(dies.pid, 'SIGCONT');
    await isLost(session, 'session_ended');
  });

  test.concurrent('what a session takes of a replica is given back when its connection ends', async () => {
    const dies = doomed.pop() as Replica;
    const sessions = await Promise.all(Array.from({ length: 50 }, () => holdSession(dies.url)));
    expect(await fetch(`${dies.url}/metrics`).then((answer) => answer.text())).toContain(
      'dibs_held{kind="sessions"} 50',
    );
    for (const session of sessions) session.hangUp();
    await nothingIsHeld(async () => (await fetch(`${dies.url}/metrics`)).text());
  });
});
