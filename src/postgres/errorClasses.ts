import pg from 'pg';
import { batchClosed, batchNotFound, HeldUp, Refusal, unavailable } from '../errors.ts';
import { WrongServer } from './wrongServer.ts';

/* What an error of the database or of its driver means for us. */

/** SQLSTATE classes and codes of a server that can't serve now (PostgreSQL manual, appendix A). 55000: it takes no connections. */
const OUTAGE = /^(08...|53...|57P0.|57014|25006|25P0[34]|55000|3D000|3F000|28...|42501|42P01)$/;
/** A start that meets one of these meets it again: authentication, no such role or database, missing privileges. */
const HOPELESS = /^(28...|3D000|42501)$/;
/** Codes of OpenSSL and Node for a certificate that does not hold: of a stranger, of another host, or expired. */
const UNTRUSTED =
  /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_|PATH_LENGTH_|HOSTNAME_MISMATCH|ERR_TLS_CERT_)/;
const NO_TLS = 'The server does not support SSL connections';
/** Messages of the driver, which have no code, about a connection that is gone or silent. */
const FROM_DRIVER =
  /^(Connection terminated|timeout (exceeded|expired)|Query read timeout|Client (was|has)|Cannot use a pool after|There was an error establishing an SSL)/;

function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/**
 * Whether a connection keeps a plan whose columns have other types since a migration, which a newer replica ran. The
 * message may be in another language, so the code has to do: we use no feature that PostgreSQL lacks (its only other
 * meaning here).
 */
export const isStalePlan = (error: unknown): boolean => sqlState(error) === '0A000';

/** Whether a row would break this unique constraint. */
const violates = (error: unknown, constraint: string): boolean =>
  error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;

/**
 * Whether the same statements may succeed when they run again, on another connection: after a serialization failure,
 * after a deadlock, with a stale plan, and when another transaction gave a group its head at the same moment.
 */
export function isRetryable(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40001' || state === '40P01' || isStalePlan(error) || violates(error, 'jobs_head');
}

/** The driver takes no statement for a connection that has ended. */
const HAD_ENDED = /^Client (has encountered a connection error|was closed) and is not queryable$/;

/**
 * Whether the connection had ended before the server read a statement: so none of those that were sent has begun. The server ends
 * one that was idle for too long (idle_session_timeout).
 */
export const wasIdle = (error: unknown): boolean =>
  sqlState(error) === '57P05' || (error instanceof Error && HAD_ENDED.test(error.message));

/** Whether a row that was sent is at fault. When the rows are sent one by one, only the bad one fails. */
export function isDataError(error: unknown): boolean {
  return /^(22|23|DB00[45])/.test(sqlState(error) ?? '');
}

/** Whether a batch is closed already (sql/functions/hold_batches.sql, close_batch.sql). */
export const isBatchClosed = (error: unknown): boolean => sqlState(error) === 'DB005';

/** A batch that is not there, or closed, becomes a refusal (sql/functions/hold_batches.sql). Other errors stay as they are. */
export function batchAsRefusal(error: unknown): unknown {
  const state = sqlState(error);
  if (state === 'DB004') return batchNotFound((error as Error).message);
  if (isBatchClosed(error)) return batchClosed((error as Error).message);
  return error;
}

/** Whether a statement waited too long for a lock. This happens only where a lock_timeout is set. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === '55P03';

/**
 * Whether the lock was that of a unique key, which an open transaction is taking. The server's messages may be in another language, but
 * its context names the index.
 */
export const isKeyHeld = (error: unknown): boolean =>
  isLockTimeout(error) && /\bjobs_unique\b/.test((error as pg.DatabaseError).where ?? '');

/** Whether another request has the claim of a request that was about to lease (sql/functions/refuse_claim.sql). */
export const isClaimTaken = (error: unknown): boolean => sqlState(error) === 'DB001';

/** Whether the session of a claim that was about to lease has ended (sql/functions/refuse_session.sql). */
export const isSessionEnded = (error: unknown): boolean => sqlState(error) === 'DB006';

/** Whether all numbers of queues are in use (sql/functions/next_queue_id.sql). */
export const isWithoutQueueNumber = (error: unknown): boolean => sqlState(error) === 'DB002';

/** Whether a queue lives in another database (sql/functions/place_at_home.sql, next_queue_id.sql). */
export const isElsewhere = (error: unknown): boolean =>
  sqlState(error instanceof Refusal ? error.cause : error) === 'DB003';

const codeOf = (error: unknown): string =>
  (error instanceof Error && (error as { code?: string }).code) || '';

/** Whether Dibs does not trust the certificate of the server. */
export const isUntrusted = (error: unknown): boolean =>
  !(error instanceof pg.DatabaseError) && UNTRUSTED.test(codeOf(error));

/** Whether TLS with the server failed, before anything was sent. */
const isWithoutTls = (error: unknown): boolean =>
  isUntrusted(error) || (error instanceof Error && error.message === NO_TLS);

/** Whether OpenSSL failed, here or on the server: in a handshake, or later. */
const isTlsError = (error: unknown): boolean => /^(ERR_(SSL|OSSL)_|EPROTO$)/.test(codeOf(error));

/** Whether waiting for the database can't help. */
export const isHopeless = (error: unknown): boolean =>
  (error instanceof AggregateError && error.errors.every(isHopeless)) ||
  HOPELESS.test(sqlState(error) ?? '') ||
  isWithoutTls(error) ||
  isTlsError(error);

/** Whether the server ended a statement at its time limit. */
export const isTimeLimit = (error: unknown): boolean =>
  sqlState(error) === '57014' || (error instanceof Refusal && sqlState(error.cause) === '57014');

/** Whether the idempotency key of a request has a record. */
export const isRepeat = (error: unknown): boolean => violates(error, 'idempotency_keys_pkey');

/** Whether a queue has a relocation that has not ended. */
export const isAlreadyRelocating = (error: unknown): boolean => violates(error, 'relocations_open');

/** Whether another unfinished job holds the unique key of a job. */
export const isKeyTaken = (error: unknown): boolean => violates(error, 'jobs_unique');

/**
 * The server ends the connection. It may have committed just before: nobody can tell. Any other error that a server
 * reports has undone its transaction.
 */
const ENDED = /^(57P01|57P02|08...|25P0[34])$/;
/** The driver gave up before it sent anything. */
const NOT_SENT =
  /^(timeout exceeded when trying to connect|Cannot use a pool after|Connection terminated due to connection timeout)/;

/** What a connection that takes no writes fails by. */
export const readOnly = (): Error => new Error('The database is read-only.');

/**
 * Whether an outage tells only of its own call: it took too long, or all connections of the pool were busy. Others may
 * be served meanwhile.
 */
export const isOfOneCall = (error: unknown): boolean =>
  isTimeLimit(error) ||
  (error instanceof Error && error.message === 'timeout exceeded when trying to connect') ||
  (error instanceof Refusal && isOfOneCall(error.cause));

/**
 * Whether an outage is of the database: other calls meet it, too. It is not where a call met something of its own, such as a
 * queue that is being relocated, a lock, or transactions that changed the same rows.
 */
export const isOfDatabase = (error: unknown): error is Refusal =>
  error instanceof Refusal &&
  error.code === 'unavailable' &&
  error.cause !== undefined &&
  !(error instanceof HeldUp) &&
  !isElsewhere(error) &&
  !isRetryable(error.cause);

/** Turns the error of an outage into the refusal `unavailable`. Other errors stay as they are. */
export function outageAsRefusal(error: unknown): unknown {
  const state = sqlState(error);
  if (isElsewhere(error))
    return unavailable(
      `${(error as Error).message}. This replica does not know that yet. Try again later.`,
      'not_done',
      error,
    );
  if (state !== undefined)
    return OUTAGE.test(state)
      ? unavailable(undefined, ENDED.test(state) ? 'unknown' : 'not_done', error)
      : error;
  if (!(error instanceof Error)) return error;
  // Several at once are of a connection that was not made: one for each address, or for each host.
  const isOfConnecting = error instanceof WrongServer || error instanceof AggregateError;
  if (isOfConnecting || isWithoutTls(error)) return unavailable(undefined, 'not_done', error);
  const fromSocket = 'syscall' in error;
  if (!fromSocket && !isTlsError(error) && !FROM_DRIVER.test(error.message)) return error;
  const wasSent =
    !NOT_SENT.test(error.message) &&
    !HAD_ENDED.test(error.message) &&
    (error as { syscall?: string }).syscall !== 'connect';
  return unavailable(undefined, wasSent ? 'unknown' : 'not_done', error);
}
