import type { BulkThrottle } from '../batching/bulkThrottle.ts';
import { isOutage } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import { FIRST_ID } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { FilterParameters } from '../looking/jobFilter.ts';
import { actAs, noteAct } from '../postgres/act.ts';
import { isKeyTaken, isLockTimeout } from '../postgres/errorClasses.ts';
import { SHORT_LOCK_WAIT_MS } from '../postgres/lockWait.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Settlement } from '../settle/verbs.ts';
import type { OperationVerb } from '../verbs/operations.ts';
import type { Waiters } from '../waiting/waiters.ts';
import { type Act, CannotGoOn, createOperationActs, type Page } from './acts.ts';
import type { CallPoint } from './callPoint.ts';

/** An operation that a replica has taken for a portion: sql/operations/take.sql. */
interface Taken extends FilterParameters, CallPoint {
  id: string;
  verb: OperationVerb;
  queue_id: number;
  queue: string;
  to_id: number | null;
  to: string | null;
  states: JobState[];
  dry_run: boolean;
  counted: boolean;
  step: number;
  after_id: string;
  matched: number;
  has_queue: boolean;
  is_too_old: boolean;
  actor: string | null;
}

/** How far a portion has looked. */
interface Looked {
  looked: number;
  last_id: string | null;
}

const statements = {
  limits: planned('postgres/transaction_limits'),
  take: planned('operations/take', row<Taken>()),
  count: planned('operations/count', row<Looked & { matched: number }>()),
  page: planned('operations/page', row<Looked & Omit<Page, 'state'>>()),
  leases: planned('operations/leases', row<Looked & Omit<Page, 'state'>>()),
  progress: planned('operations/progress'),
};

/**
 * An operation goes through the states in this order. Leases end soonest. If ready jobs went before blocked ones, the next
 * job of each group would become ready meanwhile, and come back after the call.
 */
const ORDER: JobState[] = ['leased', 'scheduled', 'blocked', 'completed', 'cancelled', 'dead', 'ready'];
/** The states whose jobs an index has by id. */
const BY_ID: JobState[] = ['scheduled', 'blocked', 'completed', 'cancelled', 'dead'];

/** To count a job costs this much less than to change it. */
const COUNTED_FOR_ONE = 5;
const NOTHING: Looked & { matched: number } = { looked: 0, last_id: null, matched: 0 };
const LONGEST_ERROR = 500;
/** Of more callers than this, those who had no turn for longest count as new. */
const MOST_SERVED = 100;

interface Portion {
  act?: Act | undefined;
  /** The rows that it looked at, of those that the throttle allowed. */
  rows: number;
}

/**
 * Runs operations. Each portion is one short transaction: it takes an operation, deals with its next jobs, and notes how far it
 * is. So a replica that is killed loses nothing and repeats nothing, and any other replica goes on.
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
  log: (error: unknown, message: string) => void;
}) {
  const { db, queues, arrivals, throttle, log } = context;
  const briefly = inTurnOf(db, { tryMs: SHORT_LOCK_WAIT_MS });
  const acts = createOperationActs(context);
  const chunk = throttle.chunks();
  /**
   * An operation that met a unique key that an open transaction holds. Smaller and smaller portions find the job. With the
   * limit 0 this job is skipped.
   */
  let held: { id: string; limit: number } | undefined;
  /** The callers whose operations had a portion here, the last one last. */
  let served: string[] = [];

  function noteProgress(on: Db, op: Taken, found: Looked, limit: number, did: object, matched = 0) {
    const isStepOver = found.looked < limit;
    const isWalkOver = isStepOver && op.step + 1 >= op.states.length;
    const isDone = isWalkOver && (op.counted || op.dry_run || op.matched + matched === 0);
    return on.query(statements.progress, {
      id: op.id,
      state: isDone ? 'done' : 'running',
      error: null,
      counted: op.counted || isWalkOver,
      step: isWalkOver ? 0 : op.step + (isStepOver ? 1 : 0),
      after_id: isStepOver ? FIRST_ID : (found.last_id as string),
      matched,
      done: 0,
      skipped: 0,
      ...did,
    });
  }

  /** The state that an operation is at, and the parameters that tell which jobs are next. */
  function walkOf(op: Taken, limit: number) {
    const state = ORDER.filter((one) => op.states.includes(one))[op.step] as JobState;
    const { queue_id, after_id, group, fairness_key, worker, error_contains, created_after, created_before } =
      op;
    const { last_position, open_transactions, next_transaction } = op;
    return {
      ...{ queue_id, after_id, group, fairness_key, worker, error_contains, created_after, created_before },
      ...{ last_position, open_transactions, next_transaction },
      state,
      walked_state: group === null && BY_ID.includes(state) ? state : null,
      limit,
    };
  }

  async function countPortion(transaction: Db, op: Taken, limit: number): Promise<Portion> {
    const walk = walkOf(op, limit * COUNTED_FOR_ONE);
    // Leases were counted at the call.
    const [found = NOTHING] = walk.state === 'leased' ? [] : await transaction.query(statements.count, walk);
    await noteProgress(transaction, op, found, walk.limit, {}, found.matched);
    return { rows: found.looked === walk.limit ? limit : 0 };
  }

  async function workPortion(transaction: Db, op: Taken, size: number): Promise<Portion> {
    const most = held?.id === op.id ? Math.max(1, Math.min(size, held.limit)) : size;
    const skips = held?.id === op.id && held.limit === 0;
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
      : transaction.query(statements.page, walk));
    const page = { state: walk.state, ...(found as Looked & Omit<Page, 'state'>) };
    await noteAct(transaction, actAs(op.actor ?? undefined));
    const to = op.to_id === null ? undefined : { id: op.to_id, name: op.to as string };
    const act =
      page.ids.length === 0 || skips ? undefined : await acts[op.verb](transaction, { queue, to }, page);
    const done = act?.done ?? 0;
    await noteProgress(transaction, op, page, most, { done, skipped: page.ids.length - done });
    return { act, rows: page.looked };
  }

  const fail = (op: Taken, error: string) =>
    db.query(statements.progress, {
      ...{ id: op.id, state: 'failed', error: error.slice(0, LONGEST_ERROR) },
      ...{ counted: op.counted, step: op.step, after_id: op.after_id, matched: 0, done: 0, skipped: 0 },
    });

  /** A portion of an operation, if one is running that no other replica works on at this moment. */
  async function portion(size: number): Promise<Portion | undefined> {
    let taken: Taken | undefined;
    const inTransaction = async (transaction: Db) => {
      await transaction.query(statements.limits);
      [taken] = await transaction.query(statements.take, { served });
      if (!taken) return undefined;
      const caller = taken.actor ?? '';
      served = [...served.filter((one) => one !== caller), caller].slice(-MOST_SERVED);
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
      if (held !== undefined && held.id === taken?.id)
        held = held.limit >= size ? undefined : { id: held.id, limit: Math.max(1, 2 * held.limit) };
      return done;
    } catch (error) {
      if (!taken || isOutage(error)) throw error;
      if (isKeyTaken(error) || isLockTimeout(error)) {
        const limit = held?.id === taken.id ? Math.min(size, held.limit) : size;
        held = { id: taken.id, limit: limit >> 1 };
      } else {
        if (!(error instanceof CannotGoOn)) log(error, 'an operation failed');
        await fail(taken, (error as Error).message);
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
