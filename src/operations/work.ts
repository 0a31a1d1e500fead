import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import type { RelayOut } from '../enqueue/enqueueWithin.ts';
import { isOutage } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { actAs, noteAct } from '../postgres/act.ts';
import { isKeyHeld, isKeyTaken, isLockTimeout, isOfDatabase, isTimeLimit } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import type { Places } from '../queues/elsewhere.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { type Act, CannotGoOn, createOperationActs, type Page } from './acts.ts';
import { createHeldJob } from './heldJob.ts';
import { fail, type Looked, movesGroups, noteProgress, type Taken, take, walkOf } from './progress.ts';
import { servedCallers } from './servedCallers.ts';

const statements = {
  limits: planned('postgres/transaction_limits'),
  count: planned('operations/count', row<Looked & { matched: number }>()),
  page: planned('operations/page', row<Looked & Omit<Page, 'state'>>()),
  pageWithHeads: planned('operations/page_with_heads', row<Looked & Omit<Page, 'state'>>()),
  leases: planned('operations/leases', row<Looked & Omit<Page, 'state'>>()),
  later: planned('operations/later'),
};

/** Whether an operation met something that passes, and that is in the way of no other one. */
const isOfOneOperation = (error: unknown): boolean =>
  isTimeLimit(error) || (isOutage(error) && !isOfDatabase(error));

/** So many jobs are counted in the time in which one is changed. */
const COUNTED_FOR_ONE = 5;
const NOTHING: Looked & { matched: number } = { looked: 0, last_id: null, matched: 0 };

interface Portion {
  act?: Act | undefined;
  /** The rows that it looked at, of those that the throttle allowed. */
  rows: number;
}

/**
 * Runs operations. Each portion is one short transaction: it takes an operation, deals with its next jobs, and notes
 * how far it is. So a replica that is killed loses nothing and repeats nothing, and any other replica goes on.
 */
export function createOperationWork(context: {
  db: Database;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  waiters: Waiters;
  settlement: Settlement;
  throttle: BulkThrottle;
  groups: GroupHeads;
  crossing?: Places | undefined;
  relay?: Pick<RelayOut, 'sendTo'> | undefined;
  log: (error: unknown, message: string) => void;
}) {
  const { db, queues, arrivals, throttle, log } = context;
  const briefly = inTurnOf(db, { tryMs: SHORT_LOCK_WAIT_MS });
  const acts = createOperationActs(context);
  const chunk = throttle.chunks();
  const heldJob = createHeldJob();
  const served = servedCallers();

  async function countPortion(transaction: Db, op: Taken, limit: number): Promise<Portion> {
    const walk = walkOf(op, limit * COUNTED_FOR_ONE);
    // Leases were counted at the call.
    const [found = NOTHING] = walk.state === 'leased' ? [] : await transaction.query(statements.count, walk);
    await noteProgress(transaction, op, found, walk.limit, {}, found.matched);
    return { rows: found.looked === walk.limit ? limit : 0 };
  }

  async function workPortion(transaction: Db, op: Taken, size: number): Promise<Portion> {
    const most = heldJob.most(op.id, size);
    const skips = heldJob.skips(op.id);
    const queue = await queues.byId(op.queue_id);
    if (!queue) throw new CannotGoOn(`The queue ${JSON.stringify(op.queue)} was deleted.`);
    const walk = walkOf(op, most);
    const [found] = await (walk.state === 'leased'
      ? transaction.query(statements.leases, {
          id: op.id,
          queue_id: op.queue_id,
          after_id: op.after_id,
          limit: most,
        })
      : transaction.query(
          walk.state === 'blocked' && movesGroups(op) ? statements.pageWithHeads : statements.page,
          walk,
        ));
    const page = { state: walk.state, ...(found as Looked & Omit<Page, 'state'>) };
    await noteAct(transaction, actAs(op.actor ?? undefined));
    const to = op.to_id === null ? undefined : { id: op.to_id, name: op.to as string };
    const act =
      page.ids.length === 0 || skips ? undefined : await acts[op.verb](transaction, { queue, to }, page);
    const done = act?.done ?? 0;
    await noteProgress(transaction, op, page, most, { done, skipped: page.ids.length - done });
    return { act, rows: page.looked };
  }

  /** A portion of an operation, if one is running that no other replica works on at this moment. */
  async function portion(size: number): Promise<Portion | undefined> {
    let taken: Taken | undefined;
    const inTransaction = async (transaction: Db) => {
      await transaction.query(statements.limits);
      taken = await take(transaction, served.list());
      if (!taken) return undefined;
      served.add(taken.actor);
      if (!taken.has_queue) throw new CannotGoOn(`The queue ${JSON.stringify(taken.queue)} was deleted.`);
      if (taken.is_too_old)
        throw new CannotGoOn(
          'It took so long that jobs from before its call cannot be told from newer ones.',
        );
      return taken.counted ? workPortion(transaction, taken, size) : countPortion(transaction, taken, size);
    };
    const arriving = () => {
      const queueId = taken?.verb === 'retry' ? taken.queue_id : taken?.to_id;
      return typeof queueId === 'number' ? [queueId] : [];
    };
    try {
      const done = await arrivals.watch(arriving, () => briefly.transaction(inTransaction));
      if (taken) heldJob.metNoLock(taken.id, size);
      return done;
    } catch (error) {
      if (!taken) throw error;
      if (isOfOneOperation(error)) await db.query(statements.later, { id: taken.id });
      else if (isOutage(error)) throw error;
      else if (isKeyTaken(error) || isLockTimeout(error))
        heldJob.metLock(taken.id, size, isKeyTaken(error) || isKeyHeld(error));
      else {
        if (!(error instanceof CannotGoOn)) log(error, 'an operation failed');
        await fail(db, taken, (error as Error).message);
      }
      return { rows: 0 };
    }
  }

  return {
    /** The duty: one portion. Operations take turns. */
    async run(): Promise<boolean> {
      let did: Portion | undefined;
      await chunk(async (size) => {
        did = await portion(size);
        await did?.act?.afterwards();
        return did?.rows ?? 0;
      });
      return did !== undefined;
    },
  };
}
