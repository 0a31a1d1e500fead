import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOutageLog, NOTIFICATIONS } from '../../src/postgres/outageLog.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import type { NotifierListeners } from '../../src/replicas/notifications.ts';
import { createNotifier } from '../../src/replicas/notifier.ts';
import { counting } from '../support/counting.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
const undo: (() => Promise<void>)[] = [];
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
  await database.drop();
});

const nothing = () => undefined;
const DEAF: NotifierListeners = {
  here: nothing,
  coming: nothing,
  elsewhere: nothing,
  unnoticed: nothing,
  finished: nothing,
  blocked: nothing,
  replaced: nothing,
  placed: nothing,
  sessions: nothing,
  keysChanged: nothing,
  anywhere: nothing,
  active: () => undefined,
  looked: () => undefined,
};

/** The notifier of one replica. `woken` waits for a queue that it wakes, or for a finished job that it hears of. */
async function replica() {
  const db = openDatabase(database.url, 2);
  const notifier = createNotifier({ db, url: database.url, log: () => undefined });
  const woken = new EventTarget();
  const wake = (queue: string) => {
    woken.dispatchEvent(new Event(queue));
  };
  await notifier.start({
    ...DEAF,
    here: wake,
    elsewhere: wake,
    unnoticed: wake,
    finished: (ids) => ids.forEach(wake),
    blocked: (queue, group) => wake(`${queue}: ${group}`),
  });
  undo.push(db.close, notifier.stop);
  return { notifier, woken: (queue: string) => once(woken, queue, { signal: AbortSignal.timeout(10_000) }) };
}

test('a claim that begins to wait looks again when the other replicas have heard of it', async () => {
  const { notifier, woken } = await replica();
  const again = woken('quiet');
  notifier.waiting(['quiet']);
  await again;
});

test('a notification by SQL names the queue and the group of a job, or only the queue', async () => {
  const { woken } = await replica();
  for (const [message, event] of [
    ['blocked sql mail for ada', 'mail: for ada'],
    ['blocked sql mail', 'mail: undefined'],
  ]) {
    const heard = woken(event as string);
    await onServer(database.url, 'select pg_notify($1, $2)', ['dibs', message]);
    await heard;
  }
});

test('the other replicas hear of all finished jobs, however many they are', async () => {
  const [here, there] = [await replica(), await replica()];
  const ids = Array.from({ length: 450 }, (_, i) => `00000000-0000-7000-8000-${String(i).padStart(12, '0')}`);
  const told = Promise.all(ids.map((id) => there.woken(id)));
  here.notifier.finished(ids);
  await told;
});

test('what a replica has to tell is told before it stops, and nothing is sent after that', async () => {
  const there = await replica();
  const db = openDatabase(database.url, 2);
  undo.push(db.close);
  let hasStopped = false;
  const late: unknown[] = [];
  const watched = {
    ...db,
    query: (...[statement, parameters]: Parameters<typeof db.query>) => {
      if (hasStopped) late.push(parameters);
      return db.query(statement, parameters);
    },
  } as typeof db;
  const notifier = createNotifier({ db: watched, url: database.url, log: () => undefined });
  const first = there.woken('leaving');
  notifier.opened('leaving');
  await first;
  const second = there.woken('leaving');
  notifier.ready('leaving');
  await second;
  // It comes too soon behind the second one to be sent at once.
  const third = there.woken('leaving');
  notifier.ready('leaving');
  await notifier.stop();
  hasStopped = true;
  await third;
  notifier.ready('leaving');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(late).toEqual([]);
});

test('claims that wait for 12,000 queues are announced together, and not again at once', async () => {
  const db = openDatabase(database.url, 2);
  const { db: counted, count } = counting(db);
  const notifier = createNotifier({ db: counted, url: database.url, log: () => undefined });
  undo.push(db.close);
  const announceAll = () => {
    for (let i = 0; i < 12_000; i++) notifier.waiting([`crowd-${i}`]);
  };
  const { woken } = await replica();
  const last = woken('crowd-11999');
  announceAll();
  announceAll();
  // It comes behind them.
  notifier.opened('crowd-11999');
  await last;
  expect(count()).toBeLessThan(100);
});

test('a replica that listens to another server than it writes to says that it hears nothing', async () => {
  const other = await createDatabase();
  const db = openDatabase(database.url, 2);
  const lines: string[] = [];
  const state = createOutageLog(
    { warn: (line) => lines.push(line), info: (line) => lines.push(line) },
    NOTIFICATIONS,
  );
  const notifier = createNotifier({ db, url: other.url, state, log: () => undefined });
  await notifier.start(DEAF);
  await until(() => lines.length > 0);
  expect(lines).toEqual([
    'notifications of other replicas are not heard: what this replica sends does not come back. LISTEN leads to another server, or through a pooler',
  ]);
  await notifier.stop();
  await db.close();
  await other.drop();
});

test('a replica that hears itself keeps its connection', async () => {
  const db = openDatabase(database.url, 2);
  const lines: string[] = [];
  const state = createOutageLog(
    { warn: (line) => lines.push(line), info: (line) => lines.push(line) },
    NOTIFICATIONS,
  );
  const notifier = createNotifier({ db, url: database.url, state, log: () => undefined });
  await notifier.start(DEAF);
  const pidOf = async () =>
    (
      await onServer<{ pid: number }>(
        database.url,
        `select pid from pg_stat_activity where datname = current_database() and query = 'listen dibs' order by backend_start desc limit 1`,
      )
    )[0]?.pid;
  const pid = await pidOf();
  for (let i = 0; i < 7; i++) {
    notifier.finished([`00000000-0000-7000-8000-${String(i).padStart(12, '0')}`]);
    await sleep(1000);
  }
  expect(await pidOf()).toBe(pid);
  expect(lines).toEqual([]);
  await notifier.stop();
  await db.close();
});
