import { hasBatch, hasGroup, hasUniqueKey, isElsewhere, type JobToInsert, queueIdsOf } from './newJob.ts';

/*
 * The ways in, and which one a request takes. docs/decisions/0060-ways-in.md has them with their statements.
 */

export type Way =
  /** With others, in the next round trip of the queue. */
  | 'shared'
  /** In batches of large requests, beside the round trips: small requests never wait for it, and claims run meanwhile. */
  | 'heavy'
  /** In batches of unique keys, beside the round trips: it may have to wait for somebody's open transaction. */
  | 'unique'
  /** In a transaction over several queues, or for queues in other databases, or for batches where others need more than one statement. */
  | 'several';

/** A batch has at most this number of rows, and about this number of bytes of payload and headers. */
const BATCH_ROWS = 1000;
const BATCH_BYTES = 4 * 2 ** 20;
/** A request with more than this is heavy. */
const HEAVY_BYTES = 64 * 1024;
const HEAVY_ROWS = 50;
/** For requests that cost more outside of round trips: into groups, or with an idempotency key. */
const COSTLY_HEAVY_ROWS = 100;

const bytesOf = (jobs: JobToInsert[]) =>
  jobs.reduce((bytes, job) => bytes + job.payload.length + job.headers.length, 0);

/** The weight of the jobs of a request. A full batch weighs 1. */
export const weigh = (jobs: JobToInsert[], rows = BATCH_ROWS, bytes = BATCH_BYTES): number =>
  jobs.length / rows + bytesOf(jobs) / bytes;

/** `isCostly`: outside of round trips, the request needs transactions of its own. */
const isHeavy = (jobs: JobToInsert[], isCostly: boolean): boolean =>
  jobs.length > (isCostly ? COSTLY_HEAVY_ROWS : HEAVY_ROWS) || bytesOf(jobs) > HEAVY_BYTES;

/** The way of the jobs of a request. `isKeyed`: it has an idempotency key, or is an ack with follow-ups. */
export function wayOf(jobs: JobToInsert[], isKeyed: boolean): Way {
  if (queueIdsOf(jobs).length > 1 || isElsewhere(jobs[0] as JobToInsert)) return 'several';
  const isInBatch = jobs.some(hasBatch);
  if (jobs.some(hasUniqueKey)) return isInBatch ? 'several' : 'unique';
  if (isInBatch && isKeyed) return 'several';
  const isCostly = isKeyed || jobs.some(hasGroup);
  if (!isHeavy(jobs, isCostly)) return 'shared';
  return isInBatch ? 'several' : 'heavy';
}
