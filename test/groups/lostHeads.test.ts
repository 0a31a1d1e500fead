import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ORDER_IN_TRIP } from '../../src/batching/roundTrip.ts';
import { createRoundTrips } from '../../src/batching/roundTrips.ts';
import { createArrivals } from '../../src/floor/arrivals.ts';
import { createGroupHeads } from '../../src/groups/heads.ts';
import { createNarrowing } from '../../src/groups/narrow.ts';
import { createGroupRepair } from '../../src/groups/repair.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { queueCache } from '../../src/queues/cache.ts';
import { createNotifier } from '../../src/replicas/notifier.ts';
import { counting } from '../support/counting.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';

const QUEUES = 300;

let database: Awaited<ReturnType<typeof createDatabase>>;
let pool: Database;
let counted: ReturnType<typeof counting>;
let repair: ReturnType<typeof createGroupRepair>;
const errors: unknown[] = [];
beforeAll(async () => {
  database = await createDatabase();
  pool = openDatabase(database.url, 4);
  counted = counting(pool);
  const { db } = counted;
  const log = (error: unknown) => errors.push(error);
  const queues = queueCache(db);
  const groups = createGroupHeads({
    db,
    log,
    queues,
    notifier: createNotifier({ db, url: database.url, log }),
    arrivals: createArrivals(db),
    joinRoundTrip: createRoundTrips(db)(ORDER_IN_TRIP.advance),
  });
  repair = createGroupRepair({
    db,
    log,
    queues,
    groups,
    narrowing: createNarrowing({ db, groups, log }),
  });
  await onServer(
    database.url,
    `insert into dibs.queues (name) select 'q' || n from generate_series(1, ${QUEUES}) n`,
  );
  await onServer(
    database.url,
    `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
     select id, gen_random_uuid(), 'blocked', now(), 5, 1, 0, '{}', '1', 'g' || n
     from dibs.queues cross join generate_series(1, 2) n`,
  );
});
afterAll(async () => {
  await pool.close();
  await database.drop();
});

/** As after the crash of a replica that was about to advance all of these groups. */
const behead = () => onServer(database.url, `update dibs.jobs set state = 'blocked', is_head = false`);
const headless = () =>
  onServer<{ name: string }>(
    database.url,
    `select q.name from dibs.jobs j join dibs.queues q on q.id = j.queue_id where j.state = 'blocked' and not j.is_head`,
  );

/** A look at all groups, page by page. */
async function lookAtAll(): Promise<void> {
  while ((await repair.run()) !== false);
}

test('600 groups of 300 queues get their heads with few statements', async () => {
  const before = counted.statements();
  await lookAtAll();
  expect(await headless()).toEqual([]);
  // One for each queue would be 300.
  expect(counted.statements() - before).toBeLessThan(30);
  expect(errors).toEqual([]);
});

test('a job that somebody holds keeps only its own group without a head', async () => {
  await behead();
  const holder = await openClient(database.url);
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query(
    `select from dibs.jobs j join dibs.queues q on q.id = j.queue_id where q.name = 'q150' and group_key = 'g1' for update of j`,
  );
  await lookAtAll();
  // Now only that group is left. The look does not wait for its job: claims of the queue would wait behind it.
  await lookAtAll();
  const left = (await headless()).map(({ name }) => name);
  expect([...new Set(left)]).toEqual(['q150']);
  await holder.query('rollback');
  await lookAtAll();
  expect(await headless()).toEqual([]);
  expect(errors).toEqual([]);
});
