import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { holdSession, isLost } from '../support/sessions.ts';

let service: Service;
let url: string;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  at = moves(service);
});
afterAll(() => service.stop());

test.concurrent('a session answers its id and its seconds at once, and then a line at least every 5 s', async () => {
  const session = await holdSession(url, {});
  expect(session.lines).toEqual([{ session: expect.stringMatching(/^[\da-f-]{36}$/), resume_seconds: 2 }]);
  await sleep(5000);
  expect(session.lines.length).toBeGreaterThan(1);
  expect(session.isOver()).toBe(false);
  session.hangUp();
});

describe('when the connection of a session is lost', () => {
  /** Nothing runs beside this one: it measures a time. */
  test('its jobs are claimable within resume_seconds and a second, the attempt is charged, and the old token is fenced', async () => {
    const queue = at.newQueue();
    const { id } = await at.enqueue({ queue });
    const session = await holdSession(url, { resume_seconds: 0.5 });
    const lost = await at.claimOne(queue, { session: session.id, lease_seconds: 600, worker: 'w1' });
    session.hangUp();
    const began = performance.now();
    const again = await at.claimOne(queue, { wait_seconds: 10 });
    // 1.5 s are promised. A busy machine may take longer.
    expect(performance.now() - began).toBeLessThan(6000);
    expect(performance.now() - began).toBeGreaterThan(450);
    expect(again).toMatchObject({ id, attempt: 2, deliveries: 2, last_error: 'connection lost' });
    expectProblem(await at.settle('ack', lost), 409, 'lease_lost');
    expect((await at.settle('ack', again)).status).toBe(200);
  });

  test.concurrent('the old token is fenced also while nobody else has the job', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const session = await holdSession(url, { resume_seconds: 0 });
    const lost = await at.claimOne(queue, { session: session.id, lease_seconds: 600 });
    session.hangUp();
    expect(await at.reaches(lost.id, 'ready')).toMatchObject({
      attempt: 1,
      last_error: 'connection lost',
      worker: null,
    });
    for (const verb of ['ack', 'nack', 'release'] as const)
      expectProblem(await at.settle(verb, lost), 409, 'lease_lost');
    expectProblem(await at.settle('extend', lost, { lease_seconds: 5 }), 409, 'lease_lost');
  });

  test.concurrent('a claim with it is refused: 404, on an empty queue and one that is not there, too', async () => {
    const queue = at.newQueue();
    const session = await holdSession(url, { resume_seconds: 0 });
    await at.enqueue({ queue });
    const lost = await at.claimOne(queue, { session: session.id });
    session.hangUp();
    await at.reaches(lost.id, 'ready');
    for (const name of [queue, at.newQueue()])
      expectProblem(
        await service.call('POST', '/jobs/claim', { queues: [name], session: session.id }),
        404,
        'session_not_found',
      );
    expectProblem(await service.call('POST', '/sessions', { session: session.id }), 404, 'session_not_found');
    const settled = await at.ok('POST', '/jobs/settle', { claim: { queues: [queue], session: session.id } });
    expect(settled).toMatchObject({ jobs: [], problem: { code: 'session_not_found' } });
    expect(await at.get(lost.id)).toMatchObject({ state: 'ready', attempt: 1 });
  });

  test.concurrent('and it is resumed in time, its leases stay', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const first = await holdSession(url, { resume_seconds: 1.5 });
    const job = await at.claimOne(queue, { session: first.id, lease_seconds: 600 });
    first.hangUp();
    await sleep(700);
    const second = await holdSession(url, { session: first.id });
    expect(second.lines[0]).toEqual({ session: first.id, resume_seconds: 1.5 });
    await sleep(2500);
    expect(await at.get(job.id)).toMatchObject({ state: 'leased' });
    expect((await at.settle('ack', job)).status).toBe(200);
    second.hangUp();
  });

  test.concurrent('other leases go on: those without a session, and those of another one', async () => {
    const queue = at.newQueue();
    await at.enqueueAll([{ queue }, { queue }, { queue }]);
    const session = await holdSession(url, { resume_seconds: 0 });
    const other = await holdSession(url);
    const lost = await at.claimOne(queue, { session: session.id, lease_seconds: 600 });
    const kept = [
      await at.claimOne(queue, { lease_seconds: 600 }),
      await at.claimOne(queue, { lease_seconds: 600, session: other.id }),
    ];
    session.hangUp();
    await at.reaches(lost.id, 'ready');
    await sleep(500);
    for (const job of kept) expect((await at.settle('ack', job)).status).toBe(200);
    other.hangUp();
  });

  test.concurrent('a job that was leased again without it is not concerned', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const session = await holdSession(url, { resume_seconds: 0 });
    const before = await at.claimOne(queue, { session: session.id });
    await at.settle('release', before);
    const job = await at.claimOne(queue, { lease_seconds: 600 });
    session.hangUp();
    await sleep(1000);
    expect((await at.settle('ack', job)).status).toBe(200);
  });

  test.concurrent('a job without attempts left is dead, one of a group lets the next go on, and its history says why', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_attempts: 1, retention_seconds: 600, dead_retention_seconds: 600 });
    const first = await at.enqueue({ queue, group: 'g' });
    await at.enqueue({ queue, group: 'g' });
    const session = await holdSession(url, { resume_seconds: 0 });
    await at.claimOne(queue, { session: session.id });
    session.hangUp();
    expect(await at.reaches(first.id, 'dead')).toMatchObject({ last_error: 'connection lost' });
    await at.claimOne(queue, { wait_seconds: 10 });
    const { events } = await at.ok('GET', `/jobs/${first.id}/history`);
    expect(events.find(({ event }: { event: string }) => event === 'rescued')).toMatchObject({
      error: 'connection lost',
    });
  });
});

test.concurrent('another connection that resumes a session takes it over, and the one before is told and closed', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const first = await holdSession(url, { resume_seconds: 0 });
  const job = await at.claimOne(queue, { session: first.id, lease_seconds: 600 });
  const second = await holdSession(url, { session: first.id });
  await isLost(first, 'resumed');
  await sleep(1000);
  expect((await at.settle('ack', job)).status).toBe(200);
  expect(second.isOver()).toBe(false);
  second.hangUp();
});

test.concurrent('a lease of a session still runs out by time', async () => {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  const session = await holdSession(url);
  await at.claimOne(queue, { session: session.id, lease_seconds: 0.2 });
  const again = await at.claimOne(queue, { wait_seconds: 10 });
  expect(again).toMatchObject({ attempt: 2, last_error: 'lease expired' });
  session.hangUp();
});

test.concurrent('a session that never was is refused, whatever its name', async () => {
  const queue = at.newQueue();
  for (const session of [UNKNOWN_TOKEN, 'x', 'a\\b']) {
    expectProblem(await service.call('POST', '/sessions', { session }), 404, 'session_not_found');
    expectProblem(
      await service.call('POST', '/jobs/claim', { queues: [queue], session }),
      404,
      'session_not_found',
    );
  }
});
