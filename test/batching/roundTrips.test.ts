import { afterAll, beforeAll, expect, test } from 'vitest';
import { ORDER_IN_TRIP, type RoundTrip } from '../../src/batching/roundTrip.ts';
import { createRoundTrips } from '../../src/batching/roundTrips.ts';
import { unavailable } from '../../src/errors.ts';
import type { Call, Rows } from '../../src/postgres/pipeline.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import type { Prepared } from '../../src/postgres/statements.ts';
import { createDatabase, openClient } from '../support/database.ts';

const statement = <Row>(
  name: string,
  text = '',
  parameters: string[] = [],
): Prepared<Record<string, unknown>, Row> => ({ name, text, parameters });

/** A database whose pipelines return when the test says so. */
function setUp() {
  const connections = { free: true };
  const pipelines: { calls: Call[]; done(rows?: Rows[]): void; fail(error: Error): void }[] = [];
  const db = {
    pipeline: (calls: Call[], sent?: () => void) =>
      new Promise<Rows[]>((resolve, reject) => {
        pipelines.push({
          calls,
          done: (rows = calls.map(({ statement: { name } }) => [{ name }])) => resolve(rows),
          fail: reject,
        });
        if (connections.free) sent?.();
      }),
  } as unknown as Database;
  const inRoundTrip = createRoundTrips(db);
  return {
    pipelines,
    connections,
    /** Takes part in the next round trip with one statement. It has the name of the verb. */
    join: (verb: keyof typeof ORDER_IN_TRIP) =>
      inRoundTrip(ORDER_IN_TRIP[verb])(1, (trip: RoundTrip) =>
        trip.db.query(statement<{ name: string }>(verb)),
      ),
    inRoundTrip,
    async settled() {
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const names = ({ calls }: { calls: Call[] }) => calls.map((call) => call.statement.name);

test('the statements of all verbs of a queue go in one transaction, and the claim is the last of them', async () => {
  const { pipelines, join, settled } = setUp();
  const answers = Promise.all([join('claim'), join('settle'), join('enqueue')]);
  await settled();
  expect(pipelines.map(names)).toEqual([['enqueue', 'settle', 'claim']]);
  pipelines[0]?.done();
  expect(await answers).toEqual([[{ name: 'claim' }], [{ name: 'settle' }], [{ name: 'enqueue' }]]);
});

test('what comes while a round trip is under way goes in the next one, which is sent before the answers are given', async () => {
  const { pipelines, join, settled } = setUp();
  const sentBefore = join('enqueue').then(() => pipelines.length);
  await settled();
  const second = join('claim');
  await settled();
  expect(pipelines).toHaveLength(1);
  pipelines[0]?.done();
  expect(await sentBefore).toBe(2);
  pipelines[1]?.done();
  await second;
});

test('a verb that is answered first goes on in the next round trip, with what gathered for that', async () => {
  const { pipelines, inRoundTrip, join, settled } = setUp();
  const first = inRoundTrip(ORDER_IN_TRIP.settle)(1, (trip: RoundTrip) => {
    trip.answerFirst();
    return trip.db.query(statement('settle'));
  }).then(() => join('claim'));
  const beside = join('advance').then(() => pipelines.length);
  await settled();
  const second = join('enqueue');
  pipelines[0]?.done();
  await settled();
  expect(pipelines.map(names)).toEqual([
    ['settle', 'advance'],
    ['enqueue', 'claim'],
  ]);
  expect(await beside).toBe(2);
  pipelines[1]?.done();
  await Promise.all([first, second]);
});

test('a claim that begins when a settlement is in its round trip goes along', async () => {
  const { pipelines, inRoundTrip, join, settled } = setUp();
  let claimed: Promise<unknown> = Promise.resolve();
  const first = inRoundTrip(ORDER_IN_TRIP.settle)(1, (trip: RoundTrip) => {
    trip.onceGathered(() => {
      claimed = join('claim');
    });
    return trip.db.query(statement('settle'));
  });
  await settled();
  expect(pipelines.map(names)).toEqual([['settle', 'claim']]);
  pipelines[0]?.done();
  await Promise.all([first, claimed]);
});

test('answers are given also while the next round trip waits for a connection', async () => {
  const { pipelines, join, settled, connections } = setUp();
  const first = join('enqueue');
  await settled();
  const second = join('claim');
  connections.free = false;
  pipelines[0]?.done();
  expect(await first).toEqual([{ name: 'enqueue' }]);
  pipelines[1]?.done();
  await second;
});

test('a statement that fails undoes the round trip, and only its own verb fails', async () => {
  const { pipelines, join, settled } = setUp();
  const answers = Promise.allSettled([join('enqueue'), join('settle'), join('claim')]);
  await settled();
  pipelines[0]?.fail(new Error('bad data'));
  for (const at of [1, 2, 3]) {
    await settled();
    if (at === 2) pipelines[at]?.fail(new Error('bad data'));
    else pipelines[at]?.done();
  }
  expect(pipelines.map(names)).toEqual([['enqueue', 'settle', 'claim'], ['enqueue'], ['settle'], ['claim']]);
  expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('an outage also refuses what gathered meanwhile', async () => {
  const { pipelines, join, settled } = setUp();
  const answers = Promise.allSettled([join('enqueue')]);
  await settled();
  const gathered = Promise.allSettled([join('claim'), join('settle')]);
  pipelines[0]?.fail(unavailable());
  expect([...(await answers), ...(await gathered)].map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
    'rejected',
  ]);
  expect(pipelines).toHaveLength(1);
  const next = join('enqueue');
  await settled();
  pipelines[1]?.done();
  expect(await next).toEqual([{ name: 'enqueue' }]);
});

test('work that leaves its round trip holds up no other work, and has no number', async () => {
  const { pipelines, inRoundTrip, join, settled } = setUp();
  let left: RoundTrip | undefined;
  const alone = inRoundTrip(ORDER_IN_TRIP.claim)(1, (trip) => {
    left = trip;
    return trip.leave().db.query(statement('scan'));
  });
  const enqueued = join('enqueue');
  await settled();
  expect(pipelines.map(names)).toEqual([['scan'], ['enqueue']]);
  pipelines[0]?.done();
  expect(await alone).toEqual([{ name: 'scan' }]);
  expect(left?.number).toBeUndefined();
  pipelines[1]?.done();
  await enqueued;
});

test('what goes along with a statement runs around it, and again around it when it has to run by itself', async () => {
  const { pipelines, inRoundTrip, join, settled } = setUp();
  const along = {
    before: [{ statement: statement('own'), parameters: {} }],
    behind: [{ statement: statement('owned'), parameters: {} }],
  };
  const claimed = inRoundTrip(ORDER_IN_TRIP.claim)(1, (trip) => trip.db.query(statement('claim'), {}, along));
  const enqueued = join('enqueue');
  await settled();
  pipelines[0]?.fail(new Error('refused'));
  await settled();
  pipelines[1]?.done();
  expect(await enqueued).toEqual([{ name: 'enqueue' }]);
  await settled();
  pipelines[2]?.done();
  expect(await claimed).toEqual([{ name: 'claim' }]);
  const unit = ['own', 'claim', 'owned'];
  expect(pipelines.map(names)).toEqual([['enqueue', ...unit], ['enqueue'], unit]);
});

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Database;
beforeAll(async () => {
  database = await createDatabase();
  db = openDatabase(database.url, 2);
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

test('the statements of a pipeline commit together or not at all', async () => {
  const client = await openClient(database.url);
  await client.query('create table public.kept (n integer primary key)');
  const insert = statement(
    'keep',
    'insert into public.kept values ($1) returning n, txid_current()::text as transaction',
    ['n'],
  );
  const [[first], [second]] = (await db.pipeline([
    { statement: insert, parameters: { n: 1 } },
    { statement: insert, parameters: { n: 2 } },
  ])) as [Rows, Rows];
  expect(first?.transaction).toBe(second?.transaction);
  await expect(
    db.pipeline([
      { statement: insert, parameters: { n: 3 } },
      { statement: insert, parameters: { n: 2 } },
    ]),
  ).rejects.toThrow('duplicate key');
  expect((await client.query('select n from public.kept order by n')).rows).toEqual([{ n: 1 }, { n: 2 }]);
  await client.end();
});

test('a parameter arrives as it was given: quotes, backslashes, braces, empty texts, NULL as a word', async () => {
  const texts = ['', '"', '\\', '\\"', '{a,b}', 'NULL', ' a ', 'ä\n\t', null];
  const echo = statement(
    'echo',
    'select $1::text[] as texts, $2::text as text, $3::double precision[] as numbers',
    ['texts', 'text', 'numbers'],
  );
  const [[row]] = (await db.pipeline([
    { statement: echo, parameters: { texts, text: '{"\\', numbers: [1.5, null, 1e300] } },
  ])) as [Rows];
  expect(row).toEqual({ texts, text: '{"\\', numbers: [1.5, null, 1e300] });
});

test('verbs that join again and again, and do nothing, leave the process to others', async () => {
  const { inRoundTrip } = setUp();
  let joined = 0;
  let isOver = false;
  const again = async (): Promise<void> => {
    if (!isOver && ++joined < 10_000) void inRoundTrip(ORDER_IN_TRIP.claim)(1, again);
  };
  void inRoundTrip(ORDER_IN_TRIP.claim)(1, again);
  for (let passes = 0; passes < 10; passes++) await new Promise((resolve) => setImmediate(resolve));
  isOver = true;
  expect(joined).toBeLessThan(100);
});
