import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NEEDS, type Need } from '../../src/access/needs.ts';
import { as, speakingAccess } from '../support/access.ts';
import { onServer, openClient } from '../support/database.ts';
import { expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { type Method, type Service, startService } from '../support/service.ts';
import { onQueue, SEVERAL } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let service: Service;
let root: ReturnType<typeof as>;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService({ access: speakingAccess() });
  root = as(service, 'admin@*');
  at = moves({ ...service, call: root });
});
afterAll(() => service.stop());

const sql = (text: string, values: unknown[] = []) =>
  onServer<Record<string, unknown>>(service.databaseUrl, text, values);
const rows = () => sql('select * from dibs.audit order by id');
/** The rows, when there are so many. On a busy machine, an answer may come before its row. */
const theRows = (count: number) =>
  until(async () => {
    const found = await rows();
    return found.length >= count && found;
  });
beforeEach(async () => {
  await sql('delete from dibs.audit');
  service.acts.length = 0;
});

const spec = (queue: string) => ({ cron: '0 0 1 1 *', job: { queue, payload: 'secret payload' } });

/** A queue with a ready, a leased and a dead job, and a schedule. */
async function queueWithJobs() {
  const queue = at.newQueue('audited');
  const [, , ready] = await at.enqueueAll([{ queue }, { queue }, { queue }]);
  const [dead, leased] = await at.claim(queue, { limit: 2 });
  await at.settle('nack', dead, { retry: false, error: 'secret error' });
  await at.ok('PUT', `/schedules/${queue}`, spec(queue));
  const [operation] = await onQueue(
    service.databaseUrl,
    queue,
    `insert into dibs.operations (id, verb, queue_id, queue, states, dry_run, state, finished_at, done, last_position,
       open_transactions, next_transaction)
     select gen_random_uuid(), 'cancel', id, name, '{dead}', false, 'done', now(), 7, 0, '{}', 0
     from dibs.queues where name = $1
     returning id`,
    [queue],
  );
  await theRows(1);
  await sql('delete from dibs.audit');
  service.acts.length = 0;
  const batch = await at.ok('POST', '/batches', { queue });
  return {
    queue,
    batch: batch.id,
    ready: ready.id,
    dead: dead.id,
    leased: leased.id,
    operation: operation?.id,
  };
}
type Jobs = Awaited<ReturnType<typeof queueWithJobs>>;

const UUID = /^[\da-f-]{36}$/;
const NOTHING = {
  queue: null,
  job_id: null,
  schedule: null,
  key_id: null,
  database: null,
  count: null,
  details: {},
};
const ACTS: [string, Method, (at: Jobs) => [string, unknown?], (at: Jobs) => object][] = [
  [
    'cancelJob',
    'DELETE',
    (a) => [`/jobs/${a.ready}`],
    (a) => ({ queue: a.queue, job_id: a.ready, count: 1 }),
  ],
  [
    'retryJob',
    'POST',
    (a) => [`/jobs/${a.dead}/retry`],
    (a) => ({ queue: a.queue, job_id: a.dead, count: 1 }),
  ],
  [
    'changeJob',
    'PATCH',
    (a) => [`/jobs/${a.ready}`, { payload: 'secret' }],
    (a) => ({ queue: a.queue, job_id: a.ready, count: 1 }),
  ],
  ['configureQueue', 'PUT', (a) => [`/queues/${a.queue}`, {}], (a) => ({ queue: a.queue })],
  ['pauseQueue', 'POST', (a) => [`/queues/${a.queue}/pause`], (a) => ({ queue: a.queue })],
  [
    'pauseGroup',
    'POST',
    (a) => [`/queues/${a.queue}/groups/g/pause`],
    (a) => ({ queue: a.queue, details: { group: 'g' } }),
  ],
  [
    'resumeGroup',
    'POST',
    (a) => [`/queues/${a.queue}/groups/g/resume`],
    (a) => ({ queue: a.queue, details: { group: 'g' } }),
  ],
  ['resumeQueue', 'POST', (a) => [`/queues/${a.queue}/resume`], (a) => ({ queue: a.queue })],
  [
    'deleteQueue',
    'DELETE',
    (a) => [`/queues/${a.queue}?force=true`],
    (a) => ({ queue: a.queue, details: { force: true } }),
  ],
  [
    'purgeQueue',
    'POST',
    (a) => [`/queues/${a.queue}/purge`, { states: ['ready', 'dead'] }],
    (a) => ({ queue: a.queue, count: 2, details: { states: ['ready', 'dead'] } }),
  ],
  [
    'redriveQueue',
    'POST',
    (a) => [`/queues/${a.queue}/redrive`, { error_contains: 'secret' }],
    (a) => ({ queue: a.queue, count: 1 }),
  ],
  [
    'startOperation',
    'POST',
    (a) => [
      '/operations',
      { verb: 'retry', queue: a.queue, filter: { states: ['dead'], error_contains: 'secret' } },
    ],
    (a) => ({ queue: a.queue, details: { operation_id: expect.stringMatching(UUID), operation: 'retry' } }),
  ],
  [
    'cancelBatch',
    'DELETE',
    (a) => [`/batches/${a.batch}`],
    (a) => ({ queue: a.queue, count: 0, details: { batch_id: a.batch } }),
  ],
  [
    'stopOperation',
    'DELETE',
    (a) => [`/operations/${a.operation}`],
    (a) => ({ queue: a.queue, count: 7, details: { operation_id: a.operation, operation: 'cancel' } }),
  ],
  [
    'putSchedule',
    'PUT',
    (a) => [`/schedules/${a.queue}`, spec(a.queue)],
    (a) => ({ schedule: a.queue, queue: a.queue }),
  ],
  ['deleteSchedule', 'DELETE', (a) => [`/schedules/${a.queue}`], (a) => ({ schedule: a.queue })],
  [
    'triggerSchedule',
    'POST',
    (a) => [`/schedules/${a.queue}/trigger`],
    (a) => ({ schedule: a.queue, queue: a.queue, count: 1 }),
  ],
  [
    'configureDatabase',
    'PUT',
    () => ['/databases/home', { accepts_queues: true }],
    () => ({ database: 'home' }),
  ],
];
/** Verbs that other tests try: those about access keys, and one that is refused where there is one database. */
const ELSEWHERE = ['createKey', 'rotateKey', 'revokeKey', 'relocateQueue'];

describe('an act with the scope admin', () => {
  test('tells how it was done, where that is a choice: a redrive home, a move, a dry run', async () => {
    const { queue } = await queueWithJobs();
    const to = `${queue}.to`;
    await at.configure(to, {});
    await at.ok('POST', `/queues/${queue}/redrive`, { home: true });
    const filter = { states: ['dead'] };
    const move = { verb: 'move', queue, to, filter, dry_run: true };
    await at.ok('POST', '/operations', move);
    expect((await root('GET', '/audit?limit=2')).body.entries).toMatchObject([
      { verb: 'startOperation', queue, details: { operation: 'move', to, dry_run: true } },
      { verb: 'redriveQueue', queue, details: { home: true } },
    ]);
  });

  test.each(ACTS)(
    '%s leaves one line and one row: who, what, where, how many',
    async (verb, method, call, about) => {
      const jobs = await queueWithJobs();
      const answer = await root(method, ...call(jobs));
      expect(answer.status, answer.text).toBeLessThan(300);
      const expected = {
        ...NOTHING,
        ...about(jobs),
        actor: 'admin@*',
        actor_id: 'Bearer admin@*',
        verb,
        outcome: 'done',
        address: '127.0.0.1',
        request_id: expect.stringMatching(/./),
      };
      expect(service.acts).toEqual([expected]);
      const kept = await rows();
      expect(kept).toMatchObject([
        {
          ...expected,
          count: 'count' in about(jobs) ? String((about(jobs) as { count: number }).count) : null,
        },
      ]);
      expect(JSON.stringify([service.acts, kept])).not.toContain('secret');
    },
  );

  test('is audited, whichever it is, unless it only looks', () => {
    const admin = Object.entries<Need>(NEEDS).filter(([, { scope }]) => scope === 'admin');
    const audited = admin.filter(([, { about }]) => about).map(([verb]) => verb);
    expect(
      admin.map(([verb]) => verb).filter((verb) => !audited.includes(verb) && !verb.startsWith('list')),
    ).toEqual([]);
    expect(audited.filter((verb) => !ELSEWHERE.includes(verb)).sort()).toEqual(
      ACTS.map(([verb]) => verb).sort(),
    );
  });

  test('that finds nothing, or must not, leaves a row with the code of its refusal', async () => {
    const jobs = await queueWithJobs();
    const answer = await root('DELETE', `/queues/${jobs.queue}`);
    expectProblem(answer, 409, 'queue_not_empty');
    await root('DELETE', `/jobs/${UNKNOWN_ID}`);
    await root('DELETE', `/jobs/no-id`);
    await root('DELETE', `/batches/${UNKNOWN_ID}`);
    await root('DELETE', `/batches/no-id`);
    await root('POST', '/schedules/nowhere/trigger');
    await root('POST', `/queues/${jobs.queue}/relocate`, { to: 'home' });
    expect(await theRows(7)).toMatchObject([
      {
        verb: 'deleteQueue',
        queue: jobs.queue,
        outcome: 'queue_not_empty',
        request_id: answer.headers['x-request-id'],
      },
      { verb: 'cancelJob', job_id: UNKNOWN_ID, outcome: 'job_not_found', count: null },
      { verb: 'cancelJob', job_id: null, outcome: 'job_not_found' },
      { verb: 'cancelBatch', outcome: 'batch_not_found', details: { batch_id: UNKNOWN_ID } },
      { verb: 'cancelBatch', outcome: 'batch_not_found', details: {} },
      { verb: 'triggerSchedule', schedule: 'nowhere', outcome: 'schedule_not_found' },
      {
        verb: 'relocateQueue',
        queue: jobs.queue,
        database: 'home',
        outcome: SEVERAL ? 'queue_busy' : 'queue_elsewhere',
      },
    ]);
  });

  test('that is refused with 403 leaves a line, and no row', async () => {
    await queueWithJobs();
    const states = { states: ['ready'] };
    expectProblem(await as(service, 'read@*')('POST', '/queues/q/purge', states), 403, 'forbidden');
    expectProblem(await as(service, 'admin@mail')('POST', '/queues/q/purge', states), 403, 'forbidden');
    expect(service.acts).toMatchObject([
      { actor: 'read@*', verb: 'purgeQueue', outcome: 'forbidden', address: '127.0.0.1' },
      { actor: 'admin@mail', verb: 'purgeQueue', queue: 'q', outcome: 'forbidden' },
    ]);
    expect(await rows()).toEqual([]);
  });

  test('by many who are refused leaves 100 lines in 10 seconds at most', async () => {
    const stranger = as(service, 'read@*');
    for (let i = 0; i < 300; i++) await stranger('POST', '/queues/q/pause');
    // A slow machine may need more than one window.
    expect(service.acts.length).toBeLessThan(300);
    expect(await rows()).toEqual([]);
  });

  test('has a row even if the verb is reached without a request', async () => {
    const { ANYBODY } = await import('../../src/caller.ts');
    await service.engine.as(ANYBODY).pauseQueue({ queue: 'q' });
    expect(await rows()).toMatchObject([
      { actor: 'anybody', actor_id: null, verb: 'pauseQueue', address: null },
    ]);
  });
});

test('what needs another scope leaves no line and no row', async () => {
  const { queue, ready } = await queueWithJobs();
  await at.ok('POST', '/jobs', { queue });
  for (const path of [`/jobs/${ready}`, '/jobs', '/queues', `/queues/${queue}`, '/schedules', '/audit'])
    await at.ok('GET', path);
  const [job] = await at.claim(queue);
  await at.settle('ack', job);
  expect(service.acts).toEqual([]);
  expect(await rows()).toEqual([]);
});

describe('GET /audit', () => {
  const list = async (query = '') => (await root('GET', `/audit${query}`)).body;

  test('lists the newest first, in pages, with filters', async () => {
    const second = as(service, 'admin@*#2');
    for (const queue of ['a', 'b', 'a']) await at.ok('POST', `/queues/${queue}/pause`);
    await theRows(3);
    await second('POST', '/queues/a/resume');
    await theRows(4);
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { entries: { verb: string; queue: string }[]; next_cursor: string | null } = await list(
        `?limit=3${cursor && `&cursor=${cursor}`}`,
      );
      seen.push(...page.entries.map(({ verb, queue }) => `${verb} ${queue}`));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(['resumeQueue a', 'pauseQueue a', 'pauseQueue b', 'pauseQueue a']);
    const countOf = async (query: string) => (await list(query)).entries.length;
    expect(await countOf('?actor=admin@*%232')).toBe(1);
    expect(await countOf('?verb=pauseQueue&queue=a')).toBe(2);
    expect(await countOf('?queue=none')).toBe(0);
    const [newest] = (await list()).entries;
    expect(await countOf(`?created_before=${newest.created_at}`)).toBeLessThan(4);
    expect(await countOf('?created_after=2020-01-01T00:00:00Z')).toBe(4);
    expect(await countOf('?created_after=2999-01-01T00:00:00Z')).toBe(0);
    // PostgreSQL reads no offset from 16 hours, no year 0, and no fraction of 200 digits.
    expect(await countOf('?created_after=6233-12-28T21:27:51-22:28')).toBe(0);
    expect(await countOf('?created_before=6233-12-28T21:27:51%2B23:59')).toBe(4);
    expect(await countOf('?created_after=0000-01-01T00:00:00Z')).toBe(4);
    expect(await countOf(`?created_after=2020-01-01T00:00:00.${'1'.repeat(200)}Z`)).toBe(4);
    expect(await countOf('?created_before=9999-12-31T23:59:59-23:59')).toBe(4);
    expectProblem(await root('GET', '/audit?created_after=2016-12-31T23:59:60Z'), 400, 'invalid_request');
  });

  test('goes on in the same order where the numbers of entries get another digit', async () => {
    await sql(`insert into dibs.audit (id, actor, verb, outcome) overriding system value
               select 10000000 - 3 + i, 'counted', 'pauseQueue', 'done' from generate_series(0, 5) as i`);
    const { entries, next_cursor } = (await root('GET', '/audit?actor=counted&limit=4')).body;
    const rest = (await root('GET', `/audit?actor=counted&limit=4&cursor=${next_cursor}`)).body.entries;
    expect([...entries, ...rest].map(({ id }: { id: string }) => Number(id) - 10_000_000)).toEqual([
      2, 1, 0, -1, -2, -3,
    ]);
  });

  test('refuses a cursor of another list, and unknown fields', async () => {
    const cursor = async (path: string) => (await root('GET', path)).body.next_cursor;
    for (const queue of ['a', 'b']) await at.ok('POST', `/queues/${queue}/pause`);
    await theRows(2);
    expectProblem(
      await root('GET', `/audit?cursor=${await cursor('/queues?limit=1')}`),
      400,
      'invalid_request',
    );
    expectProblem(
      await root('GET', `/audit?queue=a&cursor=${await cursor('/audit?limit=1')}`),
      400,
      'invalid_request',
    );
    expectProblem(await root('GET', '/audit?who=me'), 400, 'invalid_request');
    expectProblem(await root('GET', '/audit?created_after=yesterday'), 400, 'invalid_request');
  });

  test('needs the pattern *', async () => {
    expectProblem(await as(service, 'admin@a*')('GET', '/audit'), 403, 'forbidden');
    expectProblem(await as(service, 'produce,consume,read@*')('GET', '/audit'), 403, 'forbidden');
  });
});

describe('audit rows', () => {
  test('go after 90 days', async () => {
    await at.ok('POST', '/queues/old/pause');
    await theRows(1);
    const [row] = await sql(
      "select expires_at - created_at = interval '90 days' as is_right from dibs.audit",
    );
    expect(row).toEqual({ is_right: true });
    await at.ok('POST', '/queues/new/pause');
    await theRows(2);
    await sql(`update dibs.audit set expires_at = now() + interval '0.2 s' where queue = 'old'`);
    await until(async () => (await rows()).length === 1);
    expect(await rows()).toMatchObject([{ queue: 'new' }]);
  });
});

describe('an audit row that cannot be written', () => {
  test('is logged, and the act counts', async () => {
    await sql('alter table dibs.audit rename to audit_away');
    try {
      await at.ok('POST', '/queues/unwritten/pause');
      await until(() => service.errors.length > 0);
      expect(service.acts).toMatchObject([{ verb: 'pauseQueue', queue: 'unwritten' }]);
      service.errors.length = 0;
    } finally {
      await sql('alter table dibs.audit_away rename to audit');
    }
  });

  test('because of a lock does not hold up the answer for long', async () => {
    const client = await openClient(service.databaseUrl);
    try {
      await client.query('begin; lock table dibs.audit in access exclusive mode');
      await at.ok('POST', '/queues/unwritten/resume');
    } finally {
      await client.end();
    }
  });
});

test('where nobody needs a key, the actor is anybody', async () => {
  const open = await startService({ databaseUrl: service.databaseUrl });
  try {
    await open.call('POST', '/queues/open/pause');
    await theRows(1);
    expect(open.acts).toMatchObject([
      { actor: 'anybody', actor_id: null, queue: 'open', address: '127.0.0.1' },
    ]);
    expect((await open.call('GET', '/audit?queue=open')).body.entries).toMatchObject([{ actor: 'anybody' }]);
  } finally {
    await open.stop();
  }
});
