import { expect, test } from 'vitest';
import { type Engine, startEngine } from '../../src/engine.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from '../support/database.ts';

const CONNECTIONS = 10;

test('hundreds of requests that look at single jobs leave connections to others', async () => {
  const database = await createDatabase();
  const pool = openDatabase(database.url, CONNECTIONS);
  let running = 0;
  let most = 0;
  const db: Database = {
    ...pool,
    async query(statement, parameters) {
      most = Math.max(most, ++running);
      return pool.query(statement, parameters).finally(() => running--);
    },
  };
  const engine: Engine = await startEngine({ db, listenUrl: database.url, log: () => undefined });
  const [job] = await engine.enqueue({ jobs: [{}], at: () => '' });
  const id = job?.id as string;
  // The queue is known by now.
  await engine.getJob({ id });
  most = 0;
  const looks = await Promise.all(Array.from({ length: 500 }, () => engine.getJob({ id })));
  expect(looks.every((look) => look.id === id)).toBe(true);
  // The duties run beside them.
  expect(most).toBeLessThan(CONNECTIONS);
  engine.stopWaiting();
  await engine.stop();
  await pool.close();
  await database.drop();
});
