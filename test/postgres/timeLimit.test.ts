import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentOutageLog } from '../../src/postgres/outageLog.ts';
import { callOf, timeLimit } from '../../src/postgres/pipeline.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { createDatabase } from '../support/database.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Database;
const outages: unknown[] = [];
beforeAll(async () => {
  database = await createDatabase();
  db = openDatabase(database.url, 1, {
    ...silentOutageLog(),
    failed: (error) => outages.push(error),
  });
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

const backend: Statement<object, { pid: number }> = {
  text: 'select pg_backend_pid() as pid',
  parameters: [],
};
const sleep: Statement = { text: 'select pg_sleep(60)', parameters: [] };

test('a statement that reaches a time limit of its own keeps its connection, and is no outage', async () => {
  const before = await db.query(backend);
  await expect(db.query({ ...sleep, timeoutMs: 50 })).rejects.toMatchObject({ code: 'unavailable' });
  await expect(db.pipeline([timeLimit(50), callOf(sleep, {})])).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(await db.query(backend)).toEqual(before);
  expect(outages).toEqual([]);
});

test('one that reaches the limit of all statements is an outage', async () => {
  await expect(db.query(sleep)).rejects.toMatchObject({ code: 'unavailable' });
  expect(outages).toHaveLength(1);
});
