import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { onServer, openClient } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onAll, onQueue } from '../support/severalDatabases.ts';

let here: Service;
let there: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  here = await startService();
  there = await startService({ databaseUrl: here.databaseUrl });
  at = moves(here);
});
afterAll(async () => {
  await there.stop();
  await here.stop();
});

const sql = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
  onServer<Row>(here.databaseUrl, text, values);

/** Calls dibs.enqueue with the queue and these arguments: `priority => 5, payload => $2::json`. */
const enqueue = async (queue: string, given = '', values: unknown[] = []): Promise<string> => {
  const [row] = await onQueue<{ id: string }>(
    here.databaseUrl,
    queue,
    `select dibs.enqueue($1${given && `, ${given}`}) as id`,
    [queue, ...values],
  );
  return row?.id as string;
};

const jobsIn = async (queue: string) => (await at.ok('GET', `/jobs?queue=${queue}&order=oldest`)).jobs;

/** Creates a role for the length of a test. It may connect, and what `grants` say. */
async function asRole<T>(grants: string[], work: (query: pg.Client) => Promise<T>): Promise<T> {
  const role = `dibs_test_${Math.random().toString(36).slice(2)}`;
  await sql(`create role ${role}`);
  for (const grant of grants) await sql(`${grant} to ${role}`);
  const client = await openClient(here.databaseUrl);
  try {
    await client.query(`set session authorization ${role}`);
    return await work(client);
  } finally {
    await client.end();
    await sql(`drop owned by ${role}`);
    await sql(`drop role ${role}`);
  }
}

test(`select dibs.enqueue('queue', '{"a":1}'::json, priority => 5) enqueues, and creates the queue`, async () => {
  await sql(`select dibs.enqueue('queue', '{"a":1}'::json, priority => 5)`);
  const job = await at.claimOne('queue');
  expect(job).toMatchObject({ payload: { a: 1 }, priority: 5, queue: 'queue', headers: {}, max_attempts: 5 });
  expect((await at.settle('ack', job)).status).toBe(200);
});

test('the payload comes back exactly as it was sent', async () => {
  const queue = at.newQueue();
  const payload = '{"b": 1.0, "a": 12345678901234567890, "b": "\\u0000\\ud800", "c":1e400}';
  await enqueue(queue, '$2::json', [payload]);
  const answer = await here.call('POST', '/jobs/claim', { queues: [queue] });
  expect(answer.text).toContain(`"payload":${payload}`);
});

test('it returns the id of the job: a UUIDv7 that names its queue, and sorts after the ids of earlier jobs', async () => {
  const queue = at.newQueue();
  const ids = (
    await sql<{ id: string }>('select dibs.enqueue($1, to_json(n)) as id from generate_series(1, 300) n', [
      queue,
    ])
  ).map((row) => row.id);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(300);
  const viaHttp = await at.enqueue({ queue });
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(id.slice(30)).toBe(viaHttp.id.slice(30));
    expect(Math.abs(Number.parseInt(id.replace('-', '').slice(0, 12), 16) - Date.now())).toBeLessThan(60_000);
  }
  const next = await enqueue(queue);
  expect(next > (ids.at(-1) as string)).toBe(true);
  expect((await at.get(ids[0] as string)).payload).toBe(1);
  const payloads = await at.drain(queue);
  expect(payloads.slice(0, 300)).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
});

describe("in the producer's own transaction", () => {
  test('the job is visible at its commit', async () => {
    const queue = at.newQueue();
    const user = await openTransaction(await databaseOf(here.databaseUrl, queue));
    await user.query('create table orders (id integer)');
    await user.query('insert into orders values (1)');
    const [row] = await user.query<{ id: string }>('select dibs.enqueue($1) as id', [queue]);
    expect(await at.drain(queue)).toEqual([]);
    await user.end('commit');
    expect((await at.claimOne(queue)).id).toBe(row?.id);
    expect(await sql('select id from orders')).toEqual([{ id: 1 }]);
  });

  test('the job is gone at its rollback, also to a savepoint', async () => {
    const queue = at.newQueue();
    const user = await openTransaction(await databaseOf(here.databaseUrl, queue));
    await user.query('select dibs.enqueue($1)', [queue]);
    await user.end('rollback');
    expect((await here.call('GET', `/queues/${queue}`)).status).toBe(404);
    const again = await openTransaction(await databaseOf(here.databaseUrl, queue));
    await again.query(`select dibs.enqueue($1, '"kept"')`, [queue]);
    await again.query('savepoint s');
    await again.query(`select dibs.enqueue($1, '"gone"', unique_key => 'k', unique_for_seconds => 60)`, [
      queue,
    ]);
    await again.query('rollback to s');
    await again.end('commit');
    expect(await at.drain(queue)).toEqual(['kept']);
    expect((await here.call('POST', '/jobs', { queue, unique_key: 'k' })).status).toBe(201);
  });

  test('the job wakes claims at its commit, on every replica', async () => {
    const queue = at.newQueue();
    await at.ok('POST', `/queues/${queue}/pause`);
    await at.ok('POST', `/queues/${queue}/resume`);
    // Without a notification, a claim looks each second: twenty of them would take some ten seconds.
    for (let i = 0; i < 20; i++) {
      const claim = moves(i % 2 ? here : there).claimOne(queue, { wait_seconds: 20 });
      await enqueue(queue, `'${i}'`);
      const job = await claim;
      expect(job.payload).toBe(i);
      await at.settle('ack', job);
    }
  });

  test('one NOTIFY is sent for each queue or group, however many jobs there are, and one for all scheduled jobs', async () => {
    const listener = await openClient(here.databaseUrl);
    const heard: (string | undefined)[] = [];
    listener.on('notification', ({ payload }) => {
      if (payload?.split(' ')[1] === 'sql') heard.push(payload);
    });
    await listener.query('listen dibs');
    const [a, b, c] = [at.newQueue(), at.newQueue(), at.newQueue()];
    const user = await openTransaction(here.databaseUrl);
    for (const queue of [a, b, a, b, a]) await user.query('select dibs.enqueue($1)', [queue]);
    for (const group of ['g  1', 'g  1'])
      await user.query('select dibs.enqueue($1, "group" => $2)', [c, group]);
    await user.query('select dibs.enqueue($1, delay_seconds => 60)', [`${c}.later`]);
    await user.query(`select dibs.enqueue($1, unique_key => 'k')`, [a]);
    await user.end('commit');
    await enqueue(a, `unique_key => 'k'`);
    await listener.query(`notify dibs, 'last sql of all'`);
    await eventually(async () => expect(heard.at(-1)).toBe('last sql of all'));
    await listener.end();
    expect(heard).toEqual([
      `ready sql ${a}`,
      `ready sql ${b}`,
      `blocked sql ${c} g  1`,
      'due sql',
      'last sql of all',
    ]);
  });

  test('jobs of one group are claimed in the order of their commits, by SQL or by HTTP, and wake claims', async () => {
    const queue = at.newQueue();
    await at.configure(queue, {});
    for (let i = 0; i < 5; i++) {
      const [first, second] = [`${i}.1`, `${i}.2`];
      const claim = moves(i % 2 ? here : there).claimOne(queue, { wait_seconds: 20 });
      await enqueue(queue, 'to_json($2::text), "group" => $3', [first, 'a group']);
      const job = await claim;
      expect(job.payload).toBe(first);
      await at.enqueue({ queue, group: 'a group', payload: second });
      expect(await at.claim(queue)).toEqual([]);
      const next = moves(there).claimOne(queue, { wait_seconds: 20 });
      await at.settle('ack', job);
      expect((await next).payload).toBe(second);
      await at.settle('ack', await next);
    }
  });

  test('an open transaction delays no enqueue, no claim and no configuration, in its own queue and group', async () => {
    const queue = at.newQueue();
    await at.enqueue({ queue, payload: 'before' });
    const user = await openTransaction(await databaseOf(here.databaseUrl, queue));
    await user.query(`select dibs.enqueue($1, '"mine"')`, [queue]);
    await user.query(`select dibs.enqueue($1, '"held"', unique_key => 'held')`, [queue]);
    await user.query(`select dibs.enqueue($1, '"late"', "group" => 'g')`, [queue]);
    await at.enqueue({ queue, payload: 'grouped', group: 'g', priority: -1 });
    await at.enqueue({ queue, payload: 'after' });
    await enqueue(queue, `'"by SQL"', unique_key => 'other'`);
    await at.configure(queue, { max_attempts: 3 });
    expect(await at.drain(queue)).toEqual(['before', 'after', 'by SQL', 'grouped']);
    await user.end('commit');
    expect(
      await eventually(async () => {
        const jobs = await at.drain(queue);
        expect(jobs.length).toBeGreaterThan(0);
        return jobs;
      }),
    ).toEqual(['mine', 'held']);
  });

  test('calls with one unique key return one job, in one transaction or in two', async () => {
    const queue = at.newQueue();
    const user = await openTransaction(await databaseOf(here.databaseUrl, queue));
    const ids = async (on: typeof user) =>
      (await on.query<{ id: string }>(`select dibs.enqueue($1, unique_key => 'k') as id`, [queue]))[0]?.id;
    const first = await ids(user);
    expect(await ids(user)).toBe(first);
    await user.end('commit');
    const other = await openTransaction(await databaseOf(here.databaseUrl, queue));
    expect(await ids(other)).toBe(first);
    await other.end('commit');
    expect(await jobsIn(queue)).toHaveLength(1);
  });

  test.each(['repeatable read', 'serializable'])(
    'under %s, a key that was taken after the transaction began is a serialization failure, to be tried again',
    async (level) => {
      const queue = at.newQueue();
      await at.enqueue({ queue });
      const user = await openTransaction(
        await databaseOf(here.databaseUrl, queue),
        `begin isolation level ${level}`,
      );
      await user.query('select from dibs.queues');
      await at.enqueue({ queue, unique_key: 'k' });
      await expect(user.query(`select dibs.enqueue($1, unique_key => 'k')`, [queue])).rejects.toMatchObject({
        code: '40001',
      });
      await user.end('rollback');
      expect(await jobsIn(queue)).toHaveLength(2);
    },
  );
});

test('a queue with max_ready refuses jobs beyond its capacity, also by SQL', async () => {
  const queue = at.newQueue();
  await at.configure(queue, { max_ready: 2 });
  for (let i = 0; i < 2; i++) await enqueue(queue);
  await expect(enqueue(queue)).rejects.toMatchObject({
    code: '53400',
    message: expect.stringMatching(/full/),
  });
  await at.claimOne(queue);
  await enqueue(queue);
  expect(await jobsIn(queue)).toHaveLength(3);
});

test('jobs enqueued by SQL with fairness keys take turns', async () => {
  const queue = at.newQueue();
  for (const [n, key] of ['a', 'a', 'a', 'b', 'b'].entries())
    await enqueue(queue, `payload => '${n}', fairness_key => $2`, [key]);
  const first = await at.claimOne(queue, { wait_seconds: 20 });
  const second = await at.claimOne(queue, { wait_seconds: 20 });
  expect([first.fairness_key, second.fairness_key].sort()).toEqual(['a', 'b']);
});

describe('a role that may use the schema and execute dibs.enqueue', () => {
  const MAY_ENQUEUE = ['grant usage on schema dibs', 'grant execute on function dibs.enqueue'];

  test('can enqueue', async () => {
    const queue = at.newQueue();
    await asRole(MAY_ENQUEUE, async (role) => {
      await role.query(`select dibs.enqueue($1, '1', unique_key => 'k', unique_for_seconds => 60)`, [queue]);
      await role.query(`select dibs.enqueue($1, '2', "group" => 'g', backoff => '{"kind":"linear"}')`, [
        queue,
      ]);
    });
    expect((await at.claim(queue, { limit: 2, wait_seconds: 20 })).length).toBeGreaterThan(0);
    expect(await jobsIn(queue)).toHaveLength(2);
  });

  test('can use no table, no other function and no sequence', async () => {
    const objects = await sql<{ statement: string }>(`
      select format('select from dibs.%I', relname) as statement
      from pg_class where relnamespace = 'dibs'::regnamespace and relkind in ('r', 'S')
      union all
      select format('insert into dibs.%I default values', relname)
      from pg_class where relnamespace = 'dibs'::regnamespace and relkind = 'r'
      union all
      select format('delete from dibs.%I', relname)
      from pg_class where relnamespace = 'dibs'::regnamespace and relkind = 'r'
      union all
      select format('select dibs.%I(%s)', proname, (
        select string_agg('null::' || format_type(type, null), ', ') from unnest(proargtypes) as type))
      from pg_proc
      where pronamespace = 'dibs'::regnamespace and proname not in ('enqueue', 'backoff_seconds')`);
    expect(objects.length).toBeGreaterThan(20);
    await asRole(MAY_ENQUEUE, async (role) => {
      for (const { statement } of objects)
        await expect(role.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    });
  });

  test('cannot enqueue without the grants', async () => {
    await asRole(['grant usage on schema dibs'], async (role) => {
      await expect(role.query(`select dibs.enqueue('q')`)).rejects.toMatchObject({ code: '42501' });
    });
    await asRole([], async (role) => {
      await expect(role.query(`select dibs.enqueue('q')`)).rejects.toMatchObject({ code: '42501' });
    });
  });

  test('can change nothing by objects of its own with the same names', async () => {
    const queue = at.newQueue();
    await asRole(MAY_ENQUEUE, async (role) => {
      await role.query('create temp table queues as select 0 as id, $1::text as name', [queue]);
      await role.query(
        `create function pg_temp.octet_length(text) returns integer language sql as $$ select 99999999 $$`,
      );
      await role.query('set search_path = pg_temp, pg_catalog');
      await role.query('select dibs.enqueue($1)', [queue]);
    });
    expect(await jobsIn(queue)).toHaveLength(1);
  });
});

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

/** What an enqueue gets, with the names of HTTP, and whether it is refused. */
const INPUTS: [string, object, boolean?][] = [
  ['nothing but a queue', {}],
  ['a payload', { payload: { a: [1, 'x', null, 1.5] } }],
  ['a payload of null', { payload: null }],
  ['headers', { headers: { traceparent: '00-4bf9', 'ä"\\': '\ud83d\ude00', '': '' } }],
  ['a header of 1024 characters with a name of 128', { headers: { ['n'.repeat(128)]: '😀'.repeat(1024) } }],
  ['32 headers', { headers: Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`h${i}`, 'x'])) }],
  ['the highest priority', { priority: 100 }],
  ['the lowest priority', { priority: -100 }],
  ['a delay', { delay_seconds: 3600.5 }],
  ['a delay of 0', { delay_seconds: 0 }],
  ['the longest delay', { delay_seconds: 31622400 }],
  ['a run_at', { run_at: '2026-11-30T10:00:00.123+02:00' }],
  ['a run_at in the past', { run_at: '1999-01-01T00:00:00Z' }],
  ['max_attempts', { max_attempts: 1000 }],
  ['a backoff of defaults', { backoff: {} }],
  ['a whole backoff', { backoff: { kind: 'linear', base_seconds: 0.5, max_seconds: 10, jitter: 1 } }],
  [
    'a backoff below a microsecond',
    { backoff: { base_seconds: 1e-7, max_seconds: 31622400, jitter: 1e-300 } },
  ],
  ['a unique key', { unique_key: '😀'.repeat(256) }],
  ['a unique key with a window', { unique_key: 'k', unique_for_seconds: 3600 }],
  ['the payload nested to 1000 levels', { payload: JSON.parse(deep(1000)) }],
  ['a wide payload', { payload: Array.from({ length: 5000 }, () => ({ '"[{\\': ['\\"]', '\\\\'] })) }],
  ['a payload of 1 MiB', { payload: 'x'.repeat(2 ** 20 - 2) }],
  ['a payload of one byte more', { payload: 'x'.repeat(2 ** 20 - 1) }, true],
  ['the payload nested to 1001 levels', { payload: JSON.parse(deep(1001)) }, true],
  ['33 headers', { headers: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`h${i}`, 'x'])) }, true],
  ['a header that is no string', { headers: { a: 1 } }, true],
  ['a header of 1025 characters', { headers: { a: 'x'.repeat(1025) } }, true],
  ['a header with a name of 129 characters', { headers: { ['n'.repeat(129)]: '' } }, true],
  ['a NUL in a header', { headers: { a: '\0' } }, true],
  ['headers that are a list', { headers: ['a'] }, true],
  ['priority 101', { priority: 101 }, true],
  ['priority -101', { priority: -101 }, true],
  ['a negative delay', { delay_seconds: -0.1 }, true],
  ['a delay too long', { delay_seconds: 31622400.1 }, true],
  ['a delay beside a run_at', { delay_seconds: 0, run_at: '2026-11-30T10:00:00Z' }, true],
  ['a run_at too far away', { run_at: '2999-11-30T10:00:00Z' }, true],
  ['max_attempts 0', { max_attempts: 0 }, true],
  ['max_attempts 1001', { max_attempts: 1001 }, true],
  ['an unknown backoff', { backoff: { kind: 'cubic' } }, true],
  ['a backoff with another field', { backoff: { factor: 2 } }, true],
  ['a backoff with a text for a number', { backoff: { base_seconds: '1' } }, true],
  ['a backoff with null', { backoff: { jitter: null } }, true],
  ['a jitter above 1', { backoff: { jitter: 1.1 } }, true],
  ['a negative base', { backoff: { base_seconds: -1 } }, true],
  ['a backoff that is no object', { backoff: [1] }, true],
  ['an empty unique key', { unique_key: '' }, true],
  ['a unique key of 257 characters', { unique_key: 'x'.repeat(257) }, true],
  ['a window without a key', { unique_for_seconds: 1 }, true],
  ['a negative window', { unique_key: 'k', unique_for_seconds: -1 }, true],
];

describe('enqueues the same as POST /jobs:', () => {
  const TYPES: Record<string, string> = { payload: 'json', headers: 'json', backoff: 'json' };

  const bySql = (queue: string, input: object) => {
    const entries = Object.entries(input);
    const given = entries
      .map(([name], i) => `"${name}" => $${i + 2}${TYPES[name] ? `::${TYPES[name]}` : ''}`)
      .join(', ');
    return enqueue(
      queue,
      given,
      entries.map(([name, value]) => (TYPES[name] ? JSON.stringify(value) : value)),
    );
  };

  /** The row of the only job, without the columns that must differ. Its times count from its enqueue. */
  async function row(queue: string, { run_at }: { run_at?: string }) {
    return onAll(
      here.databaseUrl,
      `select
         to_jsonb(j) - array['id', 'queue_id', 'position', 'created_at', 'run_at', 'expires_at', 'payload'] as columns,
         md5(j.payload::text) as payload,
         case when $2::timestamptz > now() then j.run_at::text else (j.run_at - j.created_at)::text end as ready_at,
         j.expires_at - j.created_at as expiry,
         round(extract(epoch from w.until - j.created_at)) as window
       from dibs.queues q
       join dibs.jobs j on j.queue_id = q.id
       left join dibs.unique_windows w on w.queue_id = q.id and w.job_id = j.id
       where q.name = $1`,
      [queue, run_at ?? null],
    );
  }

  test.each(INPUTS.filter(([, , refused]) => !refused))('%s', async (_, input) => {
    const [viaHttp, viaSql] = [at.newQueue(), at.newQueue()];
    await at.enqueue({ queue: viaHttp, ...input });
    await bySql(viaSql, input);
    const [expected, found] = [await row(viaHttp, input), await row(viaSql, input)];
    expect(expected).toHaveLength(1);
    expect(found).toEqual(expected);
  });

  test.each(INPUTS.filter(([, , refused]) => refused))(
    '%s is refused, and creates no queue',
    async (_, input) => {
      const [viaHttp, viaSql] = [at.newQueue(), at.newQueue()];
      const answer = await here.call('POST', '/jobs', { queue: viaHttp, ...input });
      expect([400, 413]).toContain(answer.status);
      await expect(bySql(viaSql, input)).rejects.toMatchObject({ code: expect.stringMatching(/^22/) });
      expect(await sql('select from dibs.queues where name = any ($1)', [[viaHttp, viaSql]])).toEqual([]);
    },
  );

  test('a queue name is accepted or refused as by POST /jobs', async () => {
    for (const queue of ['', 'a b', 'ä', 'x'.repeat(129), 'a\n', null]) {
      expect((await here.call('POST', '/jobs', { queue })).status).toBe(400);
      await expect(sql('select dibs.enqueue($1)', [queue])).rejects.toMatchObject({
        code: '22023',
        message: 'queue must be 1 to 128 of A-Z a-z 0-9 . _ : -',
      });
    }
    const longest = `A-z0._:${'x'.repeat(121)}`;
    await enqueue(longest);
    expect(await jobsIn(longest)).toHaveLength(1);
  });

  test('an argument that is NULL takes its default, or that of the configured queue', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_attempts: 9 });
    await enqueue(queue);
    await enqueue(
      queue,
      `null, null, null, null, null, null, null, unique_key => null, unique_for_seconds => null, "group" => null`,
    );
    for (const job of await at.claim(queue, { limit: 2 }))
      expect(job).toMatchObject({ max_attempts: 9, priority: 0, headers: {}, payload: null });
  });

  test('a refusal has no SQLSTATE but 22023', async () => {
    const queue = at.newQueue();
    const refused = [
      ...['"\\u0000"', '"a\\u0000b"', '"\\ud83d"', '"\\ude00"', '"\\ude00\\ud83d"'].flatMap((text) => [
        `headers => '{"a":${text}}'`,
        `headers => '{${text}:"a"}'`,
        `backoff => '{"kind":${text}}'`,
        `backoff => '{${text}:1}'`,
        `backoff => '{"jitter":${text}}'`,
      ]),
      ...['1e200000', '-1e200000', '1e308', '1e400', '-1'].map((n) => `backoff => '{"base_seconds":${n}}'`),
      `backoff => '{"max_seconds":1e200000}'`,
      `backoff => '{"jitter":1e200000}'`,
      `backoff => '{"1e200000":1e200000}'`,
      ...['delay_seconds', 'expires_in_seconds'].flatMap((name) =>
        ['NaN', 'Infinity', '-Infinity', '1e308'].map((n) => `${name} => '${n}'`),
      ),
      `unique_key => 'k', unique_for_seconds => 'NaN'`,
      `run_at => 'infinity'`,
      `priority => 2147483647`,
      `max_attempts => -2147483648`,
    ];
    for (const given of refused)
      await expect(enqueue(queue, given), given).rejects.toMatchObject({ code: '22023' });
    expect(await sql('select from dibs.queues where name = $1', [queue])).toEqual([]);
  });

  test('what only a JSON text can hold is kept in a payload', async () => {
    const queue = at.newQueue();
    for (const text of ['"\\u0000"', '"\\ud83d"', '1e200000', '{"\\ude00":1e-200000}']) {
      const id = await enqueue(queue, `payload => '${text}'`);
      expect((await here.call('GET', `/jobs/${id}`)).text).toContain(`"payload":${text}`);
    }
  });

  test('a refusal names the argument', async () => {
    await expect(enqueue('q', 'priority => 101')).rejects.toMatchObject({
      code: '22023',
      message: 'priority must be from -100 to 100',
    });
    await expect(enqueue('q', `backoff => '{"jitter":2}'`)).rejects.toMatchObject({
      code: '22023',
      message: 'backoff: jitter must be from 0 to 1',
    });
  });
});
