import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase, onServer, urlOf } from '../support/database.ts';
import { parseMetrics } from '../support/exposition.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/*
 * A database that answers and takes no writes, as after a switchover, or when a provider has locked a full disk.
 */

let database: Awaited<ReturnType<typeof createDatabase>>;
let replica: Replica;
beforeAll(async () => {
  database = await createDatabase();
  replica = await startReplica({ DATABASE_URL: database.url });
});
afterAll(async () => {
  await replica?.end('SIGKILL');
  await database?.drop();
});

const name = () => new URL(database.url).pathname.slice(1);
const onPostgres = (sql: string) => onServer(urlOf(database.url, 'postgres'), sql);
const cut = () =>
  onPostgres(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name()}' and pid <> pg_backend_pid()`,
  );
const isUp = async () =>
  parseMetrics(await (await fetch(`${replica.url}/metrics`)).text()).value('dibs_database_up');
const linesWith = (text: string) => replica.lines.filter((line) => line.includes(text)).length;
const enqueue = () => http(replica.url, 'POST', '/jobs', { queue: 'q' });

test('a database that takes no writes is away: for /readyz, the metric and the log, until it takes them again', async () => {
  const { id } = (await enqueue()).body;
  expect(await isUp()).toBe(1);
  const again = linesWith('the database serves again');
  await onPostgres(`alter database ${name()} set default_transaction_read_only = on`);
  await cut();
  await until(async () => (await isUp()) === 0, { what: 'dibs_database_up 0' });
  // Others read and write meanwhile. Each read would say that the database serves.
  for (let i = 0; i < 30; i++) {
    expect((await enqueue()).status).toBe(503);
    expect((await http(replica.url, 'GET', `/jobs/${id}`)).status).toBe(200);
    expect(await isUp()).toBe(0);
    await sleep(20);
  }
  const ready = await http(replica.url, 'GET', '/readyz');
  expect(ready).toMatchObject({ status: 503, body: { detail: 'The database is read-only.' } });
  expect(linesWith('the database serves again')).toBe(again);
  expect(linesWith('the database cannot serve: The database is read-only.')).toBeGreaterThan(0);
  await until(
    () => linesWith('notifications of other replicas are not heard: The database is read-only.') > 0,
    {
      what: 'the line about LISTEN',
    },
  );

  // Without a cut: each connection that takes no writes was given up by itself.
  await onPostgres(`alter database ${name()} reset default_transaction_read_only`);
  await until(async () => (await enqueue()).status === 201, { what: 'an enqueue' });
  await until(async () => (await isUp()) === 1, { what: 'dibs_database_up 1' });
  await until(() => linesWith('the database serves again') === again + 1, { what: 'the line in the log' });
  await until(() => linesWith('notifications of other replicas are heard again') > 0, { what: 'LISTEN' });
});
