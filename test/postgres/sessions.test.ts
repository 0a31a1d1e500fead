import { afterAll, beforeAll, expect, test } from 'vitest';
import { columnTypes } from '../../src/postgres/columnTypes.ts';
import { silentOutageLog } from '../../src/postgres/outageLog.ts';
import { callOf } from '../../src/postgres/pipeline.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { prepared } from '../../src/postgres/statements.ts';
import { asRole, createDatabase, onServer, SERVING_ROLE } from '../support/database.ts';
import { madeUpPid } from '../support/madeUpPid.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Database;
const undone: unknown[] = [];
beforeAll(async () => {
  database = await createDatabase();
  const log = { ...silentOutageLog(), undone: (error: unknown) => undone.push(error) };
  db = openDatabase(database.url, 2, log);
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

const TIMESTAMPTZ_OID = 1184;
const now = prepared('postgres/now');

test('a row that cannot be read fails its call, and neither the process nor the calls behind it', async () => {
  // No default leads to such a text any more. So the statement makes it.
  const odd = { ...now, name: 'odd', text: "select set_config('datestyle', 'German', true), now()" };
  const calls = await Promise.allSettled(
    [1, 2, 3].map(() => db.pipeline([callOf(odd, {}), callOf(now, {})])),
  );
  for (const call of calls)
    expect(call).toMatchObject({
      status: 'rejected',
      reason: { message: 'A row of odd could not be read.' },
    });
  expect(await db.query(now)).toHaveLength(1);
});

test('a transaction that is undone each time it is tried is unavailable, not_done', async () => {
  const conflict = { text: `do $$ begin raise 'in the way' using errcode = '40001'; end $$`, parameters: [] };
  await expect(db.query(conflict)).rejects.toMatchObject({ code: 'unavailable', outcome: 'not_done' });
  expect(undone).toMatchObject([{ code: '40001' }]);
  const working = db.transaction((transaction) => transaction.query(conflict));
  await expect(working).rejects.toMatchObject({ code: 'unavailable', outcome: 'not_done' });
});

test.each([
  ['-infinity', '0001-01-01T00:00:00.000Z'],
  ['infinity', '9999-12-31T23:59:59.999Z'],
  ['0044-03-15 00:00:00+00 BC', '0001-01-01T00:00:00.000Z'],
  ['10000-01-01 00:00:00+00', '9999-12-31T23:59:59.999Z'],
  ['2026-11-25 02:00:00.5+05:30', '2026-11-24T20:30:00.500Z'],
])('the time %s is read as %s', (text, read) => {
  expect(columnTypes.getTypeParser(TIMESTAMPTZ_OID)(text)).toBe(read);
});

test('a text that is no time is not taken for one', () => {
  expect(() => columnTypes.getTypeParser(TIMESTAMPTZ_OID)('25.11.2026 02:00:00 UTC')).toThrow(RangeError);
});

const synchronousCommit = { text: "select current_setting('synchronous_commit') as level", parameters: [] };

test.each([
  ['off', 'on'],
  ['local', 'local'],
  ['remote_apply', 'remote_apply'],
])('where synchronous_commit is %s by default, Dibs commits with %s', async (usual, ours) => {
  const name = new URL(database.url).pathname.slice(1);
  await onServer(database.url, `alter database ${name} set synchronous_commit = '${usual}'`);
  const pooler = await madeUpPid(database.url);
  for (const url of [database.url, pooler.url]) {
    const own = openDatabase(url, 1);
    expect(await own.query(synchronousCommit)).toEqual([{ level: ours }]);
    const inTransaction = await own.transaction((transaction) => transaction.query(synchronousCommit));
    expect(inTransaction).toEqual([{ level: ours }]);
    await own.close();
  }
  pooler.close();
  await onServer(database.url, `alter database ${name} reset synchronous_commit`);
});

test('where triggers and foreign keys are off, and the role may not turn them on, nothing is served', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await onServer(database.url, `alter database ${name} set session_replication_role = 'replica'`);
  const asServing = openDatabase(asRole(database.url, SERVING_ROLE), 1);
  const cause = { message: 'permission denied to set parameter "session_replication_role"' };
  await expect(asServing.query(now)).rejects.toMatchObject({ code: 'unavailable', cause });
  await asServing.close();
  const asOwner = openDatabase(database.url, 1);
  const role = { text: "select current_setting('session_replication_role') as role", parameters: [] };
  expect(await asOwner.query(role)).toEqual([{ role: 'origin' }]);
  await asOwner.close();
});
