import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningEngine, startEngine } from '../../src/engine.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { counting } from '../support/counting.ts';
import { createDatabase } from '../support/database.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let pool: Database;
let counted: ReturnType<typeof counting>;
let engine: RunningEngine;
beforeAll(async () => {
  database = await createDatabase();
  pool = openDatabase(database.url, 10);
  counted = counting(pool);
  engine = await startEngine({ db: counted.db, listenUrl: database.url, log: () => undefined });
});
afterAll(async () => {
  engine.stopWaiting();
  await engine.stop();
  await pool.close();
  await database.drop();
});

const into = (names: string[]) => engine.enqueue({ jobs: names.map((queue) => ({ queue })), at: () => '' });
const names = (prefix: string) => Array.from({ length: 300 }, (_, i) => `${prefix}.${i}`);

test('a batch into hundreds of new queues costs few statements besides one for each queue', async () => {
  const before = counted.count();
  expect((await into(names('new'))).map(({ queue }) => queue)).toEqual(names('new'));
  // Each of them was looked up twice and created by itself: 1,200 round trips. Duties run meanwhile.
  expect(counted.count() - before).toBeLessThan(150);
  const again = counted.count();
  await into(names('new'));
  expect(counted.count() - again).toBeLessThan(150);
});

test('a batch waits for an open transaction that creates one of its queues, and creates the others', async () => {
  const client = new pg.Client(database.url);
  await client.connect();
  await client.query('begin');
  await client.query(`select dibs.enqueue('held.7')`);
  const done = into(names('held'));
  await sleep(300);
  await client.query('commit');
  await client.end();
  expect(await done).toHaveLength(300);
});
