import type { JobState } from '../job.ts';
import type { Looks, Narrowed, Signed } from './callers.ts';
import type { PartlyAway } from './databases.ts';
import type { JobFilter } from './jobs.ts';

export const OPERATION_VERBS = ['cancel', 'retry', 'delete', 'move'] as const;
export type OperationVerb = (typeof OPERATION_VERBS)[number];

export const OPERATION_STATES = ['running', 'done', 'cancelled', 'failed'] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

/** Which jobs of a queue. */
export interface OperationFilter extends JobFilter {
  states: JobState[];
}

export interface OperationRequest extends Signed {
  verb: OperationVerb;
  queue: string;
  /** Where to move. Only with `move`. */
  to?: string;
  filter: OperationFilter;
  /** Counts only. */
  dry_run?: boolean;
}

/** Moves a queue to another database. */
export interface RelocateRequest extends Signed, Narrowed {
  queue: string;
  /** The name of the database. */
  to: string;
  /** Counts only. */
  dry_run?: boolean | undefined;
}

/** An operation, with its filter. Null filters nothing. */
export interface Operation {
  id: string;
  verb: OperationVerb | 'relocate';
  queue: string;
  /** The queue that a move goes to, or the database that a relocation goes to. */
  to: string | null;
  states: JobState[];
  group: string | null;
  fairness_key: string | null;
  worker: string | null;
  error_contains: string | null;
  created_after: string | null;
  created_before: string | null;
  dry_run: boolean;
  state: OperationState;
  /** False while the jobs that match are still being counted. */
  counted: boolean;
  matched: number;
  done: number;
  skipped: number;
  error: string | null;
  /** For how long calls for the queue of a relocation will wait, at most. Null until that is known, and for other verbs. */
  hold_seconds: number | null;
  created_at: string;
  finished_at: string | null;
}

/** A request about one operation. */
export interface OperationName extends Narrowed {
  id: string;
}

/** Which operations to list: those before the id `after`. */
export interface OperationPage extends Narrowed, Looks {
  limit: number;
  after?: string | undefined;
  queue?: string | undefined;
  state?: OperationState | undefined;
}

export interface OperationList extends PartlyAway {
  operations: Operation[];
}

/** Work on any number of jobs, in the background. Each throws `unavailable`, those about one `operation_not_found`. */
export interface OperationVerbs {
  /**
   * Starts an operation. It touches only jobs that are there at the call.
   * Guarantee: it goes on where a replica that died left it, on any replica.
   * @throws Refusal `invalid_request`, `queue_not_found`, `too_many_operations`
   */
  startOperation(request: OperationRequest): Promise<Operation>;

  /**
   * Moves a queue to another database, with its jobs, leases, keys and configuration. It is told as an operation. Calls for the
   * queue wait meanwhile, and are refused after 4.5 s (`unavailable`, `not_done`).
   * Guarantee: the queue is whole in one database, whichever replica or database dies.
   * @throws Refusal `queue_not_found`, `queue_elsewhere` when it is there already, `queue_busy`, `database_closed`,
   * `too_many_operations`, `invalid_request`
   */
  relocateQueue(request: RelocateRequest): Promise<Operation>;

  getOperation(request: OperationName & Looks): Promise<Operation>;

  /** A page of operations, newest first. A page shorter than its limit is the last one. */
  listOperations(request: OperationPage): Promise<OperationList>;

  /** Stops an operation. What it did stays done. One that has ended stays as it is. */
  stopOperation(request: OperationName): Promise<Operation>;
}
