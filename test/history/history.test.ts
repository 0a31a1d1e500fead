import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { AT_HOME, onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(async () => {
  queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 600, backoff: { kind: 'constant', base_seconds: 0 } });
});
afterAll(() => service.stop());

const sql = (text: string, values: unknown[] = []) =>
  onAll<{ count: number }>(service.databaseUrl, text, values);
const history = (id: string) => at.ok('GET', `/jobs/${id}/history`);
const events = async (id: string): Promise<string[]> =>
  (await history(id)).events.map(({ event }: { event: string }) => event);
const rows = async () => (await sql('select count(*)::integer as count from dibs.history'))[0]?.count;

test('tells each attempt: with worker, error, attempt and time, oldest first', async () => {
  const { id, created_at } = await at.enqueue({ queue });
  await at.settle('nack', await at.claimOne(queue, { worker: 'w1' }), { error: 'SMTP 421' });
  await at.settle('release', await at.claimOne(queue, { worker: 'w2' }));
  await at.claimOne(queue, { worker: 'w3' });
  const { events: found, ...about } = await history(id);
  expect(about).toEqual({ id, queue, truncated: false });
  const [time, run_at] = [expect.any(String), expect.any(String)];
  expect(found).toEqual([
    { at: created_at, event: 'enqueued' },
    {
      ...{ at: time, event: 'nacked', attempt: 1, deliveries: 1, worker: 'w1', leased_at: time },
      ...{ error: 'SMTP 421', run_at },
    },
    { at: time, event: 'released', attempt: 2, deliveries: 2, worker: 'w2', leased_at: time, run_at },
    { at: time, event: 'leased', attempt: 2, deliveries: 3, worker: 'w3' },
  ]);
  expect(found[1].leased_at < found[1].at && found[1].at < found[2].leased_at).toBe(true);
  expect(found[2].at < found[3].at).toBe(true);
});

test('tells by whom: the name of each key that settled, retried, changed, redrove, moved or cancelled', async () => {
  const keyed = await startService({ databaseUrl: service.databaseUrl, access: speakingAccess() });
  try {
    const by = (key: string) => moves({ ...keyed, call: as(keyed, key) });
    const [ann, bob, admin] = [by('consume@*#ann'), by('consume@*#bob'), by('all@*')];
    const { id } = await at.enqueue({ queue });
    const { id: second } = await at.enqueue({ queue });
    const [first, other] = await Promise.all([ann.claimOne(queue), bob.claimOne(queue)]);
    // Two callers may share a statement.
    await Promise.all([
      ann.settle('nack', first, { error: 'a', retry: false }),
      bob.settle('nack', other, { error: 'b', retry: false }),
    ]);
    await admin.ok('PATCH', `/jobs/${id}`, { priority: 3 });
    await admin.ok('POST', `/jobs/${id}/retry`);
    await admin.ok('POST', `/queues/${queue}/redrive`);
    const lease = await ann.claimOne(queue);
    await ann.ok('POST', '/jobs/settle', { releases: [{ id: lease.id, lease_token: lease.lease_token }] });
    await admin.ok('POST', '/operations', { verb: 'cancel', queue, filter: { states: ['ready'] } });
    await until(async () => (await at.ok('GET', `/jobs/${second}`)).state === 'cancelled');
    const told = async (of: string) =>
      (await history(of)).events.map(({ event, by: who }: { event: string; by?: string }) => [event, who]);
    const all = 'all@*';
    expect(await told(id)).toEqual([
      ['enqueued', undefined],
      ['nacked', first.id === id ? 'consume@*#ann' : 'consume@*#bob'],
      ['dead', undefined],
      ['changed', all],
      ['retried', all],
      ['released', 'consume@*#ann'],
      ['cancelled', all],
    ]);
    expect(await told(second)).toEqual([
      ['enqueued', undefined],
      ['nacked', first.id === id ? 'consume@*#bob' : 'consume@*#ann'],
      ['dead', undefined],
      ['redriven', all],
      ['cancelled', all],
    ]);
    // What nobody signed in does afterwards, on the same connections, has no name.
    const { id: third } = await at.enqueue({ queue });
    await at.settle('nack', await at.claimOne(queue), { retry: false });
    expect(await told(third)).toEqual([
      ['enqueued', undefined],
      ['nacked', undefined],
      ['dead', undefined],
    ]);
  } finally {
    await keyed.stop();
  }
});

test('does not tell the beginning of an earlier lease for one that an older replica gave', async () => {
  const { id } = await at.enqueue({ queue });
  await at.settle('nack', await at.claimOne(queue), { error: 'x' });
  const [{ leased_at } = { leased_at: '' }] = await onAll<{ leased_at: string }>(
    service.databaseUrl,
    'select leased_at::text from dibs.jobs where id = $1',
    [id],
  );
  await at.claimOne(queue);
  // It leaves the column as it was.
  await sql('update dibs.jobs set leased_at = $2::timestamptz where id = $1', [id, leased_at]);
  expect((await history(id)).events.at(-1)).toMatchObject({ at: null, event: 'leased' });
  await at.ok('DELETE', `/jobs/${id}`);
  const { events: found } = await history(id);
  expect(found.find(({ event }: { event: string }) => event === 'cancel_requested')).not.toHaveProperty(
    'leased_at',
  );
});

test('tells how a job ended: acked, dead, expired, rescued, cancelled', async () => {
  const acked = await at.enqueue({ queue });
  await at.settle('ack', await at.claimOne(queue));
  expect(await events(acked.id)).toEqual(['enqueued', 'acked']);
  const dead = await at.enqueue({ queue });
  await at.settle('nack', await at.claimOne(queue), { retry: false, error: 'no' });
  expect(await events(dead.id)).toEqual(['enqueued', 'nacked', 'dead']);
  const cancelled = await at.enqueue({ queue });
  await at.ok('DELETE', `/jobs/${cancelled.id}`);
  expect(await events(cancelled.id)).toEqual(['enqueued', 'cancelled']);
  const asked = await at.enqueue({ queue });
  const lease = await at.claimOne(queue);
  await at.ok('DELETE', `/jobs/${asked.id}`);
  await at.settle('release', lease);
  expect(await events(asked.id)).toEqual(['enqueued', 'cancel_requested', 'cancelled']);
  const expired = await at.enqueue({ queue, expires_in_seconds: 0.1 });
  await at.reaches(expired.id, 'dead');
  expect(await events(expired.id)).toEqual(['enqueued', 'expired', 'dead']);
  const rescued = await at.enqueue({ queue });
  await at.claimOne(queue, { lease_seconds: 0.1 });
  await at.reaches(rescued.id, 'ready');
  expect((await history(rescued.id)).events[1]).toMatchObject({ event: 'rescued', error: 'lease expired' });
});

test('tells what somebody did: retried, changed, moved, and takes the history along to the other queue', async () => {
  const { id } = await at.enqueue({ queue });
  await at.settle('nack', await at.claimOne(queue), { retry: false });
  await at.ok('PATCH', `/jobs/${id}`, { priority: 3 });
  await at.ok('POST', `/jobs/${id}/retry`);
  expect(await events(id)).toEqual(['enqueued', 'nacked', 'dead', 'changed', 'retried']);
  const to = at.newQueue('to');
  const { id: there } = await at.enqueue({ queue: to });
  await at.ok('POST', '/operations', { verb: 'move', queue, to, filter: { states: ['ready'] } });
  await until(async () => (await service.call('GET', `/jobs/${id}`)).status === 404);
  expectProblem(await service.call('GET', `/jobs/${id}/history`), 404, 'job_not_found');
  const moved = id.slice(0, 30) + there.slice(30);
  expect(await events(moved)).toEqual(['enqueued', 'nacked', 'dead', 'changed', 'retried', 'moved']);
});

test('says of a job in which batch it is, and of a follower which batch it follows', async () => {
  const after = at.queueBeside(queue);
  const { id: batch } = await at.ok('POST', '/batches', { queue, on_end: { queue: after } });
  const before = await rows();
  const { id } = await at.enqueue({ queue, batch });
  const { id: plain } = await at.enqueue({ queue, headers: { 'dibs-batch': 'of mine' } });
  await at.ok('POST', `/batches/${batch}/close`);
  const enqueued = { at: expect.any(String), event: 'enqueued' };
  expect((await history(id)).events).toEqual([{ ...enqueued, batch }]);
  expect((await history(plain)).events).toEqual([enqueued]);
  for (const lease of await at.claim(queue, { limit: 2 })) await at.settle('ack', lease);
  const follower = await at.claimOne(after);
  expect((await history(follower.id)).events[0]).toEqual({ ...enqueued, follows: batch });
  expect(await rows()).toBe(before);
});

test('a job that is enqueued, claimed, extended and acked writes nothing', async () => {
  const before = await rows();
  await at.enqueueAll([
    { queue },
    { queue, group: 'g' },
    { queue, group: 'g' },
    { queue, delay_seconds: 0.1 },
  ]);
  for (let left = 4; left > 0; left--) {
    const job = await at.claimOne(queue, { wait_seconds: 30 });
    await at.settle('extend', job, { lease_seconds: 60, progress: 1 });
    await at.settle('ack', job);
  }
  expect(await rows()).toBe(before);
});

test('keeps the newest 50 events of a job, clips errors, and says when older ones were dropped', async () => {
  const { id } = await at.enqueue({ queue, max_attempts: 1000 });
  for (let n = 1; n <= 70; n++)
    await at.settle('nack', await at.claimOne(queue, { wait_seconds: 30 }), {
      error: `${n} ${'x'.repeat(5000)}`,
    });
  const { events: found, truncated } = await history(id);
  expect(truncated).toBe(true);
  expect(found).toHaveLength(51);
  expect(found[1]).toMatchObject({ attempt: 21 });
  expect(found[50].error).toHaveLength(2000);
  expect(
    (await sql('select count(*)::integer as count from dibs.history where job_id = $1', [id]))[0]?.count,
  ).toBeLessThan(60);
});

test('outlives the job, and is pruned after 30 days', async () => {
  await at.configure(queue, { backoff: { kind: 'constant', base_seconds: 0 } });
  const { id } = await at.enqueue({ queue });
  await at.settle('nack', await at.claimOne(queue), { error: 'once' });
  await at.settle('ack', await at.claimOne(queue));
  expect(await events(id)).toEqual(['nacked']);
  await sql(`update dibs.history set expires_at = now() + interval '0.2 s' where job_id = $1`, [id]);
  await until(async () => (await service.call('GET', `/jobs/${id}/history`)).status === 404);
});

test('is off where the database says so', async () => {
  queue = at.newQueue();
  await at.configure(queue, AT_HOME);
  const before = await rows();
  const [{ name } = { name: '' }] = await onAll<{ name: string }>(
    service.databaseUrl,
    'select current_database() as name',
  );
  await sql(`alter database "${name}" set dibs.history = 'off'`);
  const other = await startService({ databaseUrl: service.databaseUrl });
  try {
    const there = moves(other);
    const { id } = await there.enqueue({ queue });
    await there.settle('nack', await there.claimOne(queue), { retry: false, error: 'unseen' });
    await there.ok('PATCH', `/jobs/${id}`, { priority: 1 });
    expect(await rows()).toBe(before);
    expect(await events(id)).toEqual(['enqueued', 'dead']);
  } finally {
    await other.stop();
    await sql(`alter database "${name}" reset dibs.history`);
  }
});

test('of an unknown job is 404', async () => {
  for (const id of [UNKNOWN_ID, 'no-id'])
    expectProblem(await service.call('GET', `/jobs/${id}/history`), 404, 'job_not_found');
});
