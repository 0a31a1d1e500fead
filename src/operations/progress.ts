import { FIRST_ID } from '../ids.ts';
import type { JobState } from '../job.ts';
import type { FilterParameters } from '../looking/jobFilter.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { OperationVerb } from '../verbs/operations.ts';
import type { CallPoint } from './callPoint.ts';

/** An operation that a replica has taken for a portion: sql/operations/take.sql. */
export interface Taken extends FilterParameters, CallPoint {
  id: string;
  called_at: string;
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
export interface Looked {
  looked: number;
  last_id: string | null;
}

const statements = {
  take: planned('operations/take', row<Taken>()),
  progress: planned('operations/progress'),
};

/**
 * An operation goes through the states in this order. Leases end soonest. If ready jobs went before blocked ones, the
 * next job of each group would become ready meanwhile, and come back after the call.
 */
const ORDER: JobState[] = ['leased', 'scheduled', 'blocked', 'completed', 'cancelled', 'dead', 'ready'];
/** The states whose jobs an index has by id. */
const BY_ID: JobState[] = ['scheduled', 'blocked', 'completed', 'cancelled', 'dead'];

const LONGEST_ERROR = 500;

/**
 * The next operation, but for those that other replicas work on at this moment. Callers in `served` had their turns.
 */
export async function take(transaction: Db, served: string[]): Promise<Taken | undefined> {
  const [taken] = await transaction.query(statements.take, { served });
  return taken;
}

/** Whether an operation moves whole groups. Their heads go with the blocked jobs behind them. */
export const movesGroups = ({ verb, states }: Taken): boolean =>
  verb === 'move' && states.includes('blocked') && states.includes('ready');

/** The state that an operation is at, and the parameters that tell which jobs are next. */
export function walkOf(op: Taken, limit: number) {
  const state = ORDER.filter((one) => op.states.includes(one))[op.step] as JobState;
  const { queue_id, after_id, group, fairness_key, worker, error_contains, created_after, created_before } =
    op;
  const { last_position, open_transactions, next_transaction } = op;
  return {
    ...{ queue_id, after_id, group, fairness_key, worker, error_contains, created_after, created_before },
    ...{ last_position, open_transactions, next_transaction },
    state,
    walked_state: group === null && BY_ID.includes(state) ? state : null,
    heads_since: op.counted && movesGroups(op) ? op.called_at : null,
    limit,
  };
}

/** Notes how far an operation is, after a portion of up to `limit` jobs. */
export function noteProgress(on: Db, op: Taken, found: Looked, limit: number, did: object, matched = 0) {
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

/** Ends an operation that cannot go on. */
export const fail = (on: Db, op: Taken, error: string) =>
  on.query(statements.progress, {
    ...{ id: op.id, state: 'failed', error: error.slice(0, LONGEST_ERROR) },
    ...{ counted: op.counted, step: op.step, after_id: op.after_id, matched: 0, done: 0, skipped: 0 },
  });
