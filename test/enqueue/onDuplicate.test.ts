import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { onServer, openClient } from '../support/database.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onQueue } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let other: Service;
let at: ReturnType<typeof moves>;
let queue: string;
beforeAll(async () => {
  service = await startService();
  other = await startService({ databaseUrl: service.databaseUrl });
  at = moves(service);
});
beforeEach(() => {
  queue = at.newQueue();
});
afterAll(async () => {
  await other.stop();
  await service.stop();
});

const job = (payload: unknown, more: object = {}) => ({ queue, unique_key: 'k', payload, ...more });
const replacing = (payload: unknown, more: object = {}) => job(payload, { on_duplicate: 'replace', ...more });
const post = (body: object, to = service) => to.call('POST', '/jobs', body);
const counts = async () => (await at.ok('GET', `/queues/${queue}`)).counts;

describe('on_duplicate replace', () => {
  test('a job that waits becomes as the new request asks, and keeps its id', async () => {
    const first = await at.enqueue(job(1, { group: 'g', fairness_key: 'f' }));
    const answer = await post(
      replacing('two', { priority: 7, headers: { a: 'b' }, max_attempts: 9, delay_seconds: 1000 }),
    );
    expect(answer).toMatchObject({
      status: 200,
      body: {
        id: first.id,
        deduplicated: true,
        replaced: true,
        state: 'scheduled',
        priority: 7,
        max_attempts: 9,
      },
    });
    expect(await at.get(first.id)).toMatchObject({
      payload: 'two',
      headers: { a: 'b' },
      group: 'g',
      fairness_key: 'f',
      attempt: 0,
    });
    expect((await post(replacing('three'))).body).toMatchObject({
      state: 'ready',
      replaced: true,
      priority: 0,
    });
    expect(await at.claimOne(queue)).toMatchObject({
      id: first.id,
      payload: 'three',
      max_attempts: 5,
      headers: {},
    });
  });

  test('without a job that has the key, it is enqueued', async () => {
    const answer = await post(replacing(1));
    expect(answer.status).toBe(201);
    expect(answer.body).not.toHaveProperty('replaced');
  });

  test('a leased job is left alone, and so is one that is finished within its window', async () => {
    await at.enqueue(job(1, { unique_for_seconds: 1000 }));
    const leased = await at.claimOne(queue);
    expect((await post(replacing(2))).body).toMatchObject({
      id: leased.id,
      replaced: false,
      state: 'leased',
    });
    await at.settle('ack', leased);
    expect((await post(replacing(3))).body).toMatchObject({
      id: leased.id,
      replaced: false,
      state: 'completed',
    });
  });

  test('a job that comes back can be replaced, and keeps the attempts that it has had', async () => {
    await at.enqueue(job(1));
    await at.settle('nack', await at.claimOne(queue), { delay_seconds: 1000 });
    expect((await post(replacing(2, { max_attempts: 1 }))).body).toMatchObject({
      state: 'ready',
      replaced: true,
      attempt: 1,
      max_attempts: 2,
    });
    expect(await at.claimOne(queue)).toMatchObject({ payload: 2, attempt: 2 });
  });

  test('keep, or nothing, changes nothing', async () => {
    await at.enqueue(job(1));
    for (const more of [{}, { on_duplicate: 'keep' }]) {
      const { body } = await post(job(2, more));
      expect(body).toMatchObject({ deduplicated: true });
      expect(body).not.toHaveProperty('replaced');
    }
    expect(await at.drain(queue)).toEqual([1]);
  });

  test('an expiry is replaced, too', async () => {
    const { id } = await at.enqueue(job(1, { delay_seconds: 1000, expires_in_seconds: 0.3 }));
    await post(replacing(2, { delay_seconds: 1000 }));
    await new Promise((go) => setTimeout(go, 1500));
    expect(await at.get(id)).toMatchObject({ state: 'scheduled' });
    await post(replacing(3, { delay_seconds: 1000, expires_in_seconds: 0.1 }));
    await at.reaches(id, 'dead');
  });

  test('a payload comes back exactly as it was sent', async () => {
    const odd = '{"b":1.0,"a":12345678901234567890,"a":"\\u0000"}';
    await at.enqueue(job(1));
    await service.call(
      'POST',
      '/jobs',
      `{"queue":"${queue}","unique_key":"k","on_duplicate":"replace","payload":${odd}}`,
    );
    expect((await service.call('POST', '/jobs/claim', { queues: [queue] })).text).toContain(
      `"payload":${odd},`,
    );
  });

  test('in a batch, each replaces the one before it: the last one counts', async () => {
    const { id } = await at.enqueue({ queue, unique_key: 'old', payload: 0 });
    const jobs = await at.enqueueAll([
      job(1),
      { queue, payload: 'none' },
      replacing(2),
      job(3),
      replacing(4, { priority: 5 }),
      { queue, unique_key: 'old', payload: 5, on_duplicate: 'replace' },
    ]);
    expect(jobs.map(({ deduplicated, replaced }) => [deduplicated, replaced])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      [true, true],
      [true, undefined],
      [true, true],
      [true, true],
    ]);
    expect(jobs[5].id).toBe(id);
    expect(new Set([0, 2, 3, 4].map((i) => jobs[i].id)).size).toBe(1);
    expect(await at.drain(queue)).toEqual([4, 5, 'none']);
  });

  test('a claim that waits is served when a delayed job is replaced by one that is due', async () => {
    await at.enqueue(job(1, { delay_seconds: 1000 }));
    const waiting = at.claim(queue, { wait_seconds: 20 });
    await post(replacing(2));
    expect((await waiting).map(({ payload }) => payload)).toEqual([2]);
  });

  test('a job of a group keeps its place', async () => {
    await at.enqueueAll([
      { queue, group: 'g', payload: 'first' },
      job('mine', { group: 'g' }),
      { queue, group: 'g', payload: 'last' },
    ]);
    expect((await post(replacing('new'))).body).toMatchObject({ state: 'blocked', replaced: true });
    const order: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const leased = await at.claimOne(queue, { wait_seconds: 10 });
      order.push(leased.payload);
      await at.settle('ack', leased);
    }
    expect(order).toEqual(['first', 'new', 'last']);
  });

  test('the head of a group keeps its group when a replace delays it, and explain says so', async () => {
    const [head, next] = await at.enqueueAll([job('head', { group: 'g' }), { queue, group: 'g' }]);
    const { body } = await post(replacing('later', { delay_seconds: 1000 }));
    expect(body).toMatchObject({ id: head.id, state: 'scheduled', replaced: true });
    expect(await at.get(next.id)).toMatchObject({ state: 'blocked' });
    const explained = await at.ok('GET', `/jobs/${next.id}/explain`);
    expect(explained).toMatchObject({ code: 'behind_in_group', blocking_job_id: head.id });
    expect(explained.detail).toContain('is the head of the group and waits for its run_at.');
    // It had no attempt yet, so it has none behind it.
    expect(explained.detail).not.toContain('next attempt');
  });

  test('a repeat with an Idempotency-Key is answered the same, and replaces nothing', async () => {
    await at.enqueue(job(1));
    const once = () => service.call('POST', '/jobs', replacing(2), { 'idempotency-key': `${queue}-once` });
    const first = await once();
    await post(replacing(3));
    const again = await once();
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(again.body).toMatchObject({ replaced: true });
    expect(await at.drain(queue)).toEqual([3]);
  });

  test('as a follow-up, and from a tick of a schedule', async () => {
    await at.enqueue(job(1, { delay_seconds: 1000 }));
    await at.enqueue({ queue, payload: 'parent' });
    const parent = await at.claimOne(queue);
    const { body } = await at.settle('ack', parent, { enqueue: [replacing(2, { delay_seconds: 1000 })] });
    expect(body.enqueued).toMatchObject([{ deduplicated: true, replaced: true }]);
    const name = `s-${queue}`;
    await at.ok('PUT', `/schedules/${name}`, { cron: '0 0 1 1 *', job: replacing(3) });
    expect((await service.call('POST', `/schedules/${name}/trigger`)).body).toMatchObject({ replaced: true });
    expect(await at.drain(queue)).toEqual([3]);
  });

  test('is refused without a key, and with another word: 400, and nothing is enqueued', async () => {
    for (const body of [
      { queue, on_duplicate: 'replace' },
      job(1, { on_duplicate: 'merge' }),
      job(1, { on_duplicate: null }),
    ])
      expectProblem(await post(body), 400, 'invalid_request', '/on_duplicate');
    expect((await service.call('GET', `/queues/${queue}`)).status).toBe(404);
  });
});

test.each(['on_duplicate', 'unique_until'])('%s needs a key wherever a job is named', async (field) => {
  const bare = { queue, [field]: field === 'on_duplicate' ? 'replace' : 'claimed' };
  const refused = async (method: 'POST' | 'PUT', path: string, body: object, at: string) =>
    expectProblem(await service.call(method, path, body), 400, 'invalid_request', `${at}/${field}`);
  await refused('POST', '/jobs', bare, '');
  await refused('POST', '/jobs/batch', { jobs: [{ queue }, bare] }, '/jobs/1');
  await refused('POST', '/batches', { queue, jobs: [bare] }, '/jobs/0');
  await refused('POST', '/batches', { queue, on_end: bare }, '/on_end');
  await refused('PUT', `/schedules/s-${queue}`, { cron: '* * * * *', job: bare }, '/job');
  expect((await service.call('GET', `/queues/${queue}`)).status).toBe(404);
  const { id } = await at.enqueue({ queue });
  const { lease_token } = await at.claimOne(queue);
  const acks = [{ id, lease_token, enqueue: [bare] }];
  await refused('POST', `/jobs/${id}/ack`, { lease_token, enqueue: [bare] }, '/enqueue/0');
  await refused('POST', '/jobs/settle', { acks }, '/acks/0/enqueue/0');
  expect((await at.get(id)).state).toBe('leased');
});

describe('dibs.enqueue in SQL', () => {
  const inSql = async (text: string) => {
    const client = await openClient(await databaseOf(service.databaseUrl, queue));
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };

  test('replaces, too, at its commit, and wakes claims', async () => {
    const { id } = await at.enqueue(job(1, { delay_seconds: 1000 }));
    const waiting = at.claim(queue, { wait_seconds: 20 });
    const rows = await inSql(
      `select dibs.enqueue('${queue}', '2', unique_key => 'k', on_duplicate => 'replace') as id`,
    );
    expect(rows).toEqual([{ id }]);
    expect((await waiting).map(({ payload }) => payload)).toEqual([2]);
  });

  test('refuses what the API refuses', async () => {
    await at.enqueue(job(1));
    await expect(inSql(`select dibs.enqueue('${queue}', on_duplicate => 'replace')`)).rejects.toThrow(
      'needs a unique_key',
    );
    await expect(
      inSql(`select dibs.enqueue('${queue}', unique_key => 'k', on_duplicate => 'x')`),
    ).rejects.toThrow('must be keep or replace');
  });
});

describe('races', () => {
  test('replaces through two replicas, claims and acks at once: the last one counts, and nothing is lost', async () => {
    const ROUNDS = 200;
    const worked: { id: string; payload: number }[] = [];
    const answers: Json[] = [];
    let isOver = false;
    async function work(): Promise<void> {
      while (!isOver) {
        const [leased] = await at.claim(queue, { wait_seconds: 0.2 });
        if (!leased) continue;
        worked.push({ id: leased.id, payload: leased.payload });
        await at.settle(leased.payload % 5 === 0 && leased.attempt === 1 ? 'nack' : 'ack', leased, {});
      }
    }
    async function produce(to: Service, from: number): Promise<void> {
      for (let n = from; n < ROUNDS; n += 2) {
        const { status, body } = await post(replacing(n), to);
        answers.push({ n, status, ...body });
      }
    }
    const workers = [work(), work()];
    await at.configure(queue, { backoff: { kind: 'constant', base_seconds: 0.01 } });
    await Promise.all([produce(service, 0), produce(other, 1)]);
    // What was answered 201 or `replaced` waits, or was worked, or was replaced by another one. So the last of them is worked.
    await expect
      .poll(async () => Object.values(await counts()).every((n) => n === 0), { timeout: 60_000 })
      .toBe(true);
    isOver = true;
    await Promise.all(workers);
    expect(answers.every(({ status }) => status === 201 || status === 200)).toBe(true);
    const fresh = answers.filter(({ status }) => status === 201).length;
    expect(fresh).toBeGreaterThan(0);
    // Each producer sends one after the other. So a job was worked with the last payload that one of the two gave it.
    const given = answers.filter(({ status, replaced }) => status === 201 || replaced);
    for (const id of new Set(given.map((answer) => answer.id))) {
      const lasts = [0, 1].map(
        (from) => given.findLast(({ n, ...answer }) => answer.id === id && n % 2 === from)?.n,
      );
      expect(lasts).toContain(worked.findLast((job) => job.id === id)?.payload);
    }
    const refused = new Set(answers.filter(({ replaced }) => replaced === false).map(({ n }) => n));
    expect(worked.filter(({ payload }) => refused.has(payload))).toEqual([]);
  });

  test('a job that comes back while a request is about to replace it, and has a window, is replaced', async () => {
    const { id } = await at.enqueue(job('before', { unique_for_seconds: 600 }));
    const leased = await at.claimOne(queue);
    const { id: other } = await at.enqueue(job(1, { unique_key: 'other' }));
    const url = await databaseOf(service.databaseUrl, queue);
    const holder = await openTransaction(url);
    await holder.query(`select from dibs.jobs where id = '${other}' for update`);
    // It has found the first key leased, and waits for the other one.
    const client = await openClient(url);
    const replaced = client.query<{ id: string; state: string }>(
      `select j.id, j.state
       from dibs.queues q
       cross join dibs.insert_unique(
         q.id,
         array(
           select row(
             dibs.new_id(q.id), 0, null, 0, 5, null, '{}', '"after"', key, null, null, null, null, null
           )::dibs.new_job
           from unnest('{k,other}'::text[]) as key
         ),
         '{k,other}'
       ) as j
       where q.name = $1`,
      [queue],
    );
    await until(async () => {
      const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%insert_unique%' and pid <> pg_backend_pid()`;
      return (await onServer(url, waits)).length > 0;
    });
    await at.settle('nack', leased, { delay_seconds: 600 });
    await holder.end('rollback');
    expect((await replaced).rows).toContainEqual({ id, state: 'ready' });
    await client.end();
    expect((await at.get(id)).payload).toBe('after');
  });

  test('an open transaction that replaces a key holds up nobody but the requests for that key', async () => {
    await at.enqueue(job(1));
    const transaction = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await transaction.query(
      `select dibs.enqueue('${queue}', '2', unique_key => 'k', on_duplicate => 'replace')`,
    );
    const waits = post(replacing(3));
    await at.enqueueAll(
      Array.from({ length: 20 }, (_, i) => ({ queue, unique_key: `other${i}`, payload: i + 10 })),
    );
    expect(await at.drain(queue)).toHaveLength(20);
    await transaction.end('commit');
    expect((await waits).body).toMatchObject({ replaced: true });
    expect(await at.drain(queue)).toEqual([3]);
  });

  test('requests for one key that come in one batch write the job once', async () => {
    await at.enqueue(job(0, { delay_seconds: 1000 }));
    const inDatabase = (text: string) => onQueue<{ touched: number }>(service.databaseUrl, queue, text);
    await inDatabase(`
      create table public.touched ();
      create function public.note_touch() returns trigger language plpgsql security definer as 'begin insert into public.touched default values; return null; end';
      create trigger touched after update on dibs.jobs for each row execute function public.note_touch()`);
    await at.enqueueAll(Array.from({ length: 100 }, (_, n) => replacing(n, { delay_seconds: 1000 })));
    expect(await inDatabase('select count(*)::integer as touched from public.touched')).toEqual([
      { touched: 1 },
    ]);
    await inDatabase(
      'drop trigger touched on dibs.jobs; drop function public.note_touch; drop table public.touched',
    );
    await post(replacing(100));
    expect(await at.drain(queue)).toEqual([100]);
  });
});
