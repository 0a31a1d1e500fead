import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { FIRST_ID } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue } from '../queues/cache.ts';
import { callPoint } from './callPoint.ts';

interface Context {
  db: Database;
  throttle: BulkThrottle;
  groups: GroupHeads;
}

interface Batch {
  count: number;
  /** The groups whose heads it deleted. */
  groups: string[] | null;
}

/** The last job of a batch. The next batch begins behind it. Null when the batch was empty. */
interface ById {
  after_id: string | null;
}

type Cleared = Omit<Batch, 'groups'> & ById;

interface ByPosition {
  after_rank: number | null;
  after_position: number | null;
}

interface ByKey extends ByPosition {
  after_key: string | null;
}

const statements = {
  now: planned('operations/call_time', row<{ now: string }>()),
  purge: planned('operations/purge', row<Batch & ById>()),
  purgeReady: planned('operations/purge_ready', row<Batch & ByPosition>()),
  purgeFair: planned('operations/purge_fair', row<Batch & ByKey>()),
  clear: planned('changing/queue_clear', row<Cleared>()),
  clearWindows: planned('changing/windows_clear'),
};

/**
 * Waiting jobs go in this order. If ready jobs went first, a group that loses its head could get a new one meanwhile.
 */
const TOWARDS_READY: JobState[] = ['scheduled', 'blocked', 'ready'];

/** Jobs that one statement deletes while the queue is locked. */
const LOCKED_CHUNK = 1000;

const FIRST: ById = { after_id: FIRST_ID };
/** Before every ready job. A rank is a negated priority, and priorities end at 100. */
const FIRST_READY: ByKey = { after_rank: -101, after_key: '', after_position: 0 };

/** The time of a call by the database's clock. A redrive touches no job that died later. */
export async function callTime(db: Db): Promise<string> {
  const [row] = await db.query(statements.now);
  return (row as { now: string }).now;
}

/** Runs `batch` for one batch of jobs after the other, from behind `first`, until one is empty. `seen` gets each. */
async function inBatches<After, Done extends { count: number }>(
  throttle: BulkThrottle,
  first: After,
  batch: (after: After, limit: number) => Promise<(After & Done)[]>,
  seen: (done: Done) => void,
): Promise<void> {
  const chunk = throttle.chunks();
  let after = first;
  let count: number;
  do {
    count = await chunk(async (size) => {
      const [done] = (await batch(after, size)) as [After & Done];
      after = done;
      seen(done);
      return done.count;
    });
  } while (count > 0);
}

const inOrder = (states: JobState[]) =>
  [...new Set(states)].sort((a, b) => TOWARDS_READY.indexOf(a) - TOWARDS_READY.indexOf(b));

/**
 * Deletes the jobs that are in these states now. Returns their number. A job that comes, or comes back, while it runs
 * stays.
 */
function createPurgeStates({ db, throttle, groups }: Context) {
  return async ({ id: queue_id }: Queue, states: JobState[]): Promise<number> => {
    const common = { queue_id, ...(await callPoint(db)) };
    const headless = new Set<string>();
    let count = 0;
    const note = (done: Batch) => {
      count += done.count;
      for (const group of done.groups ?? []) headless.add(group);
    };
    const all = <After>(first: After, batch: (after: After, limit: number) => Promise<(After & Batch)[]>) =>
      inBatches(throttle, first, batch, note);

    for (const state of inOrder(states)) {
      if (state === 'ready') {
        await all<ByPosition>(FIRST_READY, ({ after_rank, after_position }, limit) =>
          db.query(statements.purgeReady, { ...common, after_rank, after_position, limit }),
        );
        await all<ByKey>(FIRST_READY, ({ after_rank, after_key, after_position }, limit) =>
          db.query(statements.purgeFair, { ...common, after_rank, after_key, after_position, limit }),
        );
      } else
        await all<ById>(FIRST, ({ after_id }, limit) =>
          db.query(statements.purge, { ...common, state, after_id, limit }),
        );
    }
    // This comes last: the purge of ready jobs would go on to the new heads.
    await groups.advance(queue_id, headless);
    return count;
  };
}

/** Deletes jobs by the thousand, in chunks. Each chunk is a transaction of its own. */
export function createPurge(context: Context) {
  const { db, throttle } = context;

  return {
    purge: createPurgeStates(context),

    /** Deletes the jobs of a queue, leased ones too, until it has overtaken the producers. */
    async clear({ id: queue_id }: Queue): Promise<void> {
      const on = inTurnOf(db, { queue: queue_id });
      const chunk = throttle.chunks();
      let after = FIRST;
      for (let more = true; more; )
        await chunk(async (limit) => {
          const [done] = (await on.query(statements.clear, { queue_id, ...after, limit })) as [Cleared];
          after = done;
          more = done.count === limit;
          return done.count;
        });
    },

    /** Deletes the jobs of a queue that `transaction` has locked. They are few, and none can come. */
    async clearLocked({ id: queue_id }: Queue, transaction: Db): Promise<void> {
      let done: Cleared = { ...FIRST, count: 0 };
      do
        [done] = (await transaction.query(statements.clear, {
          queue_id,
          after_id: done.after_id,
          limit: LOCKED_CHUNK,
        })) as [Cleared];
      while (done.count > 0);
    },

    /** Deletes the unique windows of a queue that is gone. */
    async clearWindows({ id: queue_id }: Queue): Promise<void> {
      let rows: unknown[];
      do rows = await db.query(statements.clearWindows, { queue_id });
      while (rows.length > 0);
    },
  };
}

export type Purge = ReturnType<typeof createPurge>;
