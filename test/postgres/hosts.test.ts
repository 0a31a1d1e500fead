import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from '../../bench/lib/ports.mjs';
import {
  connectionOptions,
  DatabaseClient,
  hostUrlOf,
  tryConnection,
} from '../../src/postgres/connection.ts';
import { isHopeless } from '../../src/postgres/errorClasses.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { causeOf, silentOutageLog } from '../../src/postgres/outageLog.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { prepared } from '../../src/postgres/statements.ts';
import { noteTimeline } from '../../src/postgres/timelines.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { openRelay } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const now = prepared('postgres/now');

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** The URL of the test's database, with these ports of this machine, and perhaps with a target_session_attrs. */
function urlWith(ports: number[], target?: string): string {
  const url = new URL(database.url);
  if (target !== undefined) url.searchParams.set('target_session_attrs', target);
  return url.href.replace(url.host, ports.map((port) => `127.0.0.1:${port}`).join());
}

const portOf = (url: string) => Number(new URL(url).port);

/** A way to the server that can be cut. */
async function way() {
  const port = await freePort();
  const open = () => openRelay(port, () => portOf(database.url));
  let relay = await open();
  return {
    port,
    cut: () => relay.cut(),
    async mend() {
      relay = await open();
    },
  };
}

/** The port that a new connection was made to. */
async function connectedTo(url: string): Promise<number> {
  const client = new DatabaseClient(url, connectionOptions(url));
  await client.connect();
  await client.end();
  return portOf(hostUrlOf(client, url));
}

const causeOfTrying = (url: string): Promise<unknown> =>
  tryConnection(url).then(
    () => undefined,
    (refusal) => {
      expect(refusal).toMatchObject({ code: 'unavailable', outcome: 'not_done' });
      return refusal.cause;
    },
  );

test('a connection goes to the host that answers, and the next ones begin with the host that served last', async () => {
  const [first, second] = [await way(), await way()];
  const url = urlWith([await freePort(), first.port, second.port]);
  expect(await connectedTo(url)).toBe(first.port);
  await first.cut();
  // It was trusted, so this one fails. Then all hosts are asked.
  await causeOfTrying(url);
  expect(await connectedTo(url)).toBe(second.port);
  await first.mend();
  expect(await connectedTo(url)).toBe(second.port);
  await Promise.all([first.cut(), second.cut()]);
});

test('every connection takes several hosts: the pool and the migration', async () => {
  const url = urlWith([await freePort(), portOf(database.url)]);
  expect(await migrate(url)).toEqual([]);
  const db = openDatabase(url, 2);
  expect(await db.query(now)).toHaveLength(1);
  await db.close();
});

test('with one host, a connection is asked for nothing but its settings', async () => {
  const asked = vi.spyOn(pg.Client.prototype, 'query');
  const db = openDatabase(database.url, 1);
  await db.query(now);
  await db.close();
  // The settings of the connection, and the round trip with the statement.
  expect(asked).toHaveBeenCalledTimes(2);
  asked.mockRestore();
});

test('no host that serves is an outage, which names each of them with the reason', async () => {
  const [dead, gone] = [await freePort(), await freePort()];
  const cause = await causeOfTrying(urlWith([dead, gone]));
  expect(causeOf(cause)).toBe(
    `127.0.0.1:${dead}: connect ECONNREFUSED 127.0.0.1:${dead}; 127.0.0.1:${gone}: connect ECONNREFUSED 127.0.0.1:${gone}`,
  );
  expect(isHopeless(cause)).toBe(false);
});

test('waiting does not help only where it helps for no host', async () => {
  const wrong = (hosts: number[]) => urlWith(hosts).replace(/\/\/[^@]*@/, '//nobody:nobody@');
  const live = portOf(database.url);
  expect(isHopeless(await causeOfTrying(wrong([live, live])))).toBe(true);
  expect(isHopeless(await causeOfTrying(wrong([live, await freePort()])))).toBe(false);
});

test('a server that is read-only is passed over, unless target_session_attrs says otherwise', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await onServer(database.url, `alter database ${name} set default_transaction_read_only = on`);
  const [live, dead] = [portOf(database.url), await freePort()];
  expect(causeOf(await causeOfTrying(urlWith([live, dead])))).toContain('it is read-only; ');
  expect(causeOf(await causeOfTrying(urlWith([live], 'read-write')))).toContain('it is read-only');
  expect(await causeOfTrying(urlWith([live, dead], 'any'))).toBe(undefined);
  expect(await causeOfTrying(urlWith([live, dead], 'primary'))).toBe(undefined);
  await onServer(
    database.url,
    `begin read write; alter database ${name} reset default_transaction_read_only; commit`,
  );
});

test('a newer timeline, seen by any connection, ends those to older ones, and none is made any more', async () => {
  const url = urlWith([portOf(database.url), await freePort()]);
  const failures: unknown[] = [];
  const db = openDatabase(url, 2, { ...silentOutageLog(), failed: (error) => failures.push(error) });
  const one = openDatabase(database.url, 2);
  const sleep = { text: 'select pg_sleep(2)', parameters: [] };
  await db.query(now);
  const busy = db.query(sleep).catch((refusal) => refusal);
  await until(() => db.connections().busy === 1);
  const idle = db.query(now).catch((refusal) => refusal);
  await until(() => db.connections().idle === 1);
  await idle;
  const [server] = await onServer<{ system: string }>(
    database.url,
    'select system_identifier::text as system from pg_control_system()',
  );
  noteTimeline({ system: server?.system as string, timeline: 2, isReadOnly: false });
  expect(await busy).toMatchObject({ code: 'unavailable', outcome: 'unknown' });
  await until(() => db.connections().idle === 0);
  expect(failures.map(causeOf)).toContain(
    'Connection terminated: timeline 2 was seen, and this server is at an older one',
  );
  await expect(db.query(now)).rejects.toMatchObject({ code: 'unavailable', outcome: 'not_done' });
  expect(causeOf(failures.at(-1))).toContain('it is at timeline 1, but timeline 2 was seen; ');
  // Who names one host says where the database is.
  expect(await one.query(now)).toHaveLength(1);
  await Promise.all([db.close(), one.close()]);
});
