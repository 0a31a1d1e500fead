import { batchNotFound, invalidRequest } from '../errors.ts';
import { isUuid } from '../ids.ts';
import { LONGEST_SECONDS } from '../job.ts';
import type { NewJob } from '../verbs/enqueue.ts';

/** The refusal of a field that the schemas allow. */
export const refuse = (path: string, message: string) => invalidRequest([{ path, message }]);

const HALF_OF_PAIR = /\p{Surrogate}/u;

/**
 * PostgreSQL keeps no half of a surrogate pair: it would become another character, and two names would become one.
 * @throws Refusal `invalid_request`, with the path of the field below `at`
 */
export function refuseHalfPairs(names: Record<string, string | undefined>, at: string): void {
  for (const field in names)
    if (HALF_OF_PAIR.test(names[field] ?? ''))
      throw refuse(`${at}/${field}`, 'must not contain half of a surrogate pair');
}

/** Whether checkKeys can refuse a job. */
export const hasKeys = ({
  unique_key,
  unique_for_seconds,
  on_duplicate,
  unique_until,
  group,
  fairness_key,
  batch,
}: NewJob): boolean =>
  (unique_key ?? unique_for_seconds ?? on_duplicate ?? unique_until ?? group ?? fairness_key ?? batch) !==
  undefined;

/** @throws Refusal `invalid_request`, with the path of the field below `at`, `batch_not_found` */
export function checkKeys(job: NewJob, at: string): void {
  const { unique_key, group, fairness_key } = job;
  refuseHalfPairs({ unique_key, group, fairness_key }, at);
  if (job.unique_for_seconds !== undefined && job.unique_key === undefined)
    throw refuse(`${at}/unique_for_seconds`, 'needs a unique_key');
  if (job.on_duplicate !== undefined && job.unique_key === undefined)
    throw refuse(`${at}/on_duplicate`, 'needs a unique_key');
  if (job.unique_until !== undefined && job.unique_key === undefined)
    throw refuse(`${at}/unique_until`, 'needs a unique_key');
  if (job.batch !== undefined && !isUuid(job.batch)) throw batchNotFound(job.batch);
}

/**
 * The `run_at` of a job. `now` is the database's time in milliseconds.
 * @throws Refusal `invalid_request`, with the path of the field below `at`
 */
export function runAtOf(job: NewJob, at: string, now: number): Date | null {
  if (job.run_at === undefined) return null;
  const path = `${at}/run_at`;
  if (job.delay_seconds !== undefined) throw refuse(path, 'must not be sent together with delay_seconds');
  const time = new Date(job.run_at);
  if (Number.isNaN(time.getTime())) throw refuse(path, 'must be a time that exists');
  if (time.getTime() > now + LONGEST_SECONDS * 1000) throw refuse(path, 'must be within 366 days from now');
  // PostgreSQL reads no year before 1. Any time in the past means now anyway.
  return new Date(Math.max(time.getTime(), 0));
}
