import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../errors.ts';
import type { JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';

export interface QueueCounts {
  counts: Record<JobState, number>;
  oldest_ready_age_seconds: number | null;
}

interface Row extends Record<JobState, number> {
  id: number;
  cut: boolean;
  oldest_ready_age_seconds: number | null;
}

interface Known {
  counts: Record<JobState, number>;
  jobs: number;
  /** When its count began, and how long it took. */
  at: number;
  ms: number;
}

/** A request counts its smallest queues anew, up to so many jobs in all: 10,000 take 1 ms, or 3 before they are vacuumed. */
const ANEW = { alone: 100_000, amongOthers: 10_000 };
/** Of a queue that was never counted, so many jobs are counted first: it may be large. */
const FIRST_LOOK = 1000;
/** The counts of the other queues serve until they are so many times as old as counting all of them takes. */
const MAX_AGE = 20;
/** From half that age on they are counted again while they serve, in so large a part of the time. */
const SHARE = 1 / 10;
/** Queues go together in a statement that had so many jobs when last counted. */
const BATCH = 100_000;
/** A request waits so long for a statement, as for any other; the count goes on for those who ask again. */
const PATIENCE_MS = 4000;

const some = prepared('admin/counts', row<Row>());
const all = { ...planned('admin/counts', row<Row>()), timeoutMs: 60_000 };

function toKnown({ id, cut, oldest_ready_age_seconds, ...counts }: Row, at: number, ms: number): Known {
  return { counts, jobs: Object.values(counts).reduce((sum, n) => sum + n, 0), at, ms };
}

function patiently<T>(work: Promise<T>): Promise<T> {
  const late = sleep(PATIENCE_MS, undefined, { ref: false }).then(() => {
    throw unavailable('A very large queue is still being counted.');
  });
  return Promise.race([work, late]);
}

/** Counts jobs by state: small queues at every call, large ones now and then, in proportion to the cost. */
export function queueCounter(db: Db) {
  const known = new Map<number, Known>();
  const underWay = new Map<number, Promise<unknown>>();
  let refreshing = false;

  const countedAt = (id: number) => known.get(id)?.at ?? Number.NEGATIVE_INFINITY;

  /** Counts up to `most` jobs of each queue, null: all. Remembers what it counted to the end, if `wanted` still. */
  async function count(
    statement: typeof some | typeof all,
    ids: number[],
    most: (number | null)[],
    wanted: (id: number) => boolean,
  ): Promise<Row[]> {
    const at = performance.now();
    const rows = await db.query(statement, { queue_ids: ids, limits: most });
    const whole = rows.filter((row) => !row.cut);
    const ms = (performance.now() - at) / whole.length;
    for (const row of whole) {
      const found = toKnown(row, at, ms);
      if (found.jobs === 0) known.delete(row.id);
      else if (wanted(row.id)) known.set(row.id, found);
    }
    return rows;
  }

  /** How many jobs of each queue to count anew. */
  function budgets(ids: number[], budget: number): number[] {
    const sizes = ids.map((id) => known.get(id)?.jobs ?? 0);
    let left = budget;
    const most = ids.map(() => 0);
    for (const i of [...ids.keys()].sort((a, b) => (sizes[a] as number) - (sizes[b] as number))) {
      left -= sizes[i] as number;
      if (left < 0) break;
      most[i] = known.has(ids[i] as number) ? budget : FIRST_LOOK;
    }
    return most;
  }

  /** Counts all jobs of the first of these queues; who asks for one of them meanwhile waits for the same count. */
  function countBatch(ids: number[]): Promise<unknown> {
    let jobs = 0;
    const batch = ids.filter((id, i) => {
      jobs += known.get(id)?.jobs ?? BATCH;
      return i === 0 || jobs <= BATCH;
    });
    const joined = batch.flatMap((id) => underWay.get(id) ?? []);
    if (joined.length > 0) return Promise.all(joined);
    const isOurs = (id: number) => underWay.get(id) === counting;
    const counting: Promise<unknown> = count(
      all,
      batch,
      batch.map(() => null),
      isOurs,
    ).finally(() => {
      for (const id of batch.filter(isOurs)) underWay.delete(id);
    });
    for (const id of batch) underWay.set(id, counting);
    return counting;
  }

  /** Those whose counts are older than this part of the age up to which they serve. */
  function olderThan(part: number, ids: number[]): number[] {
    const cost = ids.reduce((sum, id) => sum + (known.get(id)?.ms ?? 0), 0);
    const oldest = performance.now() - part * MAX_AGE * cost;
    return ids.filter((id) => countedAt(id) < oldest);
  }

  /** Counts these again, with pauses, before somebody must wait for it. */
  async function refresh(ids: number[]): Promise<void> {
    if (refreshing || ids.length === 0) return;
    refreshing = true;
    try {
      for (let left = ids; left.length > 0; ) {
        const started = performance.now();
        await countBatch(left);
        left = left.filter((id) => known.has(id) && countedAt(id) < started);
        await sleep((performance.now() - started) * (1 / SHARE - 1), undefined, { ref: false });
      }
    } catch {
      // An outage is told to whoever must wait for the database.
    } finally {
      refreshing = false;
    }
  }

  return {
    /** The counts of these queues: exact where they are few jobs, else as old as MAX_AGE lets them be. */
    async countsOf(ids: number[], asked: keyof typeof ANEW): Promise<Map<number, QueueCounts>> {
      const began = performance.now();
      const rows = await count(some, ids, budgets(ids, ANEW[asked]), () => true);
      const large = rows.filter((row) => row.cut).map((row) => row.id);
      for (;;) {
        const late = olderThan(1, large).filter((id) => countedAt(id) < began);
        if (late.length === 0) break;
        await patiently(countBatch(late));
      }
      void refresh(olderThan(1 / 2, large));
      const answers = new Map<number, QueueCounts>();
      for (const row of rows) {
        const { counts } = (row.cut && known.get(row.id)) || toKnown(row, 0, 0);
        answers.set(row.id, { counts, oldest_ready_age_seconds: row.oldest_ready_age_seconds });
      }
      return answers;
    },

    /** Much was done to this queue at once: the next count is made anew. */
    forget(queueId: number): void {
      known.delete(queueId);
      underWay.delete(queueId);
    },
  };
}
