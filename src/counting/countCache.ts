import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../postgres/pool.ts';
import { restAfter } from '../shareOfTime.ts';
import {
  type Count,
  type CountRow,
  countsOf,
  createJobCounter,
  type JobCounts,
  jobsIn,
} from './countJobs.ts';

/*
 * What this replica remembers of the sizes of its queues. There is one such memory: looks at queues and the duty that
 * counts for the metrics both count through it. So each can use what the other has counted of large queues.
 */

/** The counts of a queue. */
interface Counted {
  counts: JobCounts;
  jobs: number;
  /** When the count began, and how long it took. */
  at: number;
  ms: number;
  /** The count may be used for at least this long, even if it was made quickly. */
  servesMs: number;
}

/**
 * How old a count of a large queue may get, as a multiple of the time that it takes to count all of them. From half
 * that age on it is renewed. Example: counting takes 2 s. Then counts are used for 40 s, and renewed after 20 s.
 */
const MAX_AGE = 20;
/**
 * One statement counts several queues, if they had at most this number of jobs together when they were last counted.
 */
const BATCH = 100_000;

/**
 * The first of these queues that have up to BATCH jobs together. `sizeOf`: how many jobs a queue had, if that is known.
 */
function firstBatch(ids: number[], sizeOf: (id: number) => number | undefined): number[] {
  let jobs = 0;
  return ids.filter((id, i) => {
    jobs += sizeOf(id) ?? BATCH;
    return i === 0 || jobs <= BATCH;
  });
}

/** Works through batches of queues, with pauses. `step` returns the queues that are left. */
async function withPauses(ids: number[], step: (left: number[]) => Promise<number[]>): Promise<void> {
  for (let left = ids; left.length > 0; ) {
    const started = performance.now();
    left = await step(left);
    await sleep(restAfter(performance.now() - started, 'renewed counts'), undefined, { ref: false });
  }
}

/** Counts jobs, and remembers the counts of queues that it has counted to the end. `leasesFrom`: see countJobs.ts. */
export function createCountCache(db: Db, leasesFrom: () => string) {
  const counter = createJobCounter(db, leasesFrom);
  const known = new Map<number, Counted>();
  const underWay = new Map<number, Promise<unknown>>();
  let refreshing = false;

  const countedAt = (id: number) => known.get(id)?.at ?? Number.NEGATIVE_INFINITY;

  const remember = (
    { rows, at, ms }: Count,
    keep: (row: CountRow, counted: Counted) => void,
    servesMs = 0,
  ) => {
    const whole = rows.filter((row) => !row.cut);
    for (const row of whole) {
      const counts = countsOf(row);
      keep(row, { counts, jobs: jobsIn(counts), at, ms: ms / whole.length, servesMs });
    }
  };

  /** Counts up to `limits` jobs of each queue. */
  async function countSome(ids: number[], limits: number[]): Promise<CountRow[]> {
    const count = await counter.upTo(ids, limits);
    remember(count, ({ id }, counted) => (counted.jobs === 0 ? known.delete(id) : known.set(id, counted)));
    return count.rows;
  }

  /** Counts all jobs of the first of these queues. If a count of them is under way, it waits for that one instead. */
  function countBatch(ids: number[], servesMs = 0): Promise<unknown> {
    const batch = firstBatch(ids, (id) => known.get(id)?.jobs);
    const already = batch.flatMap((id) => underWay.get(id) ?? []);
    if (already.length > 0) return Promise.all(already);
    const isOurs = (id: number) => underWay.get(id) === counting;
    const counting: Promise<unknown> = counter
      .all(batch)
      // A queue without jobs is remembered, too: somebody waits for its count.
      .then((count) => remember(count, ({ id }, counted) => isOurs(id) && known.set(id, counted), servesMs))
      .finally(() => {
        for (const id of batch.filter(isOurs)) underWay.delete(id);
      });
    for (const id of batch) underWay.set(id, counting);
    return counting;
  }

  /** The queues whose counts are older than this fraction of the age that they may have. */
  function olderThan(fraction: number, ids: number[]): number[] {
    const cost = ids.reduce((sum, id) => sum + (known.get(id)?.ms ?? 0), 0);
    const oldest = performance.now() - fraction * MAX_AGE * cost;
    return ids.filter((id) => countedAt(id) < oldest);
  }

  return {
    /** The counts of a queue, if it was counted to the end. */
    of: (id: number): Counted | undefined => known.get(id),

    countSome,

    countBatch,

    /** The queues whose counts are too old to be used. A count that began after `time` is never too old. */
    tooOld: (ids: number[], time: number): number[] =>
      olderThan(1, ids).filter((id) => countedAt(id) < time - (known.get(id)?.servesMs ?? 0)),

    /**
     * Renews the counts that have reached half the age that they may have. It pauses between them. So requests need not
     * wait for counts.
     */
    async refresh(ids: number[]): Promise<void> {
      const old = olderThan(1 / 2, ids);
      if (refreshing || old.length === 0) return;
      refreshing = true;
      try {
        await withPauses(old, async (left) => {
          const started = performance.now();
          await countBatch(left);
          return left.filter((id) => known.has(id) && countedAt(id) < started);
        });
      } catch {
        // Nobody waits for this count. In an outage, a request that counts will tell it.
      } finally {
        refreshing = false;
      }
    },

    /** Forgets the count of a queue, and the result of any count that runs now. */
    drop(id: number): void {
      known.delete(id);
      underWay.delete(id);
    },
  };
}

export type CountCache = ReturnType<typeof createCountCache>;
