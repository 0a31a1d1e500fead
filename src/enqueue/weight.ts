import type { JobToInsert } from './newJob.ts';

/** A batch has at most this number of rows, and about this number of bytes of payload and headers. */
const BATCH_ROWS = 1000;
const BATCH_BYTES = 4 * 2 ** 20;
/** A request with more than this is heavy. It goes in no round trip: small requests never wait for its insert, and claims run beside it. */
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
export const isHeavy = (jobs: JobToInsert[], isCostly: boolean): boolean =>
  jobs.length > (isCostly ? COSTLY_HEAVY_ROWS : HEAVY_ROWS) || bytesOf(jobs) > HEAVY_BYTES;
