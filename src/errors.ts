/** Every code with which a verb refuses a request. Programs rely on them, so a code never changes its meaning. */
export type RefusalCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'forbidden'
  | 'job_not_found'
  | 'queue_not_found'
  | 'schedule_not_found'
  | 'key_not_found'
  | 'operation_not_found'
  | 'database_not_found'
  | 'batch_not_found'
  | 'session_not_found'
  | 'lease_lost'
  | 'job_leased'
  | 'job_finished'
  | 'queue_not_empty'
  | 'queue_elsewhere'
  | 'queue_busy'
  | 'database_closed'
  | 'batch_closed'
  | 'unique_key_taken'
  | 'key_name_taken'
  | 'too_many_keys'
  | 'too_many_operations'
  | 'too_many_queues'
  | 'too_many_paused_groups'
  | 'too_many_sessions'
  | 'idempotency_key_reused'
  | 'queue_full'
  | 'rate_limited'
  | 'unavailable'
  | 'overloaded';

/**
 * A wrong field of a request. `path` is a JSON pointer (RFC 6901). Where the field came from is for the protocol to
 * say.
 */
export interface FieldError {
  path: string;
  message: string;
}

/**
 * Whether a change that was refused may have been made all the same: `not_done` is safe to repeat as it is. `unknown`
 * may have been done, or may still be.
 */
export type Outcome = 'not_done' | 'unknown';

/**
 * A request is not carried out. The message tells its sender why. A protocol has a `Code` of its own for what it
 * refuses itself.
 */
export class Refusal<Code extends string = RefusalCode> extends Error {
  readonly code: Code;
  readonly errors: FieldError[] | undefined;
  /** Only of `unavailable` and `overloaded`. */
  readonly outcome: Outcome | undefined;
  /** Sooner than that, the request would be refused again. */
  retryAfterSeconds = 1;

  constructor(
    code: NoInfer<Code>,
    detail: string,
    errors?: FieldError[],
    outcome?: Outcome,
    cause?: unknown,
  ) {
    // A refusal is an answer, and no bug to be found. The stacks of 1000 refusals took 30 ms.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(detail, { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Refusal';
    this.code = code;
    this.errors = errors;
    this.outcome = outcome;
  }
}

export function invalidRequest(errors: [FieldError, ...FieldError[]]): Refusal {
  const problems = errors.map(({ path, message }) => `${path} ${message}`);
  return new Refusal('invalid_request', `${problems.join('; ')}.`, errors);
}

export const jobNotFound = (id: string) =>
  new Refusal(
    'job_not_found',
    `There is no job ${JSON.stringify(id)}. It never existed, or it is finished and was not kept.`,
  );

export const queueNotFound = (name: string) =>
  new Refusal('queue_not_found', `There is no queue ${JSON.stringify(name)}.`);

export const scheduleNotFound = (name: string) =>
  new Refusal('schedule_not_found', `There is no schedule ${JSON.stringify(name)}.`);

/** Says the same whatever is wrong with the credential: a stranger learns nothing. */
export const unauthorized = () => new Refusal('unauthorized', 'A valid access key is required');

export const keyNotFound = (id: string) =>
  new Refusal('key_not_found', `There is no access key ${JSON.stringify(id)}.`);

export const keyNameTaken = (name: string) =>
  new Refusal(
    'key_name_taken',
    `Another access key has the name ${JSON.stringify(name)}. Revoke that key, or choose another name.`,
  );

export const tooManyKeys = (most: number) =>
  new Refusal(
    'too_many_keys',
    `There are already ${most} access keys, the most that are allowed. Revoke some first.`,
  );

export const operationNotFound = (id: string) =>
  new Refusal(
    'operation_not_found',
    `There is no operation ${JSON.stringify(id)}. It never existed, or it ended and is no longer kept.`,
  );

export const databaseNotFound = (name: string) =>
  new Refusal('database_not_found', `There is no database ${JSON.stringify(name)}.`);

export const batchNotFound = (id: string) =>
  new Refusal(
    'batch_not_found',
    `There is no batch ${JSON.stringify(id)}. It never existed, or it ended and is no longer kept.`,
  );

export const sessionNotFound = (id: string) =>
  new Refusal(
    'session_not_found',
    `There is no session ${JSON.stringify(id)}. It never existed, or it has ended. Open another one.`,
  );

/** Nobody can tell whether a session goes on. */
export const sessionsAway = () =>
  unavailable('The database "home", where the sessions are, does not answer. Try again later.');

export const tooManySessions = (most: number) =>
  new Refusal(
    'too_many_sessions',
    `There are already ${most} sessions of this caller, the most that are allowed. One worker needs one.`,
  );

export const batchClosed = (id: string) =>
  new Refusal(
    'batch_closed',
    `Batch ${id} is closed. Only its own jobs can add jobs, with "enqueue" in their ack or nack.`,
  );

/** A second close. */
export const batchAlreadyClosed = (id: string) =>
  new Refusal('batch_closed', `Batch ${id} is closed already. A second close changes nothing.`);

/** `isOwn`: one caller may have no more. */
export const tooManyOperations = (most: number, isOwn: boolean) =>
  new Refusal(
    'too_many_operations',
    `${most} operations${isOwn ? ' of yours' : ''} are running. Wait until one of them ends, or stop one.`,
  );

export const tooManyQueues = () =>
  new Refusal(
    'too_many_queues',
    'There can be no more queues: all 16,777,215 queue numbers are in use. Delete queues that are not needed. The number of a deleted queue can be used again after 31 days.',
  );

export const tooManyPausedGroups = (name: string, most: number) =>
  new Refusal(
    'too_many_paused_groups',
    `${most} groups of queue ${name} are paused. Resume one of them first, or pause the queue.`,
  );

export const leaseLost = (id: string) =>
  new Refusal(
    'lease_lost',
    `This lease of job ${id} is over: the job was released or rescued, and another worker may have it. Stop working on it.`,
  );

export const jobLeased = (id: string) =>
  new Refusal('job_leased', `A worker has leased job ${id}. Wait until the job is settled, or cancel it.`);

export const jobFinished = (id: string, state: string) =>
  new Refusal('job_finished', `Job ${id} is already ${state}.`);

export const uniqueKeyTaken = (id: string) =>
  new Refusal(
    'unique_key_taken',
    `Another unfinished job has the unique key of job ${id}. Retry job ${id} when that job is finished.`,
  );

export const queueNotEmpty = (name: string) =>
  new Refusal('queue_not_empty', `Queue ${name} still has jobs.`);

export const queueHasBatch = (name: string) =>
  new Refusal('queue_not_empty', `Queue ${name} has a batch that is not finished.`);

export const queueElsewhere = (name: string, database: string) =>
  new Refusal('queue_elsewhere', `Queue ${name} is in the database ${JSON.stringify(database)}.`);

/** What stands at `path` is in the database `own`, and has to be in that of `beside`, which is `there`. */
export function notTogether(path: string, own: string, beside: string, there: string): Refusal {
  const databases = `it is in ${JSON.stringify(own)}, and that in ${JSON.stringify(there)}`;
  const message = `must be in the same database as ${beside}: ${databases}`;
  return new Refusal('queue_elsewhere', `${path} ${message}.`, [{ path, message }]);
}

/** `why` goes on from the name of the queue. */
export const queueBusy = (name: string, why: string) =>
  new Refusal('queue_busy', `Queue ${name} ${why}. Try again when that has ended.`);

export const databaseClosed = (name: string) =>
  new Refusal('database_closed', `The database ${JSON.stringify(name)} takes no queues. Open it first.`);

export const idempotencyKeyReused = (key: string) =>
  new Refusal(
    'idempotency_key_reused',
    `The Idempotency-Key ${JSON.stringify(key)} was used with another body within the last 24 hours. Use a new key.`,
  );

export const queueFull = (name: string) =>
  new Refusal('queue_full', `Queue ${name} is full: these jobs would exceed its max_ready. Try again later.`);

export function rateLimited(detail: string, retryAfterSeconds: number): Refusal {
  const refusal = new Refusal('rate_limited', detail);
  refusal.retryAfterSeconds = retryAfterSeconds;
  return refusal;
}

export const unavailable = (
  detail = 'The database does not answer. Try again later.',
  outcome: Outcome = 'not_done',
  cause?: unknown,
) => new Refusal('unavailable', detail, undefined, outcome, cause);

const NOTHING = 'Nothing was done.';
const SOME = 'Some of it may be done.';

/** Another transaction has locked what the request needs. The request has done nothing. */
export class HeldUp extends Refusal {
  constructor(cause: unknown) {
    const why = 'Another transaction has locked the unique key, the job or the queue for too long.';
    super('unavailable', `${why} ${NOTHING} Try again later.`, undefined, 'not_done', cause);
  }
}

/** An outage that came when a part of the work was done, or may have been. Other errors stay as they are. */
export const withUnknownOutcome = (error: unknown): unknown =>
  error instanceof Refusal && error.outcome !== undefined
    ? new Refusal(error.code, error.message.replace(NOTHING, SOME), undefined, 'unknown', error.cause)
    : error;

/** Throws the error of work that may have been done in part. */
export function rethrowPartlyDone(error: unknown): never {
  throw withUnknownOutcome(error);
}

/** This replica holds as much as its memory should. The request was refused before it began. */
export const overloaded = (why = 'This replica has as many requests as its memory allows.') =>
  new Refusal('overloaded', `${why} ${NOTHING} Try again later.`, undefined, 'not_done');

/** The database, or this replica, cannot serve now. */
export const isOutage = (error: unknown) =>
  error instanceof Refusal && (error.code === 'unavailable' || error.code === 'overloaded');

/** Dibs cannot start, and waiting does not help. The message says why. */
export class StartError extends Error {}

/** A cached queue was deleted. The caller looks its name up again. */
export class QueueGone extends Error {}
