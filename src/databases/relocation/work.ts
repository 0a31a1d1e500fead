import { setTimeout as sleep } from 'node:timers/promises';
import { HOME } from '../../config/databases.ts';
import type { DatabaseEngine } from '../../engine/open.ts';
import { HeldUp, isOutage, QueueGone, Refusal } from '../../errors.ts';
import { FIRST_ID, LAST_ID } from '../../ids.ts';
import { isLockTimeout } from '../../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../../postgres/lockWait.ts';
import { causeOf } from '../../postgres/outageLog.ts';
import type { Db } from '../../postgres/pool.ts';
import { planned, row } from '../../postgres/statements.ts';
import { refuseBusy } from './busy.ts';
import { copyQueue } from './copy.ts';
import { NotWanted, type Record, type Relocation } from './record.ts';

/** One statement takes so many jobs out, puts so many back, or deletes so many. */
const SLICE = 2000;
/** What failed is tried again after this time. */
const AGAIN_MS = 500;
/** A relocation that cannot begin for so long fails. A queue that cannot leave, or be copied, for so long comes back. */
const GIVE_UP_MS = 10_000;
const TELL_MS = 1000;

/** An estimate of how fast jobs are copied, on the safe side. See docs/performance.md. */
const JOBS_PER_SECOND = 15_000;
const BYTES_PER_SECOND = 15_000_000;
const LEAST_SECONDS = 1;

const statements = {
  size: { ...planned('relocation/size'), timeoutMs: 120_000 },
  lock: planned('changing/queue_lock'),
  leave: planned('relocation/leave'),
  record: planned('relocation/record'),
  hasArrived: planned('relocation/has_arrived', row<{ has_arrived: boolean }>()),
  commits: planned('relocation/commits'),
  there: planned('databases/there'),
  takeOut: planned('relocation/take_out'),
  turnBack: planned('relocation/turn_back'),
  putBack: planned('relocation/put_back'),
  arriving: planned('relocation/arriving'),
  restore: planned('relocation/restore'),
  restoreArrivals: planned('relocation/restore_arrivals'),
  refuse: planned('relocation/refuse'),
  dropJobs: planned('relocation/drop_jobs'),
  dropRest: planned('relocation/drop_rest'),
  forget: planned('relocation/forget'),
  adoptSessions: planned('relocation/adopt_sessions'),
};

/** The engines of the databases between which a queue goes. */
export interface Between {
  source: DatabaseEngine;
  target: DatabaseEngine;
  /** Those of all other databases. */
  others: DatabaseEngine[];
}

interface Context extends Between {
  record: Record;
  relocation: Relocation;
  /** Ends the copy that is under way. */
  stop: AbortSignal;
  /** So many more jobs are copied. */
  copied(jobs: number): void;
}

/** The queue is here, with jobs that this replica knows nothing of. Those that wait for them look once. */
function welcome({ base, rooms }: DatabaseEngine, queue: string): void {
  base.queues.changed(queue);
  base.leaseHorizon.scanAll();
  base.scheduledHorizon.scanAll();
  base.notifier.ready(queue);
  rooms.repair.lookAgain();
}

/** The sessions of leases that have come here, or come back, are known here. */
const adoptSessions = ({ name, base }: DatabaseEngine, queue_id: number): Promise<unknown> =>
  base.db.query(statements.adoptSessions, { queue_id, ended: name === HOME });

/** Asks home, within a transaction in the database of `engine`. In home itself it asks by that transaction. @throws NotWanted */
const expectMine = (record: Record, relocation: Relocation, engine: DatabaseEngine, transaction: Db) =>
  record.expectMine(relocation, engine.name === HOME ? transaction : undefined);

/** Whether the queue is in this database, in place of the source. */
async function hasArrived(engine: DatabaseEngine, { id, queue_id, queue }: Relocation): Promise<boolean> {
  const [found] = await engine.base.db.query(statements.hasArrived, { queue_id, queue, relocation: id });
  return found?.has_arrived ?? false;
}

/** A copy can commit from now on. With 0, none can. @throws NotWanted */
async function noteCommits({ relocation, source }: Context, attempt: number): Promise<void> {
  const { id, queue_id } = relocation;
  const noted = await source.base.db.query(statements.commits, { queue_id, relocation: id, attempt });
  if (noted.length === 0) throw new NotWanted();
}

/** Whether the queue is in the target. If not, none of the copies that were made can arrive there any more. @throws NotWanted */
async function refuseCopies({ record, relocation, target }: Context): Promise<boolean> {
  if (await hasArrived(target, relocation)) return true;
  const { id, queue_id, attempt } = relocation;
  const refused = await target.base.db.transaction(
    async (transaction) => {
      const rows = await transaction.query(statements.refuse, { queue_id, relocation: id, attempt });
      await expectMine(record, relocation, target, transaction);
      return rows;
    },
    { queue: queue_id },
  );
  return refused.length === 0;
}

/** The queue lives in the target from now on. @throws NotWanted */
async function settle({ record, relocation, target }: Context): Promise<void> {
  await adoptSessions(target, relocation.queue_id);
  await record.next(relocation, 'cleaning', { with: 'switch' });
  welcome(target, relocation.queue);
}

/** Counts the jobs. Then calls for the queue wait. */
async function count({ record, relocation, source }: Context): Promise<void> {
  const { queue_id, dry_run } = relocation;
  const [size] = await source.base.db.query(statements.size, { queue_id });
  const { jobs, bytes } = size as { jobs: number; bytes: number };
  const seconds = LEAST_SECONDS + jobs / JOBS_PER_SECOND + bytes / BYTES_PER_SECOND;
  await record.counted(relocation, jobs, Math.ceil(seconds * 10) / 10);
  if (dry_run) {
    relocation.phase = 'ended';
    return;
  }
  // A transaction that holds the queue would keep it from leaving. Calls need not wait for that.
  await source.base.db.query(statements.lock, { queue_id }, { queue: queue_id, tryMs: SHORT_LOCK_WAIT_MS });
  await record.next(relocation, 'leaving', { unlessStopped: true, with: 'hold' });
}

/** Whoever may see the queue reads why its relocation failed. */
const namesNoOther = () => false;

/**
 * Takes the row of the queue out of the source, and then its jobs. `evenBusy`: whatever keeps the queue there.
 * @throws NotWanted; QueueGone; Refusal `queue_busy`
 */
async function leave({ record, relocation, source, stop }: Context, evenBusy = false): Promise<void> {
  const { db, queues } = source.base;
  const { id, queue_id, queue, target } = relocation;
  const asked = { queue_id, relocation: id };
  await db.transaction(
    async (transaction) => {
      // A batch may have come since the relocation was asked for. Whoever makes one holds the queue until its commit.
      const held = await transaction.query(statements.lock, { queue_id });
      await expectMine(record, relocation, source, transaction);
      if (held.length > 0 && !evenBusy) await refuseBusy(transaction, queue_id, queue, namesNoOther);
      await transaction.query(statements.leave, { ...asked, target });
    },
    { queue: queue_id },
  );
  queues.changed(queue);
  const [left] = await db.query(statements.record, { queue_id });
  if (!left) throw new QueueGone();
  if (left.relocation !== id || left.role !== 'leaving') {
    await record.expectMine(relocation);
    throw new Error(`The note that the queue is ${left.role} by relocation ${left.relocation} is in the way`);
  }
  for (let before = LAST_ID, count = SLICE; count === SLICE; ) {
    stop.throwIfAborted();
    const turn = { queue: queue_id };
    const [taken] = await db.query(statements.takeOut, { ...asked, before, limit: SLICE }, turn);
    count = taken?.count ?? 0;
    before = taken?.first_id ?? before;
  }
}

/**
 * The target has the queue already, and home had forgotten that. What home itself has of it, where it is the source, is from before,
 * and leaves.
 */
async function goOnThere(context: Context): Promise<void> {
  const { record, relocation, source } = context;
  if (source.name === HOME)
    await leave(context, true).catch((error) => {
      if (!(error instanceof QueueGone)) throw error;
    });
  await record.next(relocation, 'arriving');
}

/** Lets the queue leave, and copies it. */
async function leaveAndCopy(context: Context): Promise<void> {
  const { record, relocation, source, target, stop, copied } = context;
  if (await hasArrived(target, relocation)) return goOnThere(context);
  await leave(context);
  await copyQueue({ source: source.base.db, target: target.base.db }, relocation, {
    copied,
    signal: stop,
    async beforeCommit() {
      await noteCommits(context, relocation.attempt);
      await record.next(relocation, 'arriving', { unlessStopped: true });
    },
  });
}

/** If the copy has arrived, the queue lives in the target from now on. If not, another one is made. @throws NotWanted */
async function switchOver(context: Context): Promise<void> {
  const { record, relocation } = context;
  if (await refuseCopies(context)) return settle(context);
  await noteCommits(context, 0);
  await record.next(relocation, 'leaving');
}

/** Deletes what the source still has of the queue. */
async function clean({ record, relocation, source, target }: Context): Promise<void> {
  const { id, queue_id } = relocation;
  const { db } = source.base;
  const asked = { queue_id, relocation: id };
  for (let after = FIRST_ID, count = SLICE; count === SLICE; ) {
    const [dropped] = await db.query(statements.dropJobs, { ...asked, after, limit: SLICE });
    count = dropped?.count ?? 0;
    after = dropped?.last_id ?? after;
  }
  await db.query(statements.dropRest, asked);
  for (const engine of [source, target]) await engine.base.db.query(statements.forget, asked);
  await record.ended(relocation, 'done');
}

/** Whether the queue has left for the target by a copy that may have committed. Home does not tell: it may have forgotten that. */
async function mayHaveArrived({ relocation, source }: Context): Promise<boolean> {
  const { queue_id, id } = relocation;
  const [note] = await source.base.db.query(statements.record, { queue_id });
  if (!note) return !(await hasArrived(source, relocation));
  return note.relocation === id && note.attempt !== 0;
}

/** Whether the target has the queue. It need not answer where that cannot be. @throws NotWanted */
async function isInTarget(context: Context): Promise<boolean> {
  const may = await mayHaveArrived(context);
  return refuseCopies(context).catch((error) => {
    if (may || !isOutage(error)) throw error;
    return false;
  });
}

/** Puts the jobs and the row of the queue back into the source, where they left. */
async function putBack({ relocation, source }: Context): Promise<void> {
  const { id, queue_id } = relocation;
  const { db } = source.base;
  const asked = { queue_id, relocation: id };
  // Another replica may be about to let it leave. That holds the queue: see leave.
  const [turned] = await db.transaction(
    async (transaction) => {
      await transaction.query(statements.lock, { queue_id });
      return transaction.query(statements.turnBack, asked);
    },
    { queue: queue_id },
  );
  if (!turned) return;
  for (let after = FIRST_ID, count = SLICE; count === SLICE; ) {
    const [put] = await db.query(statements.putBack, { ...asked, after, limit: SLICE });
    count = put?.count ?? 0;
    after = put?.last_id ?? after;
  }
  await db.transaction(async (transaction) => {
    const [left] = await transaction.query(statements.record, { queue_id });
    await transaction.query(statements.arriving, { queue_id });
    const [restored] = await transaction.query(statements.restore, asked);
    if (restored) await transaction.query(statements.restoreArrivals, { arrivals: left?.arrivals ?? '[]' });
  });
}

/** Where the queue is, if not in the target. Undefined: it was deleted before it could leave. */
async function whereabouts({ relocation, source, others }: Context): Promise<string | undefined> {
  for (const engine of [source, ...others]) if (await hasArrived(engine, relocation)) return engine.name;
  return undefined;
}

/** Brings the queue back into its source, with all of its jobs. It is too late when it has arrived. */
async function comeBack(context: Context): Promise<void> {
  const { record, relocation, source, target } = context;
  const { id, queue_id, queue, is_stopped, error } = relocation;
  if (await isInTarget(context)) return goOnThere(context);
  await putBack(context);
  // Where the target is away, its note that a copy was refused stays. The next relocation writes over it.
  await target.base.db.query(statements.forget, { queue_id, relocation: id }).catch(() => undefined);
  source.base.queues.changed(queue);
  await adoptSessions(source, queue_id);
  const database = await whereabouts(context);
  await record.cameBack(relocation, is_stopped && error === null ? 'cancelled' : 'failed', database);
  welcome(source, queue);
}

/**
 * Where a relocation gives up that has only counted: whether the queue has left all the same, which home has forgotten. Then it comes
 * back, or goes on in the target.
 */
async function returnsFrom({ record, relocation, source }: Context, error?: string): Promise<boolean> {
  const { queue_id, queue, dry_run } = relocation;
  if (dry_run) return false;
  const there = await source.base.db
    .query(statements.there, { ids: [queue_id], names: [queue] })
    .catch(() => undefined);
  if (there?.length !== 0) return false;
  return record.next(relocation, 'returning', { error, with: 'hold' }).then(
    () => true,
    (failure) => {
      if (failure instanceof QueueGone) return false;
      throw failure;
    },
  );
}

const steps = {
  counting: count,
  leaving: leaveAndCopy,
  arriving: switchOver,
  cleaning: clean,
  returning: comeBack,
};

/** Whether the same step may succeed later. */
const mayPass = (error: unknown): boolean => isOutage(error) || isLockTimeout(error);

function whyOf(error: unknown): string {
  if (error instanceof QueueGone) return 'The queue was deleted.';
  if (isLockTimeout(error) || error instanceof HeldUp) return 'A transaction holds the queue.';
  if (error instanceof Refusal) return error.message;
  return causeOf((error as Error).cause ?? error);
}

/** Works on a relocation until it has ended, another replica works on it, or `stopping` is aborted. */
export async function workOn(
  relocation: Relocation,
  between: Between,
  how: { record: Record; stopping: AbortSignal; log(error: unknown, message: string): void },
): Promise<void> {
  const { record, stopping, log } = how;
  const asked = new AbortController();
  const lost = new AbortController();
  let done = 0;
  const context: Context = {
    ...{ ...between, record, relocation },
    stop: AbortSignal.any([asked.signal, lost.signal, stopping]),
    copied(jobs) {
      done += jobs;
    },
  };

  async function tell(): Promise<void> {
    if (!(await record.goOn(relocation, done))) return;
    relocation.is_stopped = true;
    asked.abort();
  }
  const telling = setInterval(
    () =>
      void tell().catch((error) => {
        if (error instanceof NotWanted) lost.abort(error);
      }),
    TELL_MS,
  );

  /** It ends where calls do not wait yet, and comes back where they do. Later, it is too late. */
  async function giveUp(error?: string): Promise<void> {
    const { phase } = relocation;
    if (phase === 'leaving') await record.next(relocation, 'returning', { error });
    if (phase !== 'counting' || (await returnsFrom(context, error))) return;
    await record.ended(relocation, error === undefined ? 'cancelled' : 'failed', error);
  }

  async function step(): Promise<void> {
    lost.signal.throwIfAborted();
    const { phase } = relocation;
    if (relocation.is_stopped && (phase === 'counting' || phase === 'leaving')) return giveUp();
    if (phase === 'ended') return;
    if (phase === 'leaving') done = 0;
    await steps[phase](context);
  }

  let failsSince: number | undefined;
  /** Returns whether this replica goes on. */
  async function afterFailure(error: unknown): Promise<boolean> {
    if (stopping.aborted || lost.signal.aborted || error instanceof NotWanted) return false;
    if (asked.signal.aborted && relocation.phase === 'leaving') return true;
    const passes = mayPass(error);
    failsSince ??= performance.now();
    const isLong = performance.now() - failsSince > GIVE_UP_MS;
    if (!passes || isLong) await giveUp(whyOf(error));
    if (!passes && !(error instanceof Refusal))
      log(error, `the relocation of the queue ${relocation.queue} met an error`);
    await sleep(AGAIN_MS, undefined, { signal: stopping }).catch(() => undefined);
    return true;
  }

  try {
    for (let goesOn = true; goesOn && relocation.phase !== 'ended'; )
      try {
        await step();
        failsSince = undefined;
      } catch (error) {
        goesOn = await afterFailure(error);
      }
    // One that home has forgotten had to wait for the end of this one. Or it was this one, and ended too early.
    if (relocation.phase === 'ended')
      for (const engine of [between.source, between.target]) await record.reopen(engine);
  } catch (error) {
    if (!(error instanceof NotWanted)) throw error;
  } finally {
    clearInterval(telling);
    await record.leave(relocation).catch(() => undefined);
  }
}
