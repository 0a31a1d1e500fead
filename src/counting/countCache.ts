import { setTimeout as sleep } from 'node:timers/promises';
import type { JobState } from '../job.ts';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';

/** A row of sql/counting/counts.sql. */
export interface CountRow extends Record<JobState, number> {
  id: number;
  /** True when the queue may have more jobs. */
  cut: boolean;
  oldest_ready_age_seconds: number | null;
}

/** The counts of a queue. */
interface Counted {
  counts: Record<JobState, number>;
  jobs: number;
  /** When the count began, and how long it took. */
  at: number;
  ms: number;
}

/** The counts of large queues serve until they are this many times as old as counting all of these queues takes. */
const MAX_AGE = 20;
/** From half that age on, the counts are renewed while they serve. The renewal takes this share of the time. */
const SHARE = 1 / 10;
/** Queues that had up to this number of jobs together, when last counted, go together in a statement. */
const BATCH = 100_000;

/**
 * A count that took longer than SLOW_MS, and than SLOW_JOB_MS for each job, has read entries of jobs that are gone. Such counts take
 * this share of the time.
 */
const SLOW_MS = 5;
const SLOW_JOB_MS = 0.001;
const WHOLE_SHARE = 1 / 200;

const always = () => true;

const some = prepared('counting/counts', row<CountRow>());
const all = { ...planned('counting/counts', row<CountRow>()), timeoutMs: 60_000 };

export function toCounted(
  { id, cut, oldest_ready_age_seconds, ...counts }: CountRow,
  at = 0,
  ms = 0,
): Counted {
  return { counts, jobs: Object.values(counts).reduce((sum, n) => sum + n, 0), at, ms };
}

/**
 * Counts jobs, and remembers the counts of queues that it has counted to the end. `leasesFrom`: when the first lease may end that
 * still runs.
 */
export function createCountCache(db: Db, leasesFrom: () => string) {
  const known = new Map<number, Counted>();
  const underWay = new Map<number, Promise<unknown>>();
  /** When a queue was dropped that was not counted since. */
  const dropped = new Map<number, number>();
  let refreshing = false;
  let aboveFloorsUntil = 0;

  const countedAt = (id: number) => known.get(id)?.at ?? Number.NEGATIVE_INFINITY;

  /**
   * Counts up to `limits` jobs of each queue (null: all). Remembers the counts of the queues that it has counted to the
   * end, if these counts are still `wanted`.
   */
  async function count(
    statement: typeof some | typeof all,
    ids: number[],
    limits: (number | null)[],
    {
      above_floors = false,
      wanted = always,
    }: { above_floors?: boolean; wanted?: (id: number) => boolean } = {},
  ): Promise<CountRow[]> {
    const at = performance.now();
    const rows = await db.query(statement, {
      queue_ids: ids,
      limits,
      above_floors,
      leases_from: leasesFrom(),
    });
    const whole = rows.filter((row) => !row.cut);
    const ms = (performance.now() - at) / whole.length;
    for (const row of whole) {
      const counted = toCounted(row, at, ms);
      // A whole count is remembered even when it is zero: requests wait for it.
      if (counted.jobs === 0 && statement === some) known.delete(row.id);
      else if (wanted(row.id)) {
        known.set(row.id, counted);
        if (at > (dropped.get(row.id) ?? 0)) dropped.delete(row.id);
      }
    }
    return rows;
  }

  /**
   * Counts up to `limits` jobs of each queue. When that was slow, it leaves out what lies below the stored scan floors for a while: index
   * entries of jobs that are gone, while another transaction is old.
   */
  async function countSome(ids: number[], limits: number[]): Promise<CountRow[]> {
    const began = performance.now();
    if (began < aboveFloorsUntil) return count(some, ids, limits, { above_floors: true });
    let jobs = 0;
    try {
      const rows = await count(some, ids, limits);
      for (const row of rows) jobs += toCounted(row).jobs;
      return rows;
    } catch (error) {
      if (!isTimeLimit(error)) throw error;
      return count(some, ids, limits, { above_floors: true });
    } finally {
      const ended = performance.now();
      const ms = ended - began;
      if (ms > SLOW_MS && ms > SLOW_JOB_MS * jobs) aboveFloorsUntil = ended + restAfter(ms, WHOLE_SHARE);
    }
  }

  /** Counts all jobs of the first of these queues. If a count of them is under way, it waits for that one instead. */
  function countBatch(ids: number[]): Promise<unknown> {
    let jobs = 0;
    const batch = ids.filter((id, i) => {
      jobs += known.get(id)?.jobs ?? BATCH;
      return i === 0 || jobs <= BATCH;
    });
    const already = batch.flatMap((id) => underWay.get(id) ?? []);
    if (already.length > 0) return Promise.all(already);
    const isOurs = (id: number) => underWay.get(id) === counting;
    const counting: Promise<unknown> = count(
      all,
      batch,
      batch.map(() => null),
      { wanted: isOurs },
    ).finally(() => {
      for (const id of batch.filter(isOurs)) underWay.delete(id);
    });
    for (const id of batch) underWay.set(id, counting);
    return counting;
  }

  /** The queues whose counts are older than this fraction of the age up to which they serve. */
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

    /** The queues whose counts are too old to serve. A count that began since `time` serves in any case. */
    tooOld: (ids: number[], time: number): number[] => olderThan(1, ids).filter((id) => countedAt(id) < time),

    /** Renews the counts that are halfway to too old, with pauses, so that requests need not wait for them. */
    async refresh(ids: number[]): Promise<void> {
      const old = olderThan(1 / 2, ids);
      if (refreshing || old.length === 0) return;
      refreshing = true;
      try {
        for (let left = old; left.length > 0; ) {
          const started = performance.now();
          await countBatch(left);
          left = left.filter((id) => known.has(id) && countedAt(id) < started);
          await sleep(restAfter(performance.now() - started, SHARE), undefined, { ref: false });
        }
      } catch {
        // Nobody waits for this count. An outage shows when a request does.
      } finally {
        refreshing = false;
      }
    },

    /** Whether many jobs of a queue may have changed at once since this time. */
    isDroppedSince: (id: number, time: number): boolean =>
      (dropped.get(id) ?? Number.NEGATIVE_INFINITY) >= time,

    /** Drops what is known of a queue, and what a count that is under way will find. */
    drop(id: number): void {
      dropped.set(id, performance.now());
      known.delete(id);
      underWay.delete(id);
    },
  };
}
