import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { createLockWaits, type LockTurn, SHORT_LOCK_WAIT_MS } from '../../src/postgres/lockWait.ts';
import { createSemaphore, NoPlace } from '../../src/postgres/semaphore.ts';
import { Turns } from '../../src/postgres/turns.ts';

const locked = () => Object.assign(new pg.DatabaseError('', 0, 'error'), { code: '55P03' });

/** Work that meets a lock until `free` says that nobody holds it. It notes how much of it runs at once. */
function lockable(free: () => boolean = () => false) {
  const now = { tries: 0, waits: 0 };
  const most = { tries: 0, waits: 0 };
  const order: unknown[] = [];
  return {
    most,
    order,
    work: (name?: unknown) => async (lockWaitMs: number) => {
      const kind = lockWaitMs === SHORT_LOCK_WAIT_MS ? 'tries' : 'waits';
      now[kind]++;
      most[kind] = Math.max(most[kind], now[kind]);
      if (kind === 'waits') order.push(name);
      try {
        // A lock_timeout of the database, at a tenth of the time.
        if (!free()) await sleep(lockWaitMs / 10);
        if (!free()) throw locked();
        return name;
      } finally {
        now[kind]--;
      }
    },
  };
}

const all = <T>(times: number, work: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: times }, (_, i) => work(i)));

test('at most a third of the connections waits for locks, over all kinds and queues, and the rest is refused: nothing was done', async () => {
  const { most, work } = lockable();
  const { inTurn } = createLockWaits(10);
  const answers = await all(60, (i) =>
    inTurn(work(), { queue: i % 3 ? i % 7 : undefined, by: `${i % 2}` }, `kind ${i % 5}`).catch(
      (error) => error,
    ),
  );
  for (const answer of answers) expect(answer).toMatchObject({ code: 'unavailable', outcome: 'not_done' });
  expect(most.waits).toBe(3);
});

test('who met a lock just now gets a fifth of the connections for further tries, and others try at once', async () => {
  const { most, work } = lockable();
  const { inTurn } = createLockWaits(10);
  const only = { queue: 'held', tryMs: SHORT_LOCK_WAIT_MS };
  await expect(inTurn(work(), only)).rejects.toMatchObject({ code: '55P03' });
  most.tries = 0;
  const tried = all(20, () => inTurn(work(), only).catch(() => undefined));
  expect(await inTurn(async () => 'served', { queue: 'other' })).toBe('served');
  await tried;
  expect(most.tries).toBe(2);
});

test('a wait holds no slot', async () => {
  const { work } = lockable();
  const { inTurn } = createLockWaits(10);
  const slot = createSemaphore(1);
  const waiting = inTurn(work(), { queue: 'held', slot }).catch(() => 'refused');
  await sleep(SHORT_LOCK_WAIT_MS);
  expect(await inTurn(async () => 'served', { queue: 'other', slot })).toBe('served');
  expect(await waiting).toBe('refused');
});

test('queues take turns in the places, and so do the callers of a queue', async () => {
  const { order, work } = lockable();
  const { inTurn } = createLockWaits(3);
  const wait = (queue: string, by: string) =>
    inTurn(work(`${queue} ${by}`), { queue, by, isHeld: true }).catch(() => undefined);
  const waits = [...Array.from({ length: 30 }, () => wait('a', 'x')), wait('a', 'y'), wait('b', 'z')];
  await Promise.all(waits);
  // The first takes the place, and the other two have their turns behind it.
  expect(order.slice(0, 4).toSorted()).toEqual(['a x', 'a x', 'a y', 'b z']);
});

test('whoever waits goes on when the lock is free', async () => {
  let isFree = false;
  const { work } = lockable(() => isFree);
  const { inTurn } = createLockWaits(10);
  const waits = all(20, (i) => inTurn(work(i), { queue: i % 4 }));
  await sleep(100);
  isFree = true;
  expect(await waits).toEqual(Array.from({ length: 20 }, (_, i) => i));
});

test('what waits beyond a bound is refused at once, from the longest line', async () => {
  const enter = createSemaphore(1, 5);
  let leave = () => {};
  const first = enter(() => new Promise<void>((resolve) => (leave = resolve)));
  const many = Array.from({ length: 8 }, () => enter(async () => 'many', ['many']).catch((error) => error));
  const few = enter(async () => 'few', ['few']);
  leave();
  await first;
  expect(await few).toBe('few');
  const refused = (await Promise.all(many)).filter((answer) => answer instanceof NoPlace);
  expect(refused).toHaveLength(4);
});

test('turns forget those who wait no more', () => {
  const turns = new Turns<number>();
  turns.push(['a', 'x'], 1);
  turns.push(['a', 'y'], 2);
  turns.push(['b'], 3);
  turns.push([], 4);
  expect(turns.takeIf((n) => n === 2)).toEqual([2]);
  expect([turns.next(), turns.next(), turns.next(), turns.next()]).toEqual([4, 1, 3, undefined]);
  expect(turns.size).toBe(0);
  expect(turns.lastOfLongest()).toBeUndefined();
});

test.each<[string, LockTurn]>([
  ['tries', { tryMs: 50 }],
  ['waits', {}],
])('other errors are thrown as they are, by what %s', async (_, turn) => {
  const broken = new Error('broken');
  await expect(createLockWaits(10).inTurn(() => Promise.reject(broken), turn)).rejects.toBe(broken);
});
