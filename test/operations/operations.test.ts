import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { eventually, expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { gateOperations } from '../support/operationGate.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onAll, relaysAreEmpty } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let gate: ReturnType<typeof gateOperations>;
let queue: string;
let to: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  gate = gateOperations(service);
});
beforeEach(async () => {
  queue = at.newQueue('from');
  to = at.newQueue('to');
  await at.configure(queue, { retention_seconds: 600 });
  await at.configure(to, {});
});
afterEach(() => gate.open());
afterAll(() => service.stop());

type Filter = { states: string[] } & Record<string, unknown>;

const start = (verb: string, filter: Filter, more: object = {}) =>
  at.ok('POST', '/operations', { verb, queue, ...(verb === 'move' ? { to } : {}), filter, ...more });

/** An operation that has ended, with its jobs where it moved them. */
async function ended(id: string) {
  const operation = await until(async () => {
    const found = await at.ok('GET', `/operations/${id}`);
    return found.state !== 'running' && found;
  });
  await relaysAreEmpty(service.databaseUrl);
  return operation;
}

/** Runs an operation to its end. */
const run = async (verb: string, filter: Filter, more: object = {}) =>
  ended((await start(verb, filter, more)).id);

const stateOf = async (id: string) => (await service.call('GET', `/jobs/${id}`)).body.state ?? 'gone';
const payloadsIn = async (name: string): Promise<unknown[]> =>
  (await at.ok('GET', `/jobs?queue=${name}&include=payload&order=oldest&limit=1000`)).jobs.map(
    (job: { payload: unknown }) => job.payload,
  );

/** One job in each state. */
async function oneOfEach() {
  await at.enqueueAll(Array(4).fill({ queue }));
  const [leased, completed, cancelled, dead] = await at.claim(queue, { limit: 4, lease_seconds: 600 });
  await at.settle('ack', completed);
  await at.ok('DELETE', `/jobs/${cancelled.id}`);
  await at.settle('nack', cancelled);
  await at.settle('nack', dead, { retry: false });
  const [, blocked, ready, scheduled] = await at.enqueueAll([
    { queue, group: 'g', priority: -1 },
    { queue, group: 'g' },
    { queue, priority: 9 },
    { queue, delay_seconds: 600 },
  ]);
  return { leased, completed, cancelled, dead, blocked, ready, scheduled } as Record<string, { id: string }>;
}

async function dead(errors: string[], more: object = {}) {
  const jobs = await at.enqueueAll(errors.map((payload) => ({ queue, payload, ...more })));
  for (const job of await at.claim(queue, { limit: errors.length }))
    await at.settle('nack', job, { error: job.payload, retry: false });
  return jobs;
}

/** Inserts many ready jobs. */
const fill = (count: number, name = queue) =>
  onAll(
    service.databaseUrl,
    `insert into dibs.jobs (queue_id, state, id, run_at, created_at, max_attempts, payload_bytes, priority, headers, payload)
     select q.id, 'ready', ('00000000-0000-7000-8000-' || lpad(to_hex(i), 6, '0') || lpad(to_hex(q.id), 6, '0'))::uuid,
       now(), now(), 5, 4, 0, '{}', to_json(i)
     from dibs.queues q, generate_series(1, $2::integer) i where q.name = $1`,
    [name, count],
  );

describe('each verb does what the call for one job does', () => {
  const BECOMES: Record<string, Record<string, string>> = {
    cancel: {
      scheduled: 'cancelled',
      ready: 'cancelled',
      blocked: 'cancelled',
      leased: 'leased',
      dead: 'cancelled',
    },
    retry: { dead: 'ready', scheduled: 'ready' },
    delete: {
      scheduled: 'gone',
      ready: 'gone',
      blocked: 'gone',
      completed: 'gone',
      cancelled: 'gone',
      dead: 'gone',
    },
    move: { scheduled: 'gone', ready: 'gone', blocked: 'gone', dead: 'gone' },
  };

  test.each(Object.entries(BECOMES))(
    '%s: the jobs in the named states, and no others',
    async (verb, becomes) => {
      for (const [state, after] of Object.entries(becomes)) {
        queue = at.newQueue('each');
        await at.configure(queue, { retention_seconds: 600 });
        const jobs = await oneOfEach();
        // The head of the group is ready, too.
        const wanted = state === 'ready' ? 2 : 1;
        expect(await run(verb, { states: [state] }), state).toMatchObject({
          state: 'done',
          counted: true,
          matched: wanted,
          done: wanted,
          skipped: 0,
          error: null,
        });
        for (const [other, { id }] of Object.entries(jobs)) {
          const expected = other === state ? after : other;
          if (other === 'blocked' && state === 'ready') await at.reaches(id, 'ready');
          else expect(await stateOf(id), `${other} after ${verb} of ${state}`).toBe(expected);
        }
      }
    },
  );

  test('states that a verb cannot act on are refused', async () => {
    const all = ['scheduled', 'ready', 'blocked', 'leased', 'completed', 'cancelled', 'dead'];
    for (const [verb, becomes] of Object.entries(BECOMES))
      for (const state of all.filter((one) => !(one in becomes)))
        expectProblem(
          await service.call('POST', '/operations', {
            verb,
            queue,
            ...(verb === 'move' ? { to } : {}),
            filter: { states: ['dead', state] },
          }),
          400,
          'invalid_request',
          '/filter/states/1',
        );
  });

  test('cancel asks the workers of leased jobs to stop, also of those that extend meanwhile', async () => {
    await at.enqueueAll(Array(3).fill({ queue }));
    const [kept, extended] = await at.claim(queue, { limit: 2, worker: 'w1' });
    const other = await at.claimOne(queue, { worker: 'w2' });
    gate.before(() => at.settle('extend', extended, { lease_seconds: 600 }));
    expect(await run('cancel', { states: ['leased'], worker: 'w1' })).toMatchObject({ matched: 2, done: 2 });
    for (const [job, cancel_requested] of [
      [kept, true],
      [extended, true],
      [other, false],
    ] as const)
      expect((await at.settle('extend', job, { lease_seconds: 60 })).body).toMatchObject({
        cancel_requested,
      });
  });

  test('cancel drops the jobs of a queue that keeps none, and tells the clients that wait for them', async () => {
    await at.configure(queue, {});
    const [first, second] = await at.enqueueAll([{ queue }, { queue }]);
    const waiting = service.call('GET', `/jobs/${second.id}?wait_seconds=50`);
    await until(() => service.engine.waitingForJobs() > 0);
    expect(await run('cancel', { states: ['ready'] })).toMatchObject({ done: 2 });
    expect((await waiting).body.state).toBe('cancelled');
    await eventually(async () => expect(await stateOf(first.id)).toBe('gone'));
  });

  test('retry gives all attempts back, in the order of ids, and leaves a job dead whose unique key is taken', async () => {
    await dead(['a', 'b']);
    const [twice] = await dead(['c'], { unique_key: 'twice' });
    const [again] = await dead(['d'], { unique_key: 'twice' });
    await dead(['e'], { unique_key: 'taken' });
    await at.enqueue({ queue, payload: 'holder', unique_key: 'taken', delay_seconds: 600 });
    expect(await run('retry', { states: ['dead'] })).toMatchObject({ matched: 5, done: 3, skipped: 2 });
    expect(await at.get(twice.id)).toMatchObject({ state: 'ready', attempt: 0, finished_at: null });
    expect(await stateOf(again.id)).toBe('dead');
    expect(await at.drain(queue)).toEqual(['a', 'b', 'c']);
  });

  test('a cancel waits for who has locked the batch of a job, and leaves none as it was', async () => {
    const jobs = [{ queue, payload: 'a' }];
    const { body: batch } = await service.call('POST', '/batches', { queue, jobs, closed: true });
    await at.settle('nack', await at.claimOne(queue), { retry: false });
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query('select from dibs.batches where id = $1 for update', [batch.id]);
    const cancelled = run('cancel', { states: ['dead'] });
    await sleep(1700);
    await user.end('commit');
    expect(await cancelled).toMatchObject({ matched: 1, done: 1, skipped: 0 });
  });

  test('a unique key that an open transaction holds costs one job, and no more', async () => {
    await dead(['a', 'b', 'c']);
    const [held] = await dead(['d'], { unique_key: 'held' });
    await dead(['e']);
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query(`select dibs.enqueue($1, unique_key => 'held')`, [queue]);
    expect(await run('retry', { states: ['dead'] })).toMatchObject({ matched: 5, done: 4, skipped: 1 });
    expect(await stateOf(held.id)).toBe('dead');
    await user.end('rollback');
  });
});

describe('a move', () => {
  const movedId = (id: string, like: string) => id.slice(0, 30) + like.slice(30);

  test('changes the last six characters of an id, and a move back gives the old id again', async () => {
    const there = await at.enqueue({ queue: to });
    const job = await at.enqueue({ queue, payload: { a: 1.0 }, headers: { h: 'v' }, priority: 3 });
    await run('move', { states: ['ready'] });
    expectProblem(await service.call('GET', `/jobs/${job.id}`), 404, 'job_not_found');
    const moved = await at.get(movedId(job.id, there.id));
    expect(moved).toMatchObject({
      queue: to,
      state: 'ready',
      payload: { a: 1 },
      headers: { h: 'v' },
      priority: 3,
    });
    expect(moved.created_at).toBe(job.created_at);
    await ended(
      (
        await at.ok('POST', '/operations', {
          verb: 'move',
          queue: to,
          to: queue,
          filter: { states: ['ready'] },
        })
      ).id,
    );
    expect(await at.get(job.id)).toMatchObject({ queue, state: 'ready' });
  });

  test('keeps the attempts, the error and the time of a job', async () => {
    const [job] = await dead(['broken']);
    const later = await at.enqueue({ queue, payload: 'later', delay_seconds: 600 });
    expect(await run('move', { states: ['dead', 'scheduled'] })).toMatchObject({ done: 2 });
    const { id } = await at.enqueue({ queue: to, delay_seconds: 600 });
    expect(await at.get(movedId(job.id, id))).toMatchObject({
      state: 'dead',
      attempt: 1,
      deliveries: 1,
      last_error: 'broken',
    });
    expect(await at.get(movedId(later.id, id))).toMatchObject({ state: 'scheduled', run_at: later.run_at });
  });

  test('leaves jobs whose unique key is taken there, by a job or by a window', async () => {
    to = at.queueBeside(queue);
    await at.enqueueAll(
      ['job', 'window', 'free'].map((unique_key) => ({ queue, payload: unique_key, unique_key })),
    );
    await at.enqueue({ queue: to, unique_key: 'job', delay_seconds: 600 });
    await at.enqueue({ queue: to, unique_key: 'window', unique_for_seconds: 600 });
    await at.settle('ack', await at.claimOne(to));
    expect(await run('move', { states: ['ready'] })).toMatchObject({ matched: 3, done: 1, skipped: 2 });
    expect(await payloadsIn(queue)).toEqual(['job', 'window']);
    expect(await at.drain(to)).toEqual(['free']);
  });

  test('fills a queue up to its max_ready, and skips the rest', async () => {
    to = at.queueBeside(queue);
    await at.configure(to, { max_ready: 3 });
    await at.enqueue({ queue: to, payload: 'there' });
    await at.enqueueAll([0, 1, 2, 3].map((payload) => ({ queue, payload })));
    await at.enqueue({ queue, payload: 'later', delay_seconds: 600 });
    expect(await run('move', { states: ['ready', 'scheduled'] })).toMatchObject({
      matched: 5,
      done: 3,
      skipped: 2,
    });
    expect(await at.drain(to)).toEqual(['there', 0, 1]);
    expect(await payloadsIn(queue)).toEqual([2, 3]);
  });

  test('keeps the order of groups, frees those that it took the head of, and wakes claims of both queues', async () => {
    await at.enqueueAll([
      { queue, payload: 'a1', group: 'a' },
      { queue, payload: 'b1', group: 'b' },
      { queue, payload: 'a2', group: 'a' },
      { queue, payload: 'b2', group: 'b' },
    ]);
    const waiting = at.claim(to, { wait_seconds: 50 });
    expect(await run('move', { states: ['blocked', 'ready'], group: 'a' })).toMatchObject({ done: 2 });
    const [first] = await waiting;
    await at.settle('ack', first);
    const second = await at.claimOne(to, { wait_seconds: 50 });
    expect([first.payload, second.payload]).toEqual(['a1', 'a2']);
    expect(await run('move', { states: ['ready'] })).toMatchObject({ done: 1 });
    expect((await at.claimOne(queue, { wait_seconds: 50 })).payload).toBe('b2');
  });

  test('of a whole group keeps its order, behind the jobs of the group that were there', async () => {
    const jobs = Array.from({ length: 700 }, (_, payload) => ({ queue, group: 'g', payload }));
    await at.enqueue({ queue: to, group: 'g', payload: 'there' });
    await at.enqueueAll(jobs);
    expect(await run('move', { states: ['ready', 'blocked'] })).toMatchObject({ matched: 700, done: 700 });
    expect(await payloadsIn(queue)).toEqual([]);
    for (const payload of ['there', 0, 1, 2, 3]) {
      const job = await at.claimOne(to, { wait_seconds: 20 });
      expect(job.payload).toBe(payload);
      await at.settle('ack', job);
    }
  });

  test('brings jobs with fairness keys to claims', async () => {
    await at.enqueueAll(['x', 'y'].map((fairness_key) => ({ queue, payload: fairness_key, fairness_key })));
    expect(await run('move', { states: ['ready'] })).toMatchObject({ done: 2 });
    expect((await at.claim(to, { limit: 9, wait_seconds: 20 })).length).toBeGreaterThan(0);
  });

  test('fails when its queue is deleted, and says so', async () => {
    await fill(10);
    gate.before(async () => {
      gate.open();
      await at.ok('DELETE', `/queues/${to}`);
    });
    expect(await run('move', { states: ['ready'] })).toMatchObject({
      state: 'failed',
      error: `The queue "${to}" was deleted.`,
      done: 0,
    });
    expect(await payloadsIn(queue)).toHaveLength(10);
  });
});

describe('each filter', () => {
  test('group, fairness_key', async () => {
    await at.enqueueAll([
      { queue, payload: 1, group: 'g', delay_seconds: 600 },
      { queue, payload: 2, fairness_key: 'k' },
      { queue, payload: 3 },
    ]);
    const states = ['ready', 'scheduled'];
    expect(await run('delete', { states, group: 'g', fairness_key: 'k' })).toMatchObject({ matched: 0 });
    expect(await run('delete', { states, group: 'g' })).toMatchObject({ done: 1 });
    expect(await payloadsIn(queue)).toEqual([2, 3]);
    expect(await run('delete', { states, fairness_key: 'k' })).toMatchObject({ done: 1 });
    expect(await payloadsIn(queue)).toEqual([3]);
  });

  test.each(['retry', 'cancel', 'delete', 'move'])('error_contains, with %s', async (verb) => {
    await dead(['SMTP 421', 'SMTP 550', '100% sure', 'a_b', 'axb', 'smtp 421', 'SMTP 421 again']);
    const done = async (error_contains: string) =>
      (await run(verb, { states: ['dead'], error_contains })).done;
    expect(await done('SMTP 421')).toBe(2);
    expect(await done('%')).toBe(1);
    expect(await done('a_b')).toBe(1);
    expect(await done('nothing of that')).toBe(0);
  });

  test('created_after, created_before', async () => {
    await fill(4);
    await onAll(
      service.databaseUrl,
      `update dibs.jobs set created_at = '2026-01-01T00:00:00Z'::timestamptz + (payload::text)::integer * interval '1 hour'
       where queue_id = (select id from dibs.queues where name = $1)`,
      [queue],
    );
    const count = async (range: object) =>
      (await run('cancel', { states: ['ready'], ...range }, { dry_run: true })).matched;
    expect(await count({ created_after: '2026-01-01T02:00:00Z' })).toBe(3);
    expect(await count({ created_before: '2026-01-01T02:00:00Z' })).toBe(1);
    expect(
      await count({ created_after: '2026-01-01T03:00:00+01:00', created_before: '2026-01-01T04:00:00Z' }),
    ).toBe(2);
    // PostgreSQL reads no offset from 16 hours, and no fraction of 200 digits.
    expect(await count({ created_after: '2026-01-02T00:30:00+22:30' })).toBe(3);
    expect(await count({ created_before: `2026-01-01T02:00:00.${'0'.repeat(200)}Z` })).toBe(1);
    expect(
      await count({ created_after: '9999-12-31T23:59:59-23:59', created_before: '0000-01-01T00:00:00Z' }),
    ).toBe(0);
  });
});

describe('an operation', () => {
  test('is answered at once, counts first, and tells its progress', async () => {
    await fill(5000);
    const seen: { counted: boolean; matched: number; done: number }[] = [];
    let id: string | undefined;
    gate.before(async () => {
      if (id !== undefined) seen.push(await at.ok('GET', `/operations/${id}`));
    });
    const answer = await service.call('POST', '/operations', {
      verb: 'cancel',
      queue,
      filter: { states: ['ready'] },
    });
    expect(answer.status).toBe(202);
    id = answer.body.id as string;
    expect(await ended(id)).toMatchObject({ state: 'done', matched: 5000, done: 5000, skipped: 0 });
    expect(seen.filter(({ counted, done }) => !counted && done > 0)).toEqual([]);
    const working = seen.filter(({ counted }) => counted);
    expect(new Set(working.map(({ matched }) => matched))).toEqual(new Set([5000]));
    // A portion has at most 1,000 jobs, and fewer where they take long.
    const told = working.map(({ done }) => done);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(new Set(told).size).toBeGreaterThanOrEqual(4);
  });

  test('with dry_run counts, and does nothing', async () => {
    await fill(100);
    const answer = await run('delete', { states: ['ready'] }, { dry_run: true });
    expect(answer).toMatchObject({ state: 'done', dry_run: true, matched: 100, done: 0, skipped: 0 });
    expect(await payloadsIn(queue)).toHaveLength(100);
  });

  test('touches no job that came, or came back, after the call, nor one of a transaction that was open', async () => {
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query(`select dibs.enqueue($1, '"committed after"')`, [queue]);
    const released = (await at.enqueue({ queue, payload: 'released' })) && (await at.claimOne(queue));
    const [retried] = await dead(['retried']);
    await fill(2500);
    let first = true;
    gate.before(async () => {
      if (!first) return;
      first = false;
      await user.end('commit');
      await at.settle('release', released);
      await at.ok('POST', `/jobs/${retried.id}/retry`);
      await at.enqueue({ queue, payload: 'came' });
    });
    expect(await run('delete', { states: ['ready', 'dead'] })).toMatchObject({ matched: 2500, done: 2500 });
    expect((await payloadsIn(queue)).sort()).toEqual(['came', 'committed after', 'released', 'retried']);
  });

  test('skips jobs that are claimed meanwhile, and its numbers agree', async () => {
    await fill(3000);
    let portions = 0;
    const claimed: { id: string }[] = [];
    gate.before(async () => {
      if (++portions > 1) claimed.push(...(await at.claim(queue, { limit: 100, lease_seconds: 600 })));
    });
    const { done, skipped } = await run('cancel', { states: ['ready'] });
    expect(done + skipped).toBe(3000);
    expect(skipped).toBe(claimed.length);
    for (const { id } of claimed.slice(0, 5)) expect(await stateOf(id)).toBe('leased');
  });

  test('stops at will: what is done stays done, and nothing more is done', async () => {
    await fill(5000);
    let id = '';
    let done = 0;
    gate.before(async () => {
      // The work may begin before the answer is here.
      await until(() => id !== '');
      ({ done } = await at.ok('GET', `/operations/${id}`));
      if (done >= 2000) await at.ok('DELETE', `/operations/${id}`);
    });
    ({ id } = await start('delete', { states: ['ready'] }));
    const stopped = await ended(id);
    expect(stopped).toMatchObject({ state: 'cancelled', matched: 5000, done });
    expect(done).toBeLessThan(5000);
    expect(stopped.finished_at).not.toBeNull();
    gate.open();
    await run('cancel', { states: ['dead'] });
    expect((await at.ok('GET', `/queues/${queue}`)).counts.ready).toBe(5000 - done);
    expect(await at.ok('DELETE', `/operations/${id}`)).toEqual(stopped);
    expect(await onAll(service.databaseUrl, 'select * from dibs.operation_leases')).toEqual([]);
  });

  test('gives way to others: they take turns', async () => {
    await fill(5000);
    const other = at.newQueue('small');
    await at.configure(other, {});
    await fill(1, other);
    let portions = 0;
    let portionsAtEnd = 0;
    const large = await start('delete', { states: ['ready'] });
    const small = await at.ok('POST', '/operations', {
      verb: 'delete',
      queue: other,
      filter: { states: ['ready'] },
    });
    gate.before(async () => {
      portions++;
      const { state } = await at.ok('GET', `/operations/${small.id}`);
      if (state === 'running') portionsAtEnd = portions;
    });
    await ended(large.id);
    expect(portionsAtEnd).toBeLessThanOrEqual(6);
  });

  test('is listed newest first, by pages, queue and state', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift((await run('delete', { states: ['dead'] })).id);
    const page = await at.ok('GET', `/operations?queue=${queue}&limit=2`);
    expect(page.operations.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
    const next = await at.ok('GET', `/operations?queue=${queue}&limit=2&cursor=${page.next_cursor}`);
    expect(next.operations.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2));
    expect(next.next_cursor).toBeNull();
    expect((await at.ok('GET', `/operations?queue=${queue}&state=failed`)).operations).toEqual([]);
    expect(page.operations[0]).toEqual({
      id: ids[0],
      verb: 'delete',
      queue,
      to: null,
      filter: { states: ['dead'] },
      dry_run: false,
      state: 'done',
      counted: true,
      matched: 0,
      done: 0,
      skipped: 0,
      error: null,
      hold_seconds: null,
      created_at: expect.any(String),
      finished_at: expect.any(String),
    });
  });

  test('that is unknown is 404', async () => {
    for (const id of [UNKNOWN_ID, 'no-id', 'x'.repeat(300)])
      for (const method of ['GET', 'DELETE'] as const)
        expectProblem(await service.call(method, `/operations/${id}`), 404, 'operation_not_found');
  });

  test('that is malformed is 400, and names the field; one on an unknown queue is 404', async () => {
    const good = { verb: 'cancel', queue, filter: { states: ['ready'] } };
    const filter = (more: object) => ({ ...good, filter: { states: ['ready'], ...more } });
    for (const [body, field] of [
      [{ ...good, verb: 'explode' }, '/verb'],
      [{ ...good, verb: 'move' }, '/to'],
      [{ ...good, verb: 'move', to: queue }, '/to'],
      [{ ...good, to }, '/to'],
      [{ ...good, queue: 'no spaces' }, '/queue'],
      [{ verb: 'cancel', queue }, '/filter'],
      [{ ...good, filter: {} }, '/filter/states'],
      [{ ...good, filter: { states: [] } }, '/filter/states'],
      [{ ...good, filter: { states: ['open'] } }, '/filter/states/0'],
      [filter({ group: '' }), '/filter/group'],
      [filter({ group: null }), '/filter/group'],
      [filter({ error_contains: 'a\u0000' }), '/filter/error_contains'],
      [filter({ error_contains: '\ud800' }), '/filter/error_contains'],
      [filter({ error_contains: 'x'.repeat(1025) }), '/filter/error_contains'],
      [filter({ created_before: '2026-01-01' }), '/filter/created_before'],
      [filter({ created_after: '2026-01-01T00:00:00' }), '/filter/created_after'],
      [filter({ created_after: '2026-12-31T23:59:60Z' }), '/filter/created_after'],
      [filter({ payload: 'x' }), '/filter/payload'],
      [{ ...good, dry_run: 'yes' }, '/dry_run'],
      [{ ...good, limit: 1 }, '/limit'],
    ] as const)
      expectProblem(await service.call('POST', '/operations', body), 400, 'invalid_request', field);
    expectProblem(await service.call('POST', '/operations'), 400, 'invalid_request', '');
    expectProblem(
      await service.call('POST', '/operations', { ...good, queue: 'nowhere' }),
      404,
      'queue_not_found',
    );
    expectProblem(
      await service.call('POST', '/operations', { ...good, verb: 'move', to: 'nowhere' }),
      404,
      'queue_not_found',
    );
  });
});

describe('the bounds', () => {
  const sql = <Row extends object>(text: string, values: unknown[] = []) =>
    onAll<Row>(service.databaseUrl, text, values);
  const insert = (count: number, more: string) =>
    sql(
      `insert into dibs.operations (id, verb, queue_id, queue, states, dry_run, last_position, open_transactions,
         next_transaction, state, finished_at, worked_at)
       select gen_random_uuid(), 'cancel', 0, 'bounds', '{dead}', true, 0, '{}', 0, ${more}
       from generate_series(1, $1::integer)`,
      [count],
    );

  test('100 run at once: one more is 409 too_many_operations', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    gate.before(() => held);
    await insert(100, `'running', null, now()`);
    expectProblem(
      await service.call('POST', '/operations', { verb: 'cancel', queue, filter: { states: ['dead'] } }),
      409,
      'too_many_operations',
    );
    await sql(`delete from dibs.operations where queue = 'bounds'`);
    release();
    gate.open();
    expect(await run('cancel', { states: ['dead'] })).toMatchObject({ state: 'done' });
  });

  test('one whose queue is gone fails', async () => {
    await insert(1, `'running', null, now()`);
    await eventually(async () =>
      expect((await at.ok('GET', '/operations?queue=bounds')).operations[0]).toMatchObject({
        state: 'failed',
        error: 'The queue "bounds" was deleted.',
      }),
    );
    await sql(`delete from dibs.operations where queue = 'bounds'`);
  });

  test('those that ended are kept for 30 days, and 1000 at most', async () => {
    await sql('delete from dibs.operations');
    const { pruneOperations } = await import('../../src/maintenance/pruner.ts');
    const prune = async () => {
      for (const db of service.pools) await pruneOperations({ db })();
    };
    /** How many each database has. */
    const left = async () =>
      new Set(
        (await sql<{ n: number }>('select count(*)::integer as n from dibs.operations')).map(({ n }) => n),
      );
    await insert(5, `'done', now() - interval '31 days', now()`);
    await insert(3, `'done', now() - interval '29 days', now()`);
    await prune();
    expect(await left()).toEqual(new Set([3]));
    await insert(1005, `'done', now(), now()`);
    await prune();
    expect(await left()).toEqual(new Set([1000]));
  });
});
