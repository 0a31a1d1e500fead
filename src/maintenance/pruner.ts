import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import { FIRST_ID } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Clock } from '../postgres/clock.ts';
import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row, type Statement } from '../postgres/statements.ts';
import { restAfter } from '../shareOfTime.ts';
import { createScanHorizon } from './scanHorizon.ts';

/** Finished jobs of one queue and state that outlived their retention. */
interface Prunable {
  queue_id: number;
  state: JobState;
  retention_seconds: number;
  first_finished_at: string;
}

/** The last job that a batch deleted. The next batch begins behind it. */
interface Last {
  after_finished_at: string | null;
  after_id: string | null;
}

interface Expired {
  ended_at: string;
}

const statements = {
  prunable: planned('maintenance/prunable', row<Prunable>()),
  jobs: planned('maintenance/prune_jobs', row<Last & { count: number }>()),
  answers: planned('maintenance/prune_answers', row<Expired>()),
  windows: planned('maintenance/prune_windows', row<Expired>()),
  claims: planned('maintenance/prune_claims', row<Expired>()),
  keys: planned('maintenance/prune_keys', row<Expired>()),
  audit: planned('maintenance/prune_audit', row<Expired>()),
  history: planned('maintenance/prune_history', row<Expired>()),
  operations: planned('maintenance/prune_operations', row<{ id: string }>()),
};

/** A pass that has much to do looks this often for queues that have something to prune by now. */
const LOOK_MS = 1000;
/**
 * A look at all jobs that takes longer than this has read index entries of jobs that are gone. Then such looks become
 * rarer (src/shareOfTime.ts).
 */
const SLOW_MS = 20;
/** Between two looks at all jobs, a look finds only jobs whose retention ended within this time. */
const RECENT_SECONDS = 60;

/**
 * How many rows those statements delete at once that do not delete jobs: prune_answers.sql, prune_windows.sql,
 * prune_claims.sql, prune_keys.sql, prune_audit.sql, prune_history.sql.
 */
const BATCH = 1000;

/** Deletes finished jobs that outlived the retention of their queue. Queues take turns, a chunk each. */
export function pruneJobs({ db, throttle }: { db: Db; throttle: BulkThrottle }): () => Promise<boolean> {
  const chunk = throttle.chunks();
  /** What there is to prune, by queue and state. Those that were served last are last. */
  const left = new Map<string, Prunable & Last>();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let wholeFrom = Number.NEGATIVE_INFINITY;

  const lookBack = (since_seconds: number | null) => db.query(statements.prunable, { since_seconds });

  async function find(): Promise<Prunable[]> {
    const started = performance.now();
    if (started < wholeFrom) return lookBack(RECENT_SECONDS);
    try {
      return await lookBack(null);
    } catch (error) {
      if (!isTimeLimit(error)) throw error;
      return lookBack(RECENT_SECONDS);
    } finally {
      const ended = performance.now();
      if (ended > started + SLOW_MS) wholeFrom = ended + restAfter(ended - started, 'whole prunes');
    }
  }

  async function look(): Promise<void> {
    for (const one of await find()) {
      const key = `${one.queue_id} ${one.state}`;
      const beginning: Last = { after_finished_at: one.first_finished_at, after_id: FIRST_ID };
      const { after_finished_at, after_id } = left.get(key) ?? beginning;
      left.set(key, { ...one, after_finished_at, after_id });
    }
    lookedAt = performance.now();
  }

  return async () => {
    if (left.size === 0 || performance.now() > lookedAt + LOOK_MS) await look();
    const [next] = left;
    if (!next) return false;
    const [key, one] = next;
    // Where that fails, it is another one's turn all the same.
    left.delete(key);
    left.set(key, one);
    await chunk(async (limit) => {
      const [done] = await db.query(statements.jobs, { ...one, limit });
      const { count = 0, ...last } = done ?? {};
      if (count === limit) left.set(key, { ...one, ...(last as Last) });
      else left.delete(key);
      return count;
    });
    return left.size > 0;
  };
}

/**
 * A row that commits more than `marginMs` after its time was over may stay until the next full scan. Nobody sees it.
 */
const MARGINS = { marginMs: 500, fullScanMs: 30_000 };

/** Deletes rows whose time is over, oldest first. Starts at a scan horizon. */
function pruneExpired<Parameters extends { from: string | null }>(
  { db, clock }: { db: Db; clock: Clock },
  statement: Statement<Parameters, Expired>,
  others: Omit<Parameters, 'from'>,
): () => Promise<boolean> {
  const horizon = createScanHorizon(clock, MARGINS);
  return () =>
    horizon.from(async (from) => {
      const rows = await db.query(statement, { ...others, from } as Parameters);
      if (rows.length < BATCH) return undefined;
      return rows.reduce((last, { ended_at }) => (ended_at > last ? ended_at : last), '');
    });
}

/** Deletes the answers of idempotency keys whose 24 hours are over. */
export const pruneAnswers = (context: { db: Db; clock: Clock }) =>
  pruneExpired(context, statements.answers, {});

/** Deletes the windows of unique keys that are over. */
export const pruneWindows = (context: { db: Db; clock: Clock }) =>
  pruneExpired(context, statements.windows, {});

/** Deletes the rows of claims with a claim_id that have no leases any more. */
export const pruneClaims = (context: { db: Db; clock: Clock }) =>
  pruneExpired(context, statements.claims, {});

/** Deletes access keys that were revoked, or expired, long ago. */
export const pruneKeys = (context: { db: Db; clock: Clock }) => pruneExpired(context, statements.keys, {});

/** Deletes audit rows that are too old. Where there are too many, cutter.ts deletes more. */
export const pruneAudit = (context: { db: Db; clock: Clock }) => pruneExpired(context, statements.audit, {});

/** Deletes rows of the history that are too old. Where there are too many, cutter.ts deletes more. */
export const pruneHistory = (context: { db: Db; clock: Clock }) =>
  pruneExpired(context, statements.history, {});

/** How long operations that ended are kept, and how many of them, of one caller and of all. */
const OPERATIONS_DAYS = 30;
const MOST_OPERATIONS_OF_ONE = 1000;
const MOST_OPERATIONS = 10_000;

/** Deletes operations that ended long ago, or have too many newer ones. Returns whether there may be more. */
export const pruneOperations =
  ({ db }: { db: Db }) =>
  async (): Promise<boolean> => {
    const deleted = await db.query(statements.operations, {
      days: OPERATIONS_DAYS,
      most_of_one: MOST_OPERATIONS_OF_ONE,
      most: MOST_OPERATIONS,
      limit: BATCH,
    });
    return deleted.length === BATCH;
  };
