import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { columnNames, columnOf, KEPT_JOB, NEW_JOB, nameOf, otherFields } from '../../src/jobFields.ts';
import { exportTo } from '../../src/transfer/exportTo.ts';
import { importFrom } from '../../src/transfer/importFrom.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { type Service, startService } from '../support/service.ts';

/*
 * Two jobs have a value in every column of dibs.jobs, whatever columns there are: one that is leased, one that is completed.
 * What is missing in an answer or an export is noticed, though nobody thought of it.
 */

const QUEUE = 7;
const idOf = (state: string) => `01a1f5c2-77aa-7000-8000-00000${state === 'leased' ? 1 : 2}00000${QUEUE}`;
const PAYLOAD = '{ "to" : "ada" }';
const BATCH = `01a1f5c2-77aa-7000-8000-00000900000${QUEUE}`;

interface Described {
  name: string;
  type: string;
  isOptional: boolean;
}

const VALUES: Record<string, (column: string) => unknown> = {
  text: (column) => `the ${column}`,
  uuid: () => '6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d',
  smallint: () => 3,
  integer: () => 4,
  bigint: () => 5,
  'double precision': () => 2.5,
  boolean: () => true,
  'timestamp with time zone': () => '2030-01-02T03:04:05.678Z',
  json: (column) => `{ "is" : "${column}" }`,
};

const valuesOf = (columns: Described[], state: string) => {
  const own: Record<string, unknown> = {
    queue_id: QUEUE,
    id: idOf(state),
    batch_id: BATCH,
    state,
    payload: PAYLOAD,
    payload_bytes: PAYLOAD.length,
    max_attempts: 9,
    ...(state === 'leased'
      ? { finished_at: null, enqueued: null }
      : { lease_expires_at: null, is_head: false }),
  };
  return columns.map(({ name, type }) => (name in own ? own[name] : VALUES[type]?.(name)));
};

/** A queue has a value in every column, and none of them is the default. */
const queueValue = ({ name, type }: Described) =>
  ({
    id: QUEUE,
    name: 'all',
    dead_letter_queue: 'all.dead',
    paused_groups: ['a group'],
    // A replica would see to it at once.
    is_narrowing: false,
    // An import has ended when it is seen.
    is_importing: false,
    backoff: { kind: 'linear', base_seconds: 2, max_seconds: 9, jitter: 0 },
  })[name] ?? VALUES[type]?.(name);

/** So have a batch, and a job that follows it. It belongs to the same batch. */
const batchValue = ({ name, type }: Described) =>
  ({ id: BATCH, batch_id: BATCH, joins: BATCH, queue_id: QUEUE })[name] ?? VALUES[type]?.(name);

const columnsOf = (url: string, table: string) =>
  onServer<Described & Record<string, unknown>>(
    url,
    `select attname as name, format_type(atttypid, atttypmod) as type, not attnotnull as "isOptional"
     from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );

let described: Described[];
let service: Service;
let drop: () => Promise<void>;
let target: string;

const inPostgres = (url: string) =>
  onServer<Record<string, unknown>>(
    url,
    `select ${columnNames.map((c) => `"${c}"::text`).join()} from dibs.jobs order by id`,
  );

beforeAll(async () => {
  service = await startService();
  const url = service.databaseUrl;
  described = await columnsOf(url, 'dibs.jobs');
  const ofQueue = await columnsOf(url, 'dibs.queues');
  const client = await openClient(url);
  const insert = (table: string, columns: Described[], values: unknown[]) =>
    client.query(
      `insert into ${table} (${columns.map(({ name }) => `"${name}"`).join()})
       values (${columns.map((_, i) => `$${i + 1}`).join()})`,
      values,
    );
  await insert('dibs.queues', ofQueue, ofQueue.map(queueValue));
  for (const table of ['dibs.batches', 'dibs.batch_followers']) {
    const columns = await columnsOf(url, table);
    await insert(table, columns, columns.map(batchValue));
  }
  for (const state of ['leased', 'completed'])
    await insert('dibs.jobs', described, valuesOf(described, state));
  await client.end();

  const directory = await temporaryDirectory();
  const file = join(directory.path, 'export');
  const out = createWriteStream(file);
  await exportTo(out, { url, withKeys: false, progress: () => undefined });
  out.end();
  await finished(out);
  const database = await createDatabase();
  target = database.url;
  await importFrom(createReadStream(file), { url: target, newIds: false, progress: () => undefined });
  drop = async () => {
    await database.drop();
    await directory.remove();
  };
});
afterAll(async () => {
  await drop?.();
  await service?.stop();
});

test('each column of dibs.jobs is in src/jobFields.ts, with its type', () => {
  const known = columnNames.map((name) => ({
    name,
    type: columnOf(name).type.replace('timestamptz', 'timestamp with time zone'),
    isOptional: columnOf(name).isOptional ?? false,
  }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  expect([...known].sort(byName)).toEqual([...described].sort(byName));
});

test.each([
  ['dibs.new_job', Object.keys(NEW_JOB)],
  ['dibs.kept_job', KEPT_JOB],
])('the attributes of %s are in src/jobFields.ts, in their order', async (type, fields) => {
  const rows = await onServer<{ name: string }>(
    service.databaseUrl,
    `select attname as name from pg_attribute where attrelid = '${type}'::regclass and attnum > 0 order by attnum`,
  );
  expect(fields).toEqual(rows.map(({ name }) => name));
});

test('an Idempotency-Key keeps each field that the answer of an enqueue shows', () => {
  // A batch is in a column of its own.
  const kept = [...KEPT_JOB, 'moved_to', 'batch'];
  expect(otherFields(Object.fromEntries(kept.map((name) => [name, true])))).toEqual([]);
});

test('the type of kept jobs takes another field while jobs are kept', async () => {
  const client = await openClient(service.databaseUrl);
  try {
    await client.query('begin');
    await client.query(
      `insert into dibs.idempotency_keys (route, key, fingerprint, expires_at, jobs)
       select 'r', 'k', sha256('f'), now(), array[json_populate_record(null::dibs.kept_job, '{ "worker": "ada" }')]`,
    );
    await client.query('alter type dibs.kept_job add attribute tags text[]');
    const { rows } = await client.query(
      `select worker, tags from dibs.idempotency_keys, unnest(jobs) where route = 'r'`,
    );
    expect(rows).toEqual([{ worker: 'ada', tags: null }]);
  } finally {
    await client.end();
  }
});

test('every column of a queue comes through an export and an import', async () => {
  const queues = (url: string) => onServer(url, 'select * from dibs.queues');
  const [queue] = await queues(service.databaseUrl);
  expect(await queues(target)).toEqual([queue]);
  await onServer(target, "insert into dibs.queues (id, name) values (99, 'plain')");
  const [plain] = await onServer<Record<string, unknown>>(target, 'select * from dibs.queues where id = 99');
  const same = Object.keys(plain ?? {}).filter((name) => plain?.[name] === queue?.[name]);
  expect(same, 'a default value shows nothing').toEqual(['is_narrowing', 'is_importing']);
});

test.each(['dibs.batches', 'dibs.batch_followers'])(
  'every column of %s comes through an export and an import',
  async (table) => {
    const rows = (url: string) => onServer(url, `select to_jsonb(t) as row from ${table} t`);
    const [row] = await rows(service.databaseUrl);
    expect(row).toBeDefined();
    expect(await rows(target)).toEqual([row]);
  },
);

describe('every column of a job', () => {
  test('comes through an export and an import, unless it says why it stays', async () => {
    const before = await inPostgres(service.databaseUrl);
    const after = await inPostgres(target);
    const moved = (rows: typeof before) =>
      rows.map((row) => columnNames.filter((name) => !columnOf(name).stays).map((name) => [name, row[name]]));
    expect(before).toHaveLength(2);
    expect(moved(after)).toEqual(moved(before));
    // What stays has reasons: an import makes none of these up.
    for (const name of ['awaited_until', 'claim_id', 'claim_holder', 'lease_seconds'] as const)
      expect(after.map((row) => row[name])).toEqual([null, null]);
  });

  test('is in GET /jobs/{id} with its value, unless it says why it is hidden', async () => {
    const rows = await inPostgres(service.databaseUrl);
    for (const [i, state] of ['leased', 'completed'].entries()) {
      const { body } = await service.call('GET', `/jobs/${idOf(state)}`);
      for (const name of columnNames) {
        const { hidden, type } = columnOf(name);
        if (hidden !== undefined) {
          expect(body, name).not.toHaveProperty(nameOf(name));
          continue;
        }
        expect(body, name).toHaveProperty(nameOf(name));
        const stored = rows[i]?.[name] as string | null;
        const shown = body[nameOf(name)];
        if (name === 'queue_id') expect(shown).toBe('all');
        else if (stored === null) expect(shown, name).toBe(null);
        else if (type === 'json') expect(shown, name).toEqual(JSON.parse(stored));
        else if (type === 'timestamptz') expect(Date.parse(shown), name).toBe(Date.parse(stored));
        else expect(String(shown), name).toBe(stored);
      }
    }
  });
});
