import type { Job, JobRow, RawJson } from '../job.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import type { Backoff } from '../queues/queue.ts';
import { headersWith, type Trace } from '../traceparent.ts';
import { KEPT_SECONDS } from '../waiting/waiters.ts';

/** A job as a request asks for it. */
export interface NewJob {
  queue?: string;
  payload?: RawJson;
  headers?: Record<string, string>;
  priority?: number;
  delay_seconds?: number;
  run_at?: string;
  max_attempts?: number;
  backoff?: Backoff;
  unique_key?: string;
  unique_for_seconds?: number;
  group?: string;
  fairness_key?: string;
  expires_in_seconds?: number;
  /** How long a client waits for the end of the job. */
  awaited_seconds?: number;
  /** Where the job belongs in a trace. It goes into its headers, unless they name a trace. */
  trace?: Trace | undefined;
}

/** A job with its queue, and the columns that sql/shared/new_jobs.sql takes. */
export interface JobToInsert {
  queue: Queue;
  delay_seconds: number;
  run_at: Date | null;
  priority: number;
  max_attempts: number;
  backoff: string | null;
  headers: string;
  payload: string;
  unique_key: string | null;
  unique_for_seconds: number | null;
  group: string | null;
  fairness_key: string | null;
  expires_in_seconds: number | null;
  awaited_seconds: number | null;
}

/** What the database decides about a new job. */
export type Inserted = Pick<JobRow, 'state' | 'run_at' | 'created_at'>;

function headersOf({ headers, trace }: NewJob): string {
  if (trace) return headersWith(headers ?? {}, trace);
  return headers ? JSON.stringify(headers) : '{}';
}

export const toInsert = (job: NewJob, queue: Queue, run_at: Date | null): JobToInsert => ({
  queue,
  run_at,
  delay_seconds: job.delay_seconds ?? 0,
  priority: job.priority ?? 0,
  max_attempts: job.max_attempts ?? queue.max_attempts,
  backoff: job.backoff ? JSON.stringify(job.backoff) : null,
  headers: headersOf(job),
  payload: job.payload?.text ?? 'null',
  unique_key: job.unique_key ?? null,
  unique_for_seconds: job.unique_for_seconds ?? null,
  group: job.group ?? null,
  fairness_key: job.fairness_key ?? null,
  expires_in_seconds: job.expires_in_seconds ?? null,
  awaited_seconds: job.awaited_seconds === undefined ? null : job.awaited_seconds + KEPT_SECONDS,
});

/** A column that few jobs have. It is null as a whole when no job has it. */
const ifAny = <T>(jobs: JobToInsert[], pick: (job: JobToInsert) => T | null): (T | null)[] | null =>
  jobs.some((job) => pick(job) !== null) ? jobs.map(pick) : null;

const textsIfAny = (jobs: JobToInsert[], pick: (job: JobToInsert) => string | null) => {
  const texts = ifAny(jobs, pick);
  return texts && textArray(texts);
};

/** The parameters of sql/shared/new_jobs.sql. */
export const newJobParameters = (ids: string[], jobs: JobToInsert[]) => ({
  ids,
  delays: jobs.map((j) => j.delay_seconds),
  run_ats: jobs.map((j) => j.run_at?.toISOString() ?? null),
  priorities: jobs.map((j) => j.priority),
  max_attempts: jobs.map((j) => j.max_attempts),
  backoffs: textsIfAny(jobs, (j) => j.backoff),
  headers: textArray(jobs.map((j) => j.headers)),
  payloads: textArray(jobs.map((j) => j.payload)),
  unique_keys: textsIfAny(jobs, (j) => j.unique_key),
  windows: ifAny(jobs, (j) => j.unique_for_seconds),
  groups: textsIfAny(jobs, (j) => j.group),
  fairness_keys: textsIfAny(jobs, (j) => j.fairness_key),
  expiries: ifAny(jobs, (j) => j.expires_in_seconds),
  waits: ifAny(jobs, (j) => j.awaited_seconds),
});

/** The job as it was inserted, made from the request and from what the database decided. Nothing is read back. */
export const toJob = (job: JobToInsert, id: string, { state, run_at, created_at }: Inserted): Job => ({
  id,
  queue: job.queue.name,
  state,
  priority: job.priority,
  attempt: 0,
  max_attempts: job.max_attempts,
  deliveries: 0,
  group: job.group,
  fairness_key: job.fairness_key,
  unique_key: job.unique_key,
  run_at,
  created_at,
  lease_expires_at: null,
  finished_at: null,
  worker: null,
  last_error: null,
  headers: job.headers,
  progress: null,
  result: null,
});
