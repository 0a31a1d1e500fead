import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { keepAskers, runFor } from '../../src/askers.ts';
import { callOf } from '../../src/postgres/pipeline.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createSlowLog } from '../../src/postgres/slowLog.ts';
import { planned } from '../../src/postgres/statements.ts';
import { adHoc } from '../support/adHoc.ts';
import { createDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

interface Line {
  level?: number;
  ms: number;
  connectionMs: number;
  statements: { name: string; ms?: number }[];
  commitMs?: number;
  requests?: object[];
  times: number;
}

const SLOW_MS = 200;
const sleeping = { ...adHoc('select pg_sleep(0.3)'), file: 'test/sleeping' };
const quick = planned('postgres/now');

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Database;
let lines: Line[];
beforeAll(async () => {
  keepAskers();
  database = await createDatabase();
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});
beforeEach(async () => {
  await db?.close();
  lines = [];
  const slow = createSlowLog(SLOW_MS, (fields) => lines.push(fields as Line));
  db = openDatabase(database.url, 1, undefined, slow);
});

test('a slow round trip leaves a line that names its statements. The next one has the time of each part', async () => {
  await db.transaction(async (on) => {
    await on.query(quick);
    await on.query(sleeping);
  });
  expect(lines).toMatchObject([
    { statements: [{ name: 'postgres/now' }, { name: 'test/sleeping' }], times: 1 },
  ]);
  expect(lines[0]?.ms).toBeGreaterThanOrEqual(300);
  await db.query(sleeping);
  const [, timed] = lines;
  expect(timed?.statements).toEqual([{ name: 'test/sleeping', ms: expect.any(Number) }]);
  expect(timed?.statements[0]?.ms).toBeGreaterThanOrEqual(299);
  expect(timed?.commitMs).toBeGreaterThanOrEqual(0);
  expect(
    (timed?.connectionMs ?? 0) + (timed?.statements[0]?.ms ?? 0) + (timed?.commitMs ?? 0),
  ).toBeLessThanOrEqual((timed?.ms ?? 0) + 1);
});

test('the wait for a connection is a part of its own', async () => {
  await Promise.all([db.query(sleeping), db.query(quick)]);
  const [first, second] = lines;
  expect(first?.statements[0]?.name).toBe('test/sleeping');
  expect(second).toMatchObject({ statements: [{ name: 'postgres/now' }] });
  expect(second?.connectionMs).toBeGreaterThanOrEqual(SLOW_MS);
});

test('the parts of several statements in one round trip are told apart', async () => {
  await db.query(sleeping);
  // A round trip has at most one statement without a name.
  const named = { ...adHoc('select 1'), name: 'test/quick', file: 'test/quick' };
  // A process that is held up reads the ends of both statements at once, and cannot tell them apart.
  await until(async () => {
    await db.pipeline([callOf(named, {}), callOf(sleeping, {})]);
    const { statements = [] } = lines.at(-1) ?? {};
    const [first, second] = statements.map(({ ms = 0 }) => ms) as [number, number];
    return (
      statements.map(({ name }) => name).join() === 'test/quick,test/sleeping' &&
      second >= 299 &&
      first < second
    );
  });
});

test('it names the requests that waited, where they are known', async () => {
  const asker = { reqId: 'r1', trace: undefined, traceId: 't1' };
  await runFor([asker], () => db.query(sleeping));
  expect(lines[0]?.requests).toEqual([{ reqId: 'r1', traceId: 't1' }]);
});

test('a quick round trip leaves none. The same slow one leaves one without and one with the times of its parts', async () => {
  // The first one opens the connection, which may take long.
  await until(async () => {
    lines = [];
    await db.query(quick);
    return lines.length === 0;
  });
  for (let i = 0; i < 4; i++) await db.query(sleeping);
  expect(lines.map(({ commitMs }) => commitMs)).toEqual([undefined, expect.any(Number)]);
});
