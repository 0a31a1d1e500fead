import type { JobState } from '../job.ts';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';

export type JobCounts = Record<JobState, number>;

/** A row of sql/counting/counts.sql. */
export interface CountRow extends JobCounts {
  id: number;
  /** True when the queue may have more jobs. */
  cut: boolean;
  oldest_ready_age_seconds: number | null;
}

/** What one statement has counted. */
export interface Count {
  rows: CountRow[];
  /** When it began, and how long it took, on the clock of this process. */
  at: number;
  ms: number;
}

/**
 * A count that takes longer than SLOW_MS, and than SLOW_JOB_MS for each job, has read index entries of jobs that are
 * gone. Such counts may take a share of the time only ('whole counts').
 */
const SLOW_MS = 5;
const SLOW_JOB_MS = 0.001;

const some = prepared('counting/counts', row<CountRow>());
const all = { ...planned('counting/counts', row<CountRow>()), timeoutMs: 60_000 };

export const countsOf = ({ id, cut, oldest_ready_age_seconds, ...counts }: CountRow): JobCounts => counts;

export const jobsIn = (counts: JobCounts): number => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** Runs the statement that counts jobs. `leasesFrom`: all running leases end after this time. */
export function createJobCounter(db: Db, leasesFrom: () => string) {
  let aboveFloorsUntil = 0;

  async function count(
    statement: typeof some | typeof all,
    ids: number[],
    limits: (number | null)[],
    above_floors = false,
  ): Promise<Count> {
    const at = performance.now();
    const rows = await db.query(statement, {
      queue_ids: ids,
      limits,
      above_floors,
      leases_from: leasesFrom(),
    });
    return { rows, at, ms: performance.now() - at };
  }

  return {
    /** Counts all jobs of these queues. */
    all: (ids: number[]): Promise<Count> =>
      count(
        all,
        ids,
        ids.map(() => null),
      ),

    /**
     * Counts up to `limits` jobs of each queue. While a transaction is old, index entries of jobs that are gone stay,
     * and counts get slow. These entries are below the stored scan floors. So after a slow count, it leaves out what is
     * below them for a while.
     */
    async upTo(ids: number[], limits: number[]): Promise<Count> {
      const began = performance.now();
      if (began < aboveFloorsUntil) return count(some, ids, limits, true);
      let jobs = 0;
      try {
        const counted = await count(some, ids, limits);
        for (const row of counted.rows) jobs += jobsIn(countsOf(row));
        return counted;
      } catch (error) {
        if (!isTimeLimit(error)) throw error;
        return count(some, ids, limits, true);
      } finally {
        const ended = performance.now();
        const ms = ended - began;
        if (ms > SLOW_MS && ms > SLOW_JOB_MS * jobs) aboveFloorsUntil = ended + restAfter(ms, 'whole counts');
      }
    },
  };
}
