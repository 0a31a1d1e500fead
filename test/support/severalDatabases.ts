import type pg from 'pg';
import { expect, inject } from 'vitest';
import { HOME } from '../../src/config/databases.ts';
import { readRegistry } from '../../src/databases/registry.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createOn, dropWith, onServer, TEMPLATE, urlOf } from './database.ts';
import { until } from './until.ts';

/** `npm run test:databases` runs each service of a test over so many databases. */
const DATABASES = Number(process.env.TEST_DATABASES ?? 1);
const NAMES = ['a', 'b', 'c', 'd'].slice(0, DATABASES - 1);

/** Whether services run over several databases. */
export const SEVERAL = NAMES.length > 0;

/** A configuration that puts a new queue into home: where schedules tick, and where a test speaks to `service.db`. */
export const AT_HOME = SEVERAL ? { database: HOME } : {};

/** What a queue has in its answer only where there are several databases. */
export const PLACED = SEVERAL ? { database: expect.any(String) } : {};

const nameOf = (url: string) => new URL(url).pathname.slice(1);
const placeOf = (url: string) => `${new URL(url).host}/${nameOf(url)}`;
const made = new Map<string, Promise<unknown>>();

/** Home comes last where new queues are placed, so that the only queue of a test is elsewhere. */
const HOME_IS_LAST = `insert into dibs.databases (name, id, created_at)
  select '${HOME}', id, 'infinity' from dibs.this_database on conflict do nothing`;

const besideOf = (url: string, name: string) => `${nameOf(url)}_${name}`;

async function make(url: string): Promise<void> {
  const server = inject('postgresUrl');
  const isOurs = new URL(url).host === new URL(server).host;
  for (const name of NAMES) {
    const database = besideOf(url, name);
    if (isOurs) {
      await createOn(server, database, TEMPLATE);
      dropWith(nameOf(url), database);
      // Copies of the template have its id.
      await onServer(urlOf(server, database), 'update dibs.this_database set id = gen_random_uuid()');
    } else {
      await createOn(url, database);
      await migrate(urlOf(url, database), { serve: [], produce: [] });
    }
  }
  const home = isOurs ? urlOf(server, nameOf(url)) : url;
  const [found] = await onServer<{ databases: string | null }>(
    home,
    "select to_regclass('dibs.databases') as databases",
  );
  if (found?.databases) await onServer(home, HOME_IS_LAST);
}

/** The databases beside the one of this URL, the same ones for all replicas of it. None, unless the run is about several. */
export async function othersOf(url: string): Promise<Record<string, string>> {
  if (!SEVERAL) return {};
  const done = made.get(placeOf(url)) ?? make(url);
  made.set(placeOf(url), done);
  await done;
  return Object.fromEntries(NAMES.map((name) => [name, urlOf(url, besideOf(url, name))]));
}

/** Databases beside this home, open, as an engine takes them. `change`: what stands before each. */
export async function openOthers(
  home: Database,
  urls: Record<string, string>,
  change: (db: Database) => Database = (db) => db,
) {
  const list = Object.entries(urls).map(([name, url]) => ({
    name,
    db: change(openDatabase(url, 10)),
    listenUrl: url,
    migrate: async () => undefined,
  }));
  return {
    others: list.length > 0 ? { list, registry: await readRegistry(home, Object.keys(urls)) } : undefined,
    pools: list.map(({ db }) => db),
    async close() {
      for (const { db } of list) await db.close();
    },
  };
}

/** Where a queue lives: the URL of its database, of those of this home. Home itself, while the queue has no place. */
export async function databaseOf(url: string, queue: string): Promise<string> {
  if (!SEVERAL) return url;
  const [place] = await onServer<{ database: string }>(
    url,
    'select database from dibs.placements where name = $1',
    [queue],
  );
  return place && place.database !== HOME ? urlOf(url, besideOf(url, place.database)) : url;
}

/** Runs a statement in the database of a queue. */
export const onQueue = async <Row extends pg.QueryResultRow>(
  url: string,
  queue: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> => onServer<Row>(await databaseOf(url, queue), text, values);

/** Waits until no job is on its way from one database of this home to another. */
export const relaysAreEmpty = (url: string) =>
  until(async () => !SEVERAL || (await onAll(url, 'select from dibs.relay')).length === 0, {
    what: 'the jobs on their way',
  });

/** Runs a statement in all databases of this home, one after the other. Returns the rows of all. Of several statements: none. */
export async function onAll<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const each of [url, ...Object.values(await othersOf(url))])
    rows.push(...((await onServer<Row>(each, text, values)) ?? []));
  return rows;
}
