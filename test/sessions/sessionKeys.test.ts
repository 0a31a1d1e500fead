import { afterAll, beforeAll, expect, test } from 'vitest';
import { onServer } from '../support/database.ts';
import { bearer, withKeys } from '../support/keys.ts';
import { nothingIsHeld } from '../support/ledger.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { holdSession, isLost } from '../support/sessions.ts';

let service: Service;
let url: string;
let at: ReturnType<typeof moves>;
let keys: Awaited<ReturnType<typeof withKeys>>;
let worker: { id: string; key: string };
beforeAll(async () => {
  service = await startService({ maxMemoryBytes: 8 * 2 ** 20 });
  url = await service.listen();
  at = moves(service);
  keys = await withKeys(service);
  worker = await keys.create({ name: 'worker', scopes: ['consume'] });
});
afterAll(() => service.stop());

test('a session belongs to the key that opened it: for another key it is not there', async () => {
  const other = await keys.create({ name: 'other', scopes: ['consume', 'admin'] });
  const session = await holdSession(url, {}, bearer(worker.key));
  const claim = { queues: ['q'], session: session.id };
  const as = (key: string, path: string, body: object) => service.call('POST', path, body, bearer(key));
  expect((await as(worker.key, '/jobs/claim', claim)).status).toBe(200);
  expectProblem(await as(other.key, '/jobs/claim', claim), 404, 'session_not_found');
  expectProblem(await as(other.key, '/sessions', { session: session.id }), 404, 'session_not_found');
  const settled = await as(other.key, '/jobs/settle', { claim });
  expect(settled.body).toMatchObject({ problem: { code: 'session_not_found' } });
  expect(session.isOver()).toBe(false);
  session.hangUp();
});

test('a key without the scope consume is refused', async () => {
  const { key } = await keys.create({ name: 'producer', scopes: ['produce', 'read'] });
  expectProblem(await service.call('POST', '/sessions', {}, bearer(key)), 403, 'forbidden');
});

test('when a key is revoked, the connections of its sessions are closed, and its jobs go to others', async () => {
  const revoked = await keys.create({ name: 'revoked', scopes: ['consume'] });
  await at.ok('POST', '/jobs', { queue: 'r' }, keys.as);
  const session = await holdSession(url, { resume_seconds: 0.1 }, bearer(revoked.key));
  const claim = { queues: ['r'], session: session.id, lease_seconds: 600 };
  expect((await at.ok('POST', '/jobs/claim', claim, bearer(revoked.key))).jobs).toHaveLength(1);
  await service.call('DELETE', `/keys/${revoked.id}`, undefined, keys.as);
  await isLost(session, 'revoked');
  const again = await at.ok('POST', '/jobs/claim', { queues: ['r'], wait_seconds: 20 }, keys.as);
  expect(again.jobs).toMatchObject([{ last_error: 'connection lost', attempt: 2 }]);
});

test('a caller has at most 10,000 sessions, over all replicas', async () => {
  const many = await keys.create({ name: 'many', scopes: ['consume'] });
  await onServer(
    service.databaseUrl,
    `insert into dibs.sessions (id, resume_seconds, owner, connection, ends_at)
     select gen_random_uuid(), 60, $1, gen_random_uuid(), now() + interval '1 hour' from generate_series(1, 10000)`,
    [many.id],
  );
  expectProblem(await service.call('POST', '/sessions', {}, bearer(many.key)), 409, 'too_many_sessions');
  // Those who ask at once share a statement. It opens as many as there is room for.
  await onServer(
    service.databaseUrl,
    'delete from dibs.sessions where id in (select id from dibs.sessions where owner = $1 limit 7)',
    [many.id],
  );
  const asked = await Promise.allSettled([
    holdSession(url, {}, bearer(worker.key)),
    ...Array.from({ length: 20 }, () => holdSession(url, {}, bearer(many.key))),
  ]);
  const opened = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  expect(opened).toHaveLength(1 + 7);
  expect(asked[0]?.status).toBe('fulfilled');
  for (const session of opened) session.hangUp();
});

test('a replica holds as many sessions as its memory has room for requests that wait, and gives all of it back', async () => {
  const held = [];
  for (;;) {
    const session = await holdSession(url, {}, bearer(worker.key)).catch((error) => String(error));
    if (typeof session === 'string') {
      expect(session).toContain('503');
      break;
    }
    held.push(session);
  }
  // Three eighths of 8 MiB, and 10 KiB for each. One caller leaves room for another.
  expect(held.length).toBeGreaterThan(100);
  expect(held.length).toBeLessThan(310);
  for (const session of held) session.hangUp();
  await nothingIsHeld(async () => (await service.call('GET', '/metrics', undefined, keys.as)).text);
});
