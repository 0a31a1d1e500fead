import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export const TEMPLATE = 'dibs_template';

/** The role that serves in the tests. It can do no more than `dibs migrate --grant-serve` gives. */
export const SERVING_ROLE = 'dibs_test_serve';

export function asRole(url: string, role: string): string {
  const changed = new URL(url);
  changed.username = role;
  changed.password = role;
  return changed.href;
}

export function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/**
 * A connection of a test's own. Its end is no error of the test: a server that stops or a database that is dropped may end it.
 * A statement that runs at that moment is still rejected.
 */
export async function openClient(to: string | pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(to);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Runs one statement on the server that the tests use. */
export async function onServer<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = await openClient(url);
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** How many transactions there were in a database. PostgreSQL counts those of a session a second later, or at its end. */
export async function transactionsOf(url: string): Promise<number> {
  const [row] = await onServer<{ n: string }>(
    url,
    'select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()',
  );
  return Number(row?.n);
}

const beside = new Map<string, string[]>();

/** Has a database dropped together with another one. */
export function dropWith(database: string, other: string): void {
  beside.set(database, [...(beside.get(database) ?? []), other]);
}

export const createOn = (serverUrl: string, name: string, template = 'template0') =>
  onServer(serverUrl, `create database ${name} encoding 'UTF8' template ${template}`);

async function create(template: string) {
  const serverUrl = inject('postgresUrl');
  const name = `dibs_test_${randomBytes(6).toString('hex')}`;
  await createOn(serverUrl, name, template);
  return {
    url: urlOf(serverUrl, name),
    async drop() {
      for (const each of [name, ...(beside.get(name) ?? [])])
        await onServer(serverUrl, `drop database if exists ${each} with (force)`);
    },
  };
}

/** A migrated database for one test file, on the PostgreSQL of this run. */
export const createDatabase = () => create(TEMPLATE);

/** The same, as one that may stand beside others. Copies of the template have its id. */
export async function createOtherDatabase() {
  const database = await createDatabase();
  await onServer(database.url, 'update dibs.this_database set id = gen_random_uuid()');
  return database;
}

/** A database that no Dibs has seen. */
export const createEmptyDatabase = () => create('template0');
