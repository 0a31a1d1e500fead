import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import { type MayBeKeyless, regainAtOnce } from '../enqueue/regainKeys.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads, Moved } from '../groups/heads.ts';
import { FIRST_ID } from '../ids.ts';
import type { Tally } from '../metrics/tally.ts';
import type { Clock } from '../postgres/clock.ts';
import { isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Db } from '../postgres/pool.ts';
import { prepared, row } from '../postgres/statements.ts';
import { inTurnOf, type TransactionsInTurns } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import { positionsFor } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Changed, Waiters } from '../waiting/waiters.ts';
import { createDueJobs } from './dueJobs.ts';
import type { RescueGrace } from './rescueGrace.ts';
import { createScanHorizon, type ScanHorizon, type Walk, walkFrom } from './scanHorizon.ts';

interface Context {
  db: TransactionsInTurns;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  waiters: Waiters;
  settlement: Settlement;
  clock: Clock;
  throttle: BulkThrottle;
  groups: GroupHeads;
  tally: Tally;
}

/**
 * Jobs of one queue whose time has come, in the order of their times, and the last job of the page that they are from.
 */
interface Due {
  queue_id: number;
  /** With commas between them. */
  ids: string;
  last: string;
  last_queue_id: number;
  last_id: string;
}

/** Where a search goes on. */
interface Place {
  from: string;
  after_queue_id: number;
  after_id: string;
}

/** The number of jobs that one statement finds. */
const PAGE = 10_000;
/**
 * While a sweep moves many jobs, it looks this often for more jobs whose time has come. A look takes this long at most.
 */
const LOOK_MS = 200;
/** A sweep holds at most this number of jobs that it has found and not moved yet. They take some 20 MB. */
const MOST_FOUND = 200_000;

const statements = {
  dueLeases: prepared('maintenance/due_leases', row<Due>()),
  rescue: prepared('maintenance/rescue', row<Moved & Changed & MayBeKeyless>()),
  dueScheduled: prepared('maintenance/due_scheduled', row<Due>()),
  endLeases: prepared('sessions/end_leases', row<Moved & Changed & MayBeKeyless>()),
  promote: prepared('maintenance/promote', row<Moved>()),
  dueExpiries: prepared('maintenance/due_expiries', row<Due>()),
  expire: prepared('maintenance/expire', row<Moved & Changed>()),
};

/** What is done to jobs of one queue. */
interface Move {
  move(db: Db, queueId: number, ids: string[]): Promise<(Moved & Changed)[]>;
  /** Counts the jobs that were moved. */
  tell?(queueId: number, jobs: (Moved & Changed)[]): void;
}

/**
 * One kind of sweep: a statement that finds jobs, and `move`, which moves those of one queue in the order of their
 * times.
 */
interface Sweep extends Move {
  find(db: Db, place: Place): Promise<Due[]>;
  /** The `after_id` with which the search begins. */
  firstId: string;
}

/** Moves jobs, and does what has to be done after it. Returns how many it has moved, or `held`: a lock is in the way. */
async function moveDue(
  { db, queues, arrivals, notifier, waiters, settlement, groups }: Omit<Context, 'clock' | 'throttle'>,
  { move, tell }: Move,
  queueId: number,
  ids: string[],
): Promise<number | 'held'> {
  const briefly = inTurnOf(db, { tryMs: SHORT_LOCK_WAIT_MS });
  const jobs = await arrivals
    .watch(
      () => [queueId],
      () => move(briefly, queueId, ids),
    )
    .catch((error) => {
      if (isLockTimeout(error)) return undefined;
      throw error;
    });
  if (!jobs) return 'held';
  tell?.(queueId, jobs);
  waiters.changed(jobs);
  await regainAtOnce({ db, notifier }, jobs);
  const queue = await queues.byId(queueId);
  if (!queue) return jobs.length;
  await settlement.dropCancelled(queue, jobs);
  if (queue.max_leased !== null || jobs.some((job) => job.state === 'ready')) notifier.ready(queue.name);
  await groups.advanceAfter(jobs);
  return jobs.length;
}

/**
 * Moves jobs whose time has come, in the order of their times within each queue. To find jobs costs little, and to move
 * them costs much. So it looks ahead, and each chunk that it moves has a part of every queue: a queue with a few jobs
 * does not wait for one with 100,000.
 */
function sweeper(context: Context, sweep: Sweep, horizon: Walk): () => Promise<boolean> {
  const chunk = context.throttle.chunks();
  const found = createDueJobs();
  /** Where the search goes on. Undefined when no search is under way. */
  let place: Place | undefined;
  let atEnd = false;
  let lookedAt = Number.NEGATIVE_INFINITY;

  /**
   * Looks for more jobs whose time has come. When it takes long, it stops. Then a chunk is moved, and the next look
   * goes on where this one stopped.
   */
  async function look(from: string): Promise<void> {
    const started = performance.now();
    if (atEnd && found.size() > 0 && started < lookedAt + LOOK_MS) return;
    do {
      if (found.size() >= MOST_FOUND) return;
      place ??= { from, after_queue_id: 0, after_id: sweep.firstId };
      const next = place;
      // If this fails, the next search begins at the scan horizon.
      place = undefined;
      const rows = await sweep.find(context.db, next);
      place = next;
      const before = found.size();
      for (const { queue_id, ids } of rows) found.add(queue_id, ids.split(','));
      atEnd = found.size() < before + PAGE;
      const [last] = rows;
      if (last) place = { from: last.last, after_queue_id: last.last_queue_id, after_id: last.last_id };
      lookedAt = performance.now();
    } while (!atEnd && lookedAt < started + LOOK_MS);
  }

  /** Moves some of what was found. A queue that meets a lock keeps no other one from it. Returns how many jobs were dealt with. */
  async function moveChunk(limit: number): Promise<number> {
    const parts = found.take(limit);
    const held: typeof parts = [];
    let dealtWith = 0;
    try {
      for (let part = parts[0]; part; part = parts[0]) {
        if ((await moveDue(context, sweep, part.queueId, part.ids)) === 'held') held.push(part);
        else dealtWith += part.ids.length;
        parts.shift();
      }
    } finally {
      for (const { queueId, ids } of [...parts, ...held]) found.putBack(queueId, ids);
    }
    return dealtWith;
  }

  return async () => {
    let isAllHeld = false;
    const isMore = await horizon.from(async (from) => {
      await look(from);
      if (found.size() > 0) isAllHeld = (await chunk(moveChunk)) === 0;
      if (found.size() > 0 || !atEnd) return place?.from;
      place = undefined;
      return undefined;
    });
    if (!isAllHeld) return isMore;
    // The next sweep finds it again, beside what has come meanwhile.
    found.clear();
    place = undefined;
    horizon.startOver();
    return false;
  };
}

const ANY_TIME = '-infinity';

/**
 * Takes back leases that ran out. Their jobs are ready again, dead when out of attempts, or cancelled if a client
 * asked.
 */
export function rescueLeases(context: Context & { leaseHorizon: ScanHorizon; rescueGrace: RescueGrace }) {
  const { leaseHorizon, rescueGrace } = context;

  /** A sweep of the leases that were given from this time on. It begins at this time: none of them ran out earlier. */
  function rescueGiven(given_from: string, horizon: Walk) {
    return sweeper(
      context,
      {
        find: (db, place) => db.query(statements.dueLeases, { ...place, given_from, limit: PAGE }),
        firstId: FIRST_ID,
        move: async (db, queue_id, due) =>
          db.query(statements.rescue, { queue_id, given_from, ...(await positionsFor(db, due)) }),
        tell: context.tally.rescued,
      },
      horizon,
    );
  }

  let current: string | undefined;
  let sweep = rescueGiven(ANY_TIME, leaseHorizon);

  return () =>
    rescueGrace.sweeping((givenFrom) => {
      if (givenFrom !== current) {
        current = givenFrom;
        if (givenFrom === undefined) leaseHorizon.startOver();
        sweep =
          givenFrom === undefined
            ? rescueGiven(ANY_TIME, leaseHorizon)
            : rescueGiven(givenFrom, walkFrom(givenFrom));
      }
      return sweep();
    });
}

/**
 * Takes back leases of one queue whose sessions have ended, in the order of their ids: an array that ascends. Returns
 * how many: it leaves those alone that somebody has locked.
 */
export const createEndLeases =
  (context: Omit<Context, 'clock' | 'throttle'>) =>
  async (queueId: number, ids: string[]): Promise<number> => {
    const ended = await moveDue(
      context,
      {
        move: async (db, queue_id, ended) =>
          db.query(statements.endLeases, { queue_id, ...(await positionsFor(db, ended)) }),
        tell: context.tally.rescued,
      },
      queueId,
      ids,
    );
    return ended === 'held' ? 0 : ended;
  };

export type EndLeases = ReturnType<typeof createEndLeases>;

/** Makes scheduled jobs ready, or blocked in their groups, when their `run_at` has come. */
export const promoteScheduled = (context: Context & { scheduledHorizon: ScanHorizon }) =>
  sweeper(
    context,
    {
      find: (db, place) => db.query(statements.dueScheduled, { ...place, limit: PAGE }),
      firstId: '0',
      move: async (db, queue_id, due) =>
        db.query(statements.promote, { queue_id, ...(await positionsFor(db, due)) }),
    },
    context.scheduledHorizon,
  );

/**
 * When a job comes back after its `expires_at` (a retry, a release), that time is before the scan horizon. Only a full
 * scan finds the job, so there is one this often.
 */
const EXPIRIES_FULL_SCAN_MS = 400;

/** Makes jobs dead that have expired and still wait. */
export const expireJobs = (context: Context) =>
  sweeper(
    context,
    {
      find: (db, place) => db.query(statements.dueExpiries, { ...place, limit: PAGE }),
      firstId: FIRST_ID,
      move: (db, queue_id, due) => db.query(statements.expire, { queue_id, ids: due.toSorted() }),
      tell: context.tally.counting('expired', 'dead'),
    },
    createScanHorizon(context.clock, { fullScanMs: EXPIRIES_FULL_SCAN_MS }),
  );
