import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { joined } from '../../src/databases/joined.ts';
import { exportTo } from '../../src/transfer/exportTo.ts';
import { importFrom } from '../../src/transfer/importFrom.ts';
import { importJobs } from '../../src/transfer/importJobs.ts';
import { withSource } from '../../src/transfer/readSource.ts';
import {
  createDatabase,
  createEmptyDatabase,
  createOtherDatabase,
  onServer,
  openClient,
} from '../support/database.ts';
import { bearer } from '../support/keys.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { type Service, startService } from '../support/service.ts';
import { fill, JOB_COLUMNS, PAYLOADS } from '../support/transferred.ts';
import { until } from '../support/until.ts';

interface Dibs {
  url: string;
  others: { name: string; url: string }[];
}

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let source: Dibs;
let file: string;
let key: { authorization: string };
let leased: { id: string; lease_token: string };
/** Jobs on their way, in the order of their batch: id and payload. */
let onTheirWay: { id: string; queue: string; payload: string }[];
const dropAll: (() => Promise<unknown>)[] = [];
const undo: (() => Promise<unknown>)[] = [];

const noProgress = () => undefined;
const urls = ({ url, others }: Dibs) => [url, ...others.map((other) => other.url)];
const urlIn = (dibs: Dibs, name: string) => dibs.others.find((other) => other.name === name)?.url ?? dibs.url;

async function create(names: string[], drops = undo): Promise<Dibs> {
  const home = await createDatabase();
  drops.push(home.drop);
  const others = [];
  for (const name of names) {
    const made = await createOtherDatabase();
    drops.push(made.drop);
    others.push({ name, url: made.url });
  }
  return { url: home.url, others };
}

const open = ({ url, others }: Dibs): Promise<Service> =>
  startService({
    databaseUrl: url,
    others: Object.fromEntries(others.map((other) => [other.name, other.url])),
  });

async function serving(dibs: Dibs): Promise<Service> {
  const service = await open(dibs);
  undo.push(service.stop);
  return service;
}

async function exported(dibs: Dibs, to: string, withKeys = true): Promise<string> {
  const path = join(directory.path, to);
  const out = createWriteStream(path);
  await exportTo(out, { ...dibs, withKeys, progress: noProgress });
  out.end();
  await finished(out);
  return path;
}

async function imported(dibs: Dibs, path: string, newIds = false) {
  await joined(dibs.url, dibs.others);
  return importFrom(createReadStream(path), { ...dibs, newIds, progress: noProgress });
}

/** Rows of all databases, by a statement that gives each as a text. */
async function rowsOf(dibs: Dibs, text: string): Promise<string[]> {
  const rows = [];
  for (const url of urls(dibs)) rows.push(...(await onServer<{ row: string }>(url, text)));
  return rows.map(({ row }) => row).sort();
}

/** All that is exported of the jobs. Of the positions, only the order counts. */
const jobsOf = (dibs: Dibs, but: string[] = []) =>
  rowsOf(
    dibs,
    `select row_to_json(line)::text as row
     from (
       select ${JOB_COLUMNS}, rank() over (partition by queue_id order by position)
       from dibs.jobs where id <> all ('{${but.join()}}')
     ) as line`,
  );
const queuesOf = (dibs: Dibs) =>
  rowsOf(
    dibs,
    "select (to_jsonb(q) - 'backoff' || jsonb_build_object('b', backoff::text))::text as row from dibs.queues q",
  );
const tableOf = (dibs: Dibs, table: string) =>
  rowsOf(dibs, `select (to_jsonb(t) - 'revision')::text as row from dibs.${table} t`);

/** In which database each queue is. */
async function places(dibs: Dibs): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of ['home', ...dibs.others.map((other) => other.name)])
    for (const row of await onServer<{ name: string }>(urlIn(dibs, name), 'select name from dibs.queues'))
      found[row.name] = name;
  return found;
}

const QUEUES = ['exact', 'kept', 'next', 'order', 'grouped', 'fair', 'unique', 'halted', 'tick'];

/** A batch whose first queue is in home, while nothing can arrive in the others. */
async function leaveOnTheirWay(service: Service): Promise<typeof onTheirWay> {
  const held = [];
  for (const { url } of source.others) {
    const client = await openClient(url);
    await client.query('begin; lock table dibs.relay_arrivals in exclusive mode');
    held.push(client);
  }
  const jobs = [
    { queue: 'here', payload: 'decides' },
    { queue: 'late-a', payload: 'first' },
    { queue: 'late-a', payload: 'second' },
    { queue: 'late-a', payload: 'delayed', delay_seconds: 3600 },
    { queue: 'late-a', payload: 'urgent', priority: 9, headers: { a: 'b' } },
    { queue: 'late-b', payload: 'of a group, 1', group: 'g' },
    { queue: 'late-b', payload: 'of a group, 2', group: 'g' },
    { queue: 'uncreated.b', payload: 'of a queue that nobody has created yet' },
  ];
  const { status, body } = await service.call('POST', '/jobs/batch', { jobs }, key);
  expect(status).toBe(201);
  await service.stop();
  for (const client of held) await client.end();
  return body.jobs.map((job: { id: string; queue: string }, i: number) => ({
    ...job,
    payload: jobs[i]?.payload,
  }));
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  source = await create(['a', 'b'], dropAll);
  const service = await open(source);
  const names = ['home', 'a', 'b'];
  const put = (queue: string, database: string) => service.call('PUT', `/queues/${queue}`, { database });
  for (const [i, queue] of QUEUES.entries()) await put(queue, names[i % 3] as string);
  for (const [queue, database] of [
    ['here', 'home'],
    ['late-a', 'a'],
    ['late-b', 'b'],
    ['uncreated.else', 'b'],
  ] as const)
    await put(queue, database);
  leased = await fill(service.call);
  await until(async () => (await rowsOf(source, 'select id::text as row from dibs.relay')).length === 0);
  key = bearer((await service.call('POST', '/keys', { name: 'shop', scopes: ['admin'] })).body.key);
  onTheirWay = (await leaveOnTheirWay(service)).slice(1);
  file = await exported(source, 'all.ndjson');
});
afterAll(async () => {
  for (const drop of dropAll.reverse()) await drop();
  await directory.remove();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const idsOnTheirWay = () => onTheirWay.map(({ id }) => id);

/** What is the same in both, but for the jobs on their way, which have arrived in `to`. */
async function expectSame(from: Dibs, to: Dibs, arrived = idsOnTheirWay()): Promise<void> {
  expect(await jobsOf(to, arrived)).toEqual(await jobsOf(from, arrived));
  const known = JSON.parse(`[${(await queuesOf(from)).join()}]`).map(({ name }: { name: string }) => name);
  const those = (rows: string[]) => rows.filter((row) => known.includes(JSON.parse(row).name));
  expect(those(await queuesOf(to))).toEqual(await queuesOf(from));
  for (const table of ['unique_windows', 'schedules', 'access_keys'])
    expect(await tableOf(to, table), table).toEqual(await tableOf(from, table));
}

async function expectArrived(dibs: Dibs): Promise<void> {
  const rows = await rowsOf(
    dibs,
    `select json_build_object('id', id, 'payload', payload, 'state', state)::text as row from dibs.jobs
     where id = any ('{${idsOnTheirWay().join()}}') order by position`,
  );
  const found = rows.map((row) => JSON.parse(row));
  expect(found.map(({ id, payload }) => [id, payload]).sort()).toEqual(
    onTheirWay.map(({ id, payload }) => [id, payload]).sort(),
  );
  const stateOf = (text: string) => found.find(({ payload }) => payload === text)?.state;
  // Groups get their heads from a replica, after the end of the import.
  expect(['first', 'delayed', 'of a group, 1', 'of a group, 2'].map(stateOf)).toEqual([
    'ready',
    'scheduled',
    'blocked',
    'blocked',
  ]);
}

describe('three databases, one, and three', () => {
  test('what is exported of three is the same in one, and then in three others', async () => {
    expect(new Set(Object.values(await places(source)))).toEqual(new Set(['home', 'a', 'b']));
    expect(await rowsOf(source, 'select id::text as row from dibs.relay')).toHaveLength(onTheirWay.length);
    const one = await create([]);
    const jobs = (await rowsOf(source, 'select id::text as row from dibs.jobs')).length + onTheirWay.length;
    expect(await imported(one, file)).toEqual({ jobs, skipped: 0, before: 0 });
    await expectSame(source, one);
    await expectArrived(one);
    expect(await rowsOf(one, 'select source as row from dibs.relay_arrivals')).toEqual([]);

    const three = await create(['x', 'y']);
    const again = await exported(one, 'one.ndjson');
    expect(await imported(three, again)).toEqual({ jobs, skipped: 0, before: 0 });
    await expectSame(one, three, []);
    const spread = await places(three);
    expect(new Set(Object.values(spread))).toEqual(new Set(['home', 'x', 'y']));
    expect(spread['uncreated.b']).toBe(spread['uncreated.else']);
    const placed = await onServer<{ name: string; database: string }>(
      three.url,
      'select name, database from dibs.placements',
    );
    expect(Object.fromEntries(placed.map(({ name, database }) => [name, database]))).toEqual(spread);
    expect(
      await onServer(three.url, "select count::integer from dibs.audit where verb = 'importJobs'"),
    ).toEqual([{ count: jobs }]);
  });

  test('three serve as they did: order, leases, groups, unique keys, schedules, and what was on its way', async () => {
    const three = await create(['x', 'y']);
    await imported(three, file);
    await expectArrived(three);
    const { call, errors } = await serving(three);
    const as = (method: 'GET' | 'POST', path: string, body?: unknown) => call(method, path, body, key);
    const claim = async (queue: string, limit = 20) => {
      const wish = { queues: [queue], limit, payload_format: 'text', wait_seconds: 10 };
      const answer = await as('POST', '/jobs/claim', wish);
      expect(answer, answer.text).toMatchObject({ status: 200 });
      return answer.body.jobs;
    };
    const texts = async (queue: string) =>
      (await claim(queue)).map((job: { payload_text: string }) => job.payload_text);
    expect(await texts('exact')).toEqual(PAYLOADS);
    expect(await texts('order')).toEqual(['"first"', '"second"', '"last"']);
    expect(await texts('late-a')).toEqual(['"urgent"', '"first"', '"second"']);
    expect(await texts('late-b')).toEqual(['"of a group, 1"']);
    expect(
      (await as('POST', `/jobs/${leased.id}/ack`, { lease_token: leased.lease_token, result: 1 })).status,
    ).toBe(200);
    for (const unique_key of ['waiting', 'window'])
      expect((await as('POST', '/jobs', { queue: 'unique', unique_key })).body.deduplicated).toBe(true);
    expect((await as('GET', '/queues/halted')).body).toMatchObject({ paused: true, counts: { ready: 1 } });
    expect((await as('GET', '/schedules/nightly')).body).toMatchObject({ timezone: 'Europe/Berlin' });
    // No new queue takes a number that is taken.
    for (const queue of ['brand-new-1', 'brand-new-2', 'brand-new-3'])
      expect((await as('POST', '/jobs', { queue })).status).toBe(201);
    expect(errors).toEqual([]);
  });
});

/** A queue in each database of a Dibs, with jobs of these payloads. */
async function queuesInEach(dibs: Dibs, jobs: number): Promise<void> {
  const service = await open(dibs);
  for (const name of ['home', ...dibs.others.map((other) => other.name)]) {
    await service.call('PUT', `/queues/of-${name}`, { database: name });
    await onServer(
      urlIn(dibs, name),
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
       select id, dibs.new_id(id), 'ready', now(), 5, 40, 0, '{}', to_json(n)
       from dibs.queues, generate_series(1, ${jobs}) as n`,
    );
  }
  await service.stop();
}

const counts = (dibs: Dibs) =>
  rowsOf(
    dibs,
    `select json_build_array(name, (select count(*) from dibs.jobs j where j.queue_id = q.id))::text as row from dibs.queues q`,
  );

describe('an import into three databases', () => {
  let large: string;
  const JOBS = 1200;
  beforeAll(async () => {
    const from = await create(['a', 'b']);
    await queuesInEach(from, JOBS);
    large = await exported(from, 'large.ndjson');
    for (const step of undo.splice(0).reverse()) await step();
  });

  const broken = async () => {
    const three = await create(['x', 'y']);
    await joined(three.url, three.others);
    const refuse = 'alter table dibs.jobs add constraint refused check (payload::text <> $$700$$)';
    await onServer(urlIn(three, 'y'), refuse);
    await expect(imported(three, large)).rejects.toThrow(/^Line \d+ cannot be put in: .*refused/);
    await onServer(urlIn(three, 'y'), 'alter table dibs.jobs drop constraint refused');
    return three;
  };

  test('that broke off goes on in each where it stopped: no job is lost, doubled, or back though it is done', async () => {
    const three = await broken();
    const half = (await rowsOf(three, 'select id::text as row from dibs.jobs')).length;
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(3 * JOBS);
    expect(await rowsOf(three, 'select paused::text as row from dibs.queues')).toEqual(Array(3).fill('true'));
    const done = await onServer<{ queue_id: number }>(
      three.url,
      'delete from dibs.jobs where id = (select id from dibs.jobs order by id limit 1) returning queue_id',
    );
    expect(done).toHaveLength(1);
    // The header, the queues, and all jobs that are in.
    expect(await imported(three, large)).toEqual({ jobs: 3 * JOBS, skipped: 0, before: half + 4 });
    expect(await rowsOf(three, 'select id::text as row from dibs.jobs')).toHaveLength(3 * JOBS - 1);
    expect(await rowsOf(three, 'select paused::text as row from dibs.queues')).toEqual(
      Array(3).fill('false'),
    );
    expect((await imported(three, large)).before).toBe(3 * JOBS + 5);
  });

  test('that broke off does not go on where a queue was deleted or moved meanwhile', async () => {
    const three = await broken();
    await onServer(urlIn(three, 'x'), 'delete from dibs.jobs');
    const [gone] = await onServer<{ id: number }>(urlIn(three, 'x'), 'delete from dibs.queues returning id');
    await onServer(three.url, 'delete from dibs.placements where queue_id = $1', [gone?.id]);
    await onServer(three.url, "update dibs.databases set accepts_queues = name = 'y'");
    await expect(imported(three, large)).rejects.toThrow('deleted, or moved from or to "y"');
  });

  test('leaves an existing queue where it is, and puts new ones where the rule says', async () => {
    const three = await create(['x', 'y']);
    const service = await open(three);
    for (let i = 0; i < 4; i++) await service.call('PUT', `/queues/before${i}`, { database: 'home' });
    await service.call('PUT', '/queues/of-home', { database: 'y' });
    await service.stop();
    await expect(imported(three, large)).rejects.toThrow(/Queues of this database are in the way: .*of-home/);
    await imported(three, large, true);
    expect((await places(three))['of-home']).toBe('y');
    expect(await counts(three)).toEqual([
      ...[0, 1, 2, 3].map((i) => `["before${i}", 0]`),
      ...['of-a', 'of-b', 'of-home'].map((name) => `["${name}", ${JOBS}]`),
    ]);
    const wrong = await rowsOf(
      three,
      `select id::text as row from dibs.jobs where right(id::text, 6) <> lpad(to_hex(queue_id), 6, '0')`,
    );
    expect(wrong).toEqual([]);
    await expect(imported(three, file, true)).resolves.toBeDefined();
  });
});

describe('queues that share a batch', () => {
  const BATCH = {
    queue: 'first',
    name: 'shared',
    jobs: [{ queue: 'first' }, { queue: 'second' }],
    on_end: { queue: 'third', payload: 'after' },
    closed: true,
  };
  let shared: string;
  beforeAll(async () => {
    const one = await create([]);
    const service = await open(one);
    for (const queue of ['alone', 'first', 'second', 'third'])
      await service.call('POST', '/jobs', { queue, delay_seconds: 3600 });
    expect((await service.call('POST', '/batches', BATCH)).status).toBe(201);
    await service.stop();
    shared = await exported(one, 'shared.ndjson');
    for (const step of undo.splice(0).reverse()) await step();
  });

  test.each([false, true])('go into one database, and the batch goes on (--new-ids: %s)', async (newIds) => {
    const three = await create(['x', 'y']);
    await imported(three, shared, newIds);
    const { alone, first, ...others } = await places(three);
    expect(others).toEqual({ second: first, third: first });
    expect(alone).not.toBe(first);
    const { call } = await serving(three);
    for (const queue of ['first', 'second']) {
      const [{ id, lease_token }] = (await call('POST', '/jobs/claim', { queues: [queue] })).body.jobs;
      expect((await call('POST', `/jobs/${id}/ack`, { lease_token })).status).toBe(200);
    }
    const { jobs } = (await call('POST', '/jobs/claim', { queues: ['third'] })).body;
    expect(jobs).toMatchObject([{ payload: 'after' }]);
    const { batches } = (await call('GET', '/batches')).body;
    expect(batches).toMatchObject([{ name: 'shared', state: 'succeeded' }]);
  });

  test('and have places in several are refused, and nothing is written', async () => {
    const three = await create(['x', 'y']);
    const service = await open(three);
    for (const [queue, database] of [
      ['second', 'x'],
      ['third', 'y'],
    ])
      await service.call('PUT', `/queues/${queue}`, { database });
    await service.stop();
    await expect(imported(three, shared, true)).rejects.toThrow(
      'The queues second (in x) and third (in y) have jobs of batches that have not ended',
    );
    expect(await places(three)).toEqual({ second: 'x', third: 'y' });
  });
});

describe('an export of three databases', () => {
  test('names the one that is away, and so does an import', async () => {
    const away = { ...source, others: source.others.map((other) => ({ ...other })) };
    Object.assign(away.others[1] as object, { url: 'postgres://127.0.0.1:1/dibs' });
    await expect(exported(away, 'away')).rejects.toThrow(/^The database "b" cannot serve: .*ECONNREFUSED/);
    await expect(imported(away, file)).rejects.toThrow(/^The database "b" cannot serve: .*ECONNREFUSED/);
  });

  test('needs all that home knows, each by its own name', async () => {
    const [a, b] = source.others as [Dibs['others'][0], Dibs['others'][0]];
    await expect(exported({ ...source, others: [a] }, 'lacks')).rejects.toThrow(
      'This Dibs has the database "b"',
    );
    const swapped = [
      { name: 'a', url: b.url },
      { name: 'b', url: a.url },
    ];
    await expect(exported({ ...source, others: swapped }, 'swapped')).rejects.toThrow(
      'DATABASE_URL_A leads to the database "b" of this Dibs, and DATABASE_URL_B is for that one.',
    );
    await expect(exported({ url: a.url, others: [] }, 'no-home')).rejects.toThrow('Give the URL of its home');
  });

  test('leaves out what has arrived, though the database that it comes from does not know that yet', async () => {
    const two = await create(['a']);
    await queuesInEach(two, 1);
    const [queue] = await onServer<{ id: number }>(urlIn(two, 'a'), 'select id from dibs.queues');
    await onServer(
      two.url,
      `with waits as (
         insert into dibs.relay (id, queue_id, queue, job, bytes)
         select dibs.new_id($1), $1, 'of-a',
           json_populate_record(null::dibs.new_job, '{"delay_seconds":0,"priority":0,"max_attempts":0,"headers":"{}","payload":"7"}'), 3
         returning place
       )
       insert into dibs.relay_parcels (queue_id, number, places) select $1, 5, array_agg(place) from waits`,
      [queue?.id],
    );
    const arrived = (number: number) =>
      onServer(
        urlIn(two, 'a'),
        `insert into dibs.relay_arrivals values ($1, 'home', $2) on conflict (queue_id, source) do update set number = excluded.number`,
        [queue?.id, number],
      );
    const relayed = async (to: string) =>
      readFileSync(await exported(two, to), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{"kind":"relay"')).length;
    await arrived(4);
    expect(await relayed('waits')).toBe(1);
    await arrived(5);
    expect(await relayed('arrived')).toBe(0);
  });

  test('takes no queue that is between two databases', async () => {
    const two = await create(['a']);
    await queuesInEach(two, 1);
    const [queue] = await onServer<{ id: number }>(urlIn(two, 'a'), 'select id from dibs.queues');
    await onServer(two.url, 'alter table dibs.queues disable trigger queues_placed');
    await onServer(two.url, "insert into dibs.queues (id, name) values ($1, 'of-a')", [queue?.id]);
    await expect(exported(two, 'between')).rejects.toThrow(
      'The queue of-a is in the database "home", and its place is another one.',
    );
  });

  test('holds no arrival up: one moment is enough', async () => {
    const held = await openClient(urlIn(source, 'a'));
    await held.query('begin; lock table dibs.relay_arrivals in row exclusive mode');
    await expect(exported(source, 'held')).rejects.toThrow('Jobs from other databases arrive in "a"');
    await held.end();
    await exported(source, 'free');
  });
});

test('dibs import --from spreads the jobs of another queue, and takes none twice, also when a queue moved in between', async () => {
  const theirs = await createEmptyDatabase();
  undo.push(theirs.drop);
  await onServer(theirs.url, readFileSync('test/transfer/oban.sql', 'utf8'));
  await onServer(
    theirs.url,
    `insert into oban_jobs (queue, worker, args)
     select queue, 'W', jsonb_build_object('n', n)
     from unnest(array['one', 'two', 'three']) as queue, generate_series(1, 5) as n`,
  );
  const three = await create(['x', 'y']);
  await joined(three.url, three.others);
  const take = () =>
    withSource({ from: 'oban', url: theirs.url }, (reader) =>
      importJobs(reader, { ...three, queueOf: (queue) => queue, progress: noProgress }),
    );
  expect(await take()).toEqual({ jobs: 15, before: 0 });
  expect(await counts(three)).toEqual(['one', 'three', 'two'].map((name) => `["${name}", 5]`));
  expect(new Set(Object.values(await places(three)))).toEqual(new Set(['home', 'x', 'y']));
  // Each queue goes to the next database, without its jobs.
  for (const url of urls(three)) await onServer(url, 'delete from dibs.jobs');
  for (const url of urls(three)) await onServer(url, 'delete from dibs.queues');
  await onServer(
    three.url,
    `delete from dibs.placements where database = 'home';
     update dibs.placements set database = case database when 'x' then 'y' else 'x' end`,
  );
  expect(await take()).toEqual({ jobs: 0, before: 15 });
});
