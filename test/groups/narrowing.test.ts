import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNarrowing } from '../../src/groups/narrow.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase, onServer } from '../support/database.ts';

const GROUPS = 1000;

let database: Awaited<ReturnType<typeof createDatabase>>;
let pool: Database;
let queueId: number;
/** The groups after which the statements looked on. */
let looks: string[];
/** Runs before each of them. */
let before: () => Promise<unknown>;
let narrowing: ReturnType<typeof createNarrowing>;
beforeAll(async () => {
  database = await createDatabase();
  pool = openDatabase(database.url, 2);
  narrowing = createNarrowing({
    db: {
      ...pool,
      async query(statement, parameters, turn) {
        if (statement.file === 'groups/narrow') {
          looks.push((parameters as { after: string }).after);
          await before();
        }
        return pool.query(statement, parameters, turn);
      },
    },
    groups: { advance: async () => new Map() },
    log: (error) => expect.unreachable(String(error)),
  });
});
afterAll(async () => {
  await pool.close();
  await database.drop();
});

/** Groups with two heads each, in a queue that allows one. */
async function crowd(): Promise<void> {
  looks = [];
  before = async () => undefined;
  await onServer(database.url, 'delete from dibs.queues');
  const [made] = await onServer<{ id: number }>(
    database.url,
    `insert into dibs.queues (name, is_narrowing) values ('crowd', true) returning id`,
  );
  queueId = made?.id as number;
  await onServer(
    database.url,
    `insert into dibs.jobs
       (queue_id, id, state, is_head, head_place, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
     select ${queueId}, gen_random_uuid(), 'ready', true, place, now(), 5, 1, 0, '{}', '1', 'g' || n
     from generate_series(1, ${GROUPS}) n cross join generate_series(1, 2) place`,
  );
}

const isDone = async () => {
  const [queue] = await onServer<{ is_narrowing: boolean }>(
    database.url,
    'select is_narrowing from dibs.queues',
  );
  return queue?.is_narrowing === false;
};

test('where there is no time for all groups of a queue, the next look goes on behind the last one', async () => {
  await crowd();
  before = () => sleep(400);
  for (let runs = 1; !(await isDone()); runs++) {
    expect(runs).toBeLessThan(20);
    await narrowing.all([queueId]);
  }
  expect(looks).toEqual([...new Set(looks)].sort());
});

test('a queue that changes meanwhile is looked through anew', async () => {
  await crowd();
  before = async () => {
    before = async () => undefined;
    await onServer(database.url, 'update dibs.queues set group_concurrency = 2');
    await onServer(database.url, 'update dibs.queues set group_concurrency = 1');
  };
  await narrowing.all([queueId]);
  expect(await isDone()).toBe(false);
  looks = [];
  await narrowing.all([queueId]);
  expect(await isDone()).toBe(true);
  expect(looks[0]).toBe('');
});
