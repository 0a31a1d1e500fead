import { afterEach, expect, test } from 'vitest';
import { joined } from '../../src/databases/joined.ts';
import { checkIn, type Registry, readRegistry } from '../../src/databases/registry.ts';
import { StartError } from '../../src/errors.ts';
import { type Database as Db, openDatabase } from '../../src/postgres/pool.ts';
import { type createDatabase, createOtherDatabase, onServer } from '../support/database.ts';
import { startService } from '../support/service.ts';

type Created = Awaited<ReturnType<typeof createDatabase>>;
const created: Created[] = [];
async function databases(count: number): Promise<[string, ...string[]]> {
  const made = await Promise.all([
    createOtherDatabase(),
    ...Array(count - 1)
      .fill(0)
      .map(createOtherDatabase),
  ]);
  created.push(...made);
  return made.map(({ url }) => url) as [string, ...string[]];
}
afterEach(async () => {
  for (const database of created.splice(0)) await database.drop();
});

/** Starts a replica, and stops it at once. */
async function start(home: string, others: Record<string, string>): Promise<void> {
  const service = await startService({ databaseUrl: home, others });
  await service.stop();
}

async function readingRegistry(home: string, given: string[]): Promise<unknown> {
  const db = openDatabase(home, 2);
  return readRegistry(db, given).finally(() => db.close());
}

test('a database is added by a replica that knows it, and queues that are there stay at home', async () => {
  const [home, a] = (await databases(2)) as [string, string];
  await onServer(home, `select dibs.enqueue('before')`);
  await start(home, { a });
  expect(await onServer(home, 'select name, queues from dibs.databases order by name')).toEqual([
    { name: 'a', queues: 0 },
    { name: 'home', queues: 1 },
  ]);
  expect(await onServer(home, 'select name, database from dibs.placements')).toEqual([
    { name: 'before', database: 'home' },
  ]);
  await start(home, { a });
});

test('a replica that lacks a database which home knows does not start', async () => {
  const [home, a, b] = (await databases(3)) as [string, string, string];
  await start(home, { a, b });
  for (const given of [[], ['b']])
    await expect(readingRegistry(home, given)).rejects.toThrow(
      new StartError(
        'This Dibs has the database "a", and DATABASE_URL_A is not set. Every replica needs it.',
      ),
    );
});

test('two names for one database are refused, and so are names that are exchanged', async () => {
  const [home, a, b] = (await databases(3)) as [string, string, string];
  await expect(start(home, { a, b: a })).rejects.toThrow(
    'DATABASE_URL_B leads to the database "a" of this Dibs, and DATABASE_URL_A is for that one.',
  );
  await expect(start(home, { a: home })).rejects.toThrow('DATABASE_URL_A and DATABASE_URL lead to the same');
  await start(home, { a, b });
  await expect(start(home, { a: b, b: a })).rejects.toThrow(
    'DATABASE_URL_A leads to the database "b" of this Dibs, and DATABASE_URL_B is for that one.',
  );
});

test('of replicas that start at once with different databases of one name, the first one starts', async () => {
  const urls = await databases(4);
  const [home, a, other, second] = urls.map((url) => openDatabase(url, 2)) as [Db, Db, Db, Db];
  try {
    const [first, later, last] = await Promise.all([1, 2, 3].map(() => readRegistry(home)));
    await checkIn(home, first as Registry, 'a', a);
    await expect(checkIn(home, later as Registry, 'a', other)).rejects.toThrow(
      new StartError('DATABASE_URL_A leads to another database than before.'),
    );
    await expect(checkIn(home, last as Registry, 'b', a)).rejects.toThrow(StartError);
    // It may still become another one.
    await checkIn(home, later as Registry, 'b', other);
    await checkIn(home, last as Registry, 'a', a);

    const both = ['c', 'd'].map(async (name) => checkIn(home, await readRegistry(home), name, second));
    const settled = await Promise.allSettled(both);
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  } finally {
    await Promise.all([home, a, other, second].map((db) => db.close()));
  }
  expect(await onServer(urls[0], `select name from dibs.databases where name in ('a', 'b')`)).toHaveLength(2);
});

test('a URL that leads to another database than before is refused', async () => {
  const [home, a, other] = (await databases(3)) as [string, string, string];
  await start(home, { a });
  await expect(start(home, { a: other })).rejects.toThrow(
    'DATABASE_URL_A leads to another database than before.',
  );
});

test('a database of another Dibs is refused, used alone or beside others', async () => {
  const [home, second, a, alone] = (await databases(4)) as [string, string, string, string];
  await start(home, { a });
  await expect(start(second, { a })).rejects.toThrow('DATABASE_URL_A leads to a database of another Dibs.');
  await onServer(alone, `select dibs.enqueue('mail')`);
  await expect(start(second, { b: alone })).rejects.toThrow('it has queues or access keys');
  await expect(readingRegistry(a, [])).rejects.toThrow('DATABASE_URL leads to the database "a" of a Dibs');
});

test('a PostgreSQL below version 14 is refused, and named', async () => {
  const [home, a] = (await databases(2)) as [string, string];
  // The server is what it is. A function before the catalog says otherwise.
  await onServer(
    a,
    `create schema fake;
     create function fake.current_setting(name text) returns text language sql
     as $$ select case name when 'server_version_num' then '130009' else pg_catalog.current_setting(name) end $$;
     do $do$ begin execute format('alter database %I set search_path = fake, pg_catalog', current_database()); end $do$`,
  );
  await expect(joined(home, [{ name: 'a', url: a }])).rejects.toThrow(
    new StartError('The database "a": Dibs needs PostgreSQL 14 or newer.'),
  );
});

test('replicas that start at once with a new database register it once', async () => {
  const [home, a, b] = (await databases(3)) as [string, string, string];
  await Promise.all([1, 2, 3].map(() => start(home, { a, b })));
  expect(await onServer(home, 'select name from dibs.databases order by name')).toEqual([
    { name: 'a' },
    { name: 'b' },
    { name: 'home' },
  ]);
});
