import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningEngine, startEngine } from '../../src/engine.ts';
import { isOutage } from '../../src/errors.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase, createOtherDatabase } from '../support/database.ts';
import { openOthers } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

let home: Awaited<ReturnType<typeof createDatabase>>;
let other: Awaited<ReturnType<typeof createOtherDatabase>>;
let db: Database;
let beside: Awaited<ReturnType<typeof openOthers>>;
let engine: RunningEngine;
beforeAll(async () => {
  home = await createDatabase();
  other = await createOtherDatabase();
  db = openDatabase(home.url, 1);
  beside = await openOthers(db, { other: other.url });
  const { others } = beside;
  engine = await startEngine({ db, listenUrl: home.url, others, log: () => undefined });
});
afterAll(async () => {
  await engine.stop();
  await beside.close();
  await db.close();
  await home.drop();
  await other.drop();
});

test('as many new queues as home has connections are created at once: none waits for the connection of another', async () => {
  await engine.configureDatabase({ name: 'other', accepts_queues: false });
  const enqueue = () =>
    engine.enqueue({ jobs: [{ queue: 'new' }], at: () => '' }).catch((error) => {
      // On a slow machine, the only connection may be busy for long.
      if (!isOutage(error)) throw error;
    });
  const jobs = await until(enqueue, { withinMs: 30_000, what: 'the queue' });
  expect(jobs).toMatchObject([{ queue: 'new', state: 'ready' }]);
  expect(await engine.getQueue({ queue: 'new' })).toMatchObject({ database: 'home' });
});
