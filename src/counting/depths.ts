import { setTimeout as sleep } from 'node:timers/promises';
import type { Totals } from '../metrics/totals.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';
import type { CountCache } from './countCache.ts';
import type { CountRow } from './countJobs.ts';
import { createDepthBook, type Depth } from './depthBook.ts';
import { createOwnCounts } from './ownCounts.ts';
import { createWalk } from './walk.ts';

/*
 * How many jobs each queue has, for the metrics, the overview and the samples. They are counted only while somebody
 * looks, and for a share of the time. So with more jobs, they are counted more rarely, at the same cost. Each number
 * says how old it is.
 *
 * Queues with a row in dibs.totals are counted one by one: small ones at each run, large ones in turn. A walk counts
 * the others.
 */

const heldFor = prepared('metrics/horizon', row<{ seconds: number }>());

/** Each run walks over the other queues for RUN_MS. The next one begins EVERY_MS later, or more. */
const RUN_MS = 50;
const EVERY_MS = 4000;
/** Queues with fewer jobs are counted at each run. */
const SMALL = 2000;
/** Looks at queues may use the count of a large queue for this long. Then they count it themselves. */
const SERVES_MS = 60_000;

/** Whoever looks first waits this long at most until all queues are counted. */
const FIRST_MS = 2000;

/**
 * Seconds until a queue is empty, when it shrinks by so many jobs a second. Undefined while it does not shrink, or is
 * paused.
 */
export function drainSeconds(
  { counts }: Pick<Depth, 'counts'>,
  shrinking: number | undefined,
  isPaused: boolean,
): number | undefined {
  const left = counts.ready + counts.blocked + counts.leased;
  if (left === 0) return 0;
  if (isPaused) return undefined;
  return shrinking !== undefined && shrinking > 0 ? left / shrinking : undefined;
}

export function createDepths({ db, totals, cache }: { db: Db; totals: Totals; cache: CountCache }) {
  const book = createDepthBook(totals);
  const counter = {
    ...cache,
    countBatch: (ids: number[]) => cache.countBatch(ids, SERVES_MS),
  };
  let heldSeconds = 0;

  const limitOf = (id: number) => ((cache.of(id)?.jobs ?? 0) > SMALL ? 0 : SMALL);

  const look = (ids: number[]): Promise<CountRow[]> =>
    ids.length === 0 ? Promise.resolve([]) : cache.countSome(ids, ids.map(limitOf));

  const walk = createWalk({ db, totals, cache: counter, book, look });

  const countOwn = createOwnCounts({ totals, cache: counter, book, look });

  async function count(began: number, ms: number): Promise<void> {
    await countOwn(began + ms);
    while ((await walk.goOn()) && performance.now() < began + Math.max(RUN_MS, ms));
    const [held] = await db.query(heldFor, {});
    heldSeconds = held?.seconds ?? 0;
  }

  let counting: Promise<void> | undefined;
  let restUntil = 0;

  /**
   * Counts once more, until all queues are counted or `ms` are over. If a count is under way, it waits for that one.
   * The time after `ms` is taken from the share of time of the duty.
   */
  function countNow(ms = 0): Promise<void> {
    const began = performance.now();
    counting ??= count(began, ms).finally(() => {
      counting = undefined;
      const now = performance.now();
      const rest = restAfter(Math.max(0, now - began - ms), 'counts');
      restUntil = now + Math.max(walk.isUnderWay() ? 0 : EVERY_MS, rest);
    });
    return counting;
  }

  return {
    countNow,

    /**
     * Notes that somebody looks. Whoever looks first waits for the numbers, but for FIRST_MS at most.
     */
    async watch(): Promise<void> {
      const isFirst = !totals.isWatched();
      totals.watch();
      if (!isFirst) return;
      const first = totals
        .flush()
        .then(() => countNow(FIRST_MS))
        // In an outage, the numbers are missing, and the duty logs why.
        .catch(() => undefined);
      await Promise.race([first, sleep(FIRST_MS, undefined, { ref: false })]);
    },

    /** A run of the duty. */
    async run(): Promise<void> {
      if (totals.isWatched() && performance.now() >= restUntil) await countNow();
    },

    /** The depth of a queue, as it was counted last. */
    of: book.of,

    /** All queues without a row together. Undefined until each of them was counted once. */
    sumOfOthers: book.sumOfOthers,

    /** Of the queues without a row: the one that is nearest to its alert, or farthest beyond. */
    waitOfOthers: book.waitOfOthers,

    /** The queues without a row, one by one. Undefined until each of them was counted once. */
    others: book.others,

    /** For how long the oldest transaction has kept dead rows from being cleared. */
    heldSeconds: (): number => heldSeconds,
  };
}

export type Depths = ReturnType<typeof createDepths>;
