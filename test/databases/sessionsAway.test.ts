import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { reachable } from '../support/reachable.ts';
import { type Service, startService } from '../support/service.ts';
import { holdSession } from '../support/sessions.ts';
import { until } from '../support/until.ts';

const NAMES = ['home', 'a', 'b'] as const;
const GRACE_SECONDS = 2;

type Reachable = Awaited<ReturnType<typeof reachable>>;
let all: Record<(typeof NAMES)[number], Reachable>;
let service: Service;
let url: string;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  const [home, a, b] = await Promise.all([reachable(), reachable(), reachable()]);
  all = { home, a, b };
  service = await startService({
    databaseUrl: home.url,
    others: { a: a.url, b: b.url },
    rescueGraceSeconds: GRACE_SECONDS,
  });
  url = await service.listen();
  at = moves(service);
  for (const database of NAMES) await at.configure(`in-${database}`, { database, max_attempts: 1000 });
});
afterAll(async () => {
  await service.stop();
  for (const database of Object.values(all)) await database.drop();
});

const claim = (queues: string[], session: string, more: object = {}) =>
  service.call('POST', '/jobs/claim', { queues, session, lease_seconds: 600, ...more });

const awayNow = async (): Promise<string[]> => (await service.call('GET', '/queues')).body.away ?? [];

/** It is known to be away. */
async function leave(name: (typeof NAMES)[number]): Promise<void> {
  await all[name].leave();
  await until(async () => (await awayNow()).includes(name));
}

async function comeBack(name: (typeof NAMES)[number]): Promise<void> {
  await all[name].comeBack();
  await until(async () => !(await awayNow()).includes(name));
}

async function lease(queue: string, session: string) {
  await at.enqueue({ queue });
  const { body } = await claim([queue], session);
  expect(body.jobs).toHaveLength(1);
  return body.jobs[0];
}

test('when a session ends while a database is away, its other leases end at once, and those there when it is back, after the rescue grace', async () => {
  const session = await holdSession(url, { resume_seconds: 0 });
  const here = [await lease('in-home', session.id), await lease('in-a', session.id)];
  const [there, acked] = [await lease('in-b', session.id), await lease('in-b', session.id)];
  await leave('b');
  session.hangUp();
  for (const { id } of here) await at.reaches(id, 'ready');
  expectProblem(await claim(['in-a', 'in-b'], session.id), 404, 'session_not_found');
  await all.b.comeBack();
  // As after every outage: a worker that has done its work can say so.
  await until(async () => (await at.settle('ack', acked)).status === 200);
  await until(async () => (await service.call('GET', `/jobs/${there.id}`)).body.state === 'ready');
  expect(await at.get(there.id)).toMatchObject({ attempt: 1, last_error: 'connection lost' });
  await until(async () => (await awayNow()).length === 0);
});

test('a claim does not wait for a database that is away', async () => {
  const session = await holdSession(url);
  await leave('b');
  await at.enqueue({ queue: 'in-a' });
  const began = performance.now();
  expect((await claim(['in-b', 'in-a'], session.id)).body.jobs).toHaveLength(1);
  expect(performance.now() - began).toBeLessThan(1000);
  await comeBack('b');
  session.hangUp();
});

test('while home is away, no session ends or opens, and claims of sessions go on where they are known', async () => {
  const session = await holdSession(url, { resume_seconds: 0 });
  const kept = await lease('in-a', session.id);
  await claim(['in-a', 'in-home'], session.id, { limit: 100 });
  await at.enqueueAll([{ queue: 'in-a' }, { queue: 'in-b' }]);
  await leave('home');
  await expect(holdSession(url)).rejects.toThrow('503');
  expect((await claim(['in-a'], session.id)).body.jobs).toHaveLength(1);
  expect(await claim(['in-a'], session.id)).toMatchObject({ status: 200, body: { jobs: [] } });
  // It never claimed in b. Nobody can tell whether it may.
  expect((await claim(['in-b'], session.id)).status).toBe(503);
  expect((await claim(['in-b', 'in-a'], session.id)).status).toBe(200);
  session.hangUp();
  await sleep(3000);
  expect(await at.get(kept.id)).toMatchObject({ state: 'leased' });
  await comeBack('home');
  expect(await at.reaches(kept.id, 'ready')).toMatchObject({ last_error: 'connection lost' });
});
