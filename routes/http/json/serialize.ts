import type { FastifyReply } from 'fastify';
import { type Job, sizeOf } from '../../../src/job.ts';
import { inSlices, isSliceOver } from '../../../src/slices.ts';
import type { JobPage } from '../../../src/verbs/jobs.ts';
import type { Schedule } from '../../../src/verbs/schedules.ts';
import type { Acked, Nacked } from '../../../src/verbs/settle.ts';
import type { PayloadFormat } from '../../schemas/job.ts';
import { jobFieldsJson } from './jobFieldsJson.ts';
import { plain } from './texts.ts';

/** How a payload is written: as the caller asks, or only its beginning. */
type Written = PayloadFormat | 'preview';

const payloadJson = (payload: string, format: Written) =>
  format === 'json' ? `,"payload":${payload}` : `,"payload_${format}":${JSON.stringify(payload)}`;

const duplicateJson = ({ deduplicated, replaced }: Job): string =>
  `${deduplicated ? ',"deduplicated":true' : ''}${typeof replaced === 'boolean' ? `,"replaced":${replaced}` : ''}`;

/** The JSON of a job, written field by field. A general serialiser took a tenth of the time of a request. */
export function jobJson(job: Job, format: Written = 'json'): string {
  const payload = job.payload === undefined || job.payload === null ? '' : payloadJson(job.payload, format);
  const lease =
    job.lease_token === undefined
      ? ''
      : `,"lease_token":"${job.lease_token}","lease_seconds":${job.lease_seconds}`;
  return `{${jobFieldsJson(job, payload, lease)}${job.moved_to ? `,"moved_to":"${job.moved_to}"` : ''}${duplicateJson(job)}}`;
}

/** Above this size, jobs are written in slices. */
const LARGE = 256 * 1024;
const JOBS_AT_ONCE = 10;

function* writeJobs(jobs: Job[], format: Written): Generator<void, string> {
  const parts: string[] = [];
  for (let at = 0; at < jobs.length; at += JOBS_AT_ONCE) {
    // The join makes one flat text. Thousands of short texts that are only put together take long when they are sent.
    parts.push(
      jobs
        .slice(at, at + JOBS_AT_ONCE)
        .map((job) => jobJson(job, format))
        .join(','),
    );
    if (isSliceOver()) yield;
  }
  return `[${parts.join(',')}]`;
}

/** Only a large text has to be awaited: each promise costs some of the time of a small request. */
type Json = string | Promise<string>;

/** Puts the JSON of jobs into a text. */
export function withJobs(jobs: Job[], write: (json: string) => string, format: Written = 'json'): Json {
  let bytes = 0;
  for (const job of jobs) bytes += sizeOf(job);
  return bytes > LARGE
    ? inSlices(writeJobs(jobs, format)).then(write)
    : write(`[${jobs.map((job) => jobJson(job, format)).join(',')}]`);
}

/** Replies with JSON. */
export function sendJson(reply: FastifyReply, json: Json): FastifyReply | Promise<FastifyReply> {
  reply.type('application/json');
  return typeof json === 'string' ? reply.send(json) : json.then((text) => reply.send(text));
}

export const ackedJson = ({ id, state, enqueued }: Acked): Json =>
  withJobs(enqueued, (json) => `{"id":"${id}","state":"${state}","enqueued":${json}}`);

export const nackedJson = ({ enqueued, ...job }: Nacked): Json =>
  enqueued ? withJobs(enqueued, (json) => `${jobJson(job).slice(0, -1)},"enqueued":${json}}`) : jobJson(job);

export const jobListJson = (jobs: Job[], format?: PayloadFormat): Json =>
  withJobs(jobs, (json) => `{"jobs":${json}}`, format);

export function jobPageJson(
  jobs: Job[],
  { next, looked, away }: Pick<JobPage, 'looked' | 'away'> & { next: string | null },
  format?: Written,
): Json {
  const search = looked ? `,"looked_at":${looked.jobs},"looked_to":${plain(looked.to)}` : '';
  const without = away ? `,"away":${JSON.stringify(away)}` : '';
  const rest = `,"next_cursor":${JSON.stringify(next)}${search}${without}}`;
  return withJobs(jobs, (json) => `{"jobs":${json}${rest}`, format);
}

/** The JSON of a schedule. The payload of its job is the text that was sent. */
export function scheduleJson({ job, payload, ...schedule }: Schedule): string {
  const { name, cron, timezone, paused, next_run_at, last_run_at, last_error, retry_at } = schedule;
  const inside = [job.slice(1, -1), payload === null ? '' : `"payload":${payload}`].filter(Boolean).join(',');
  return (
    `{"name":"${name}","cron":${JSON.stringify(cron)},"timezone":"${timezone}","paused":${paused}` +
    `,"job":{${inside}},"next_run_at":${plain(next_run_at)},"last_run_at":${plain(last_run_at)}` +
    `,"last_error":${JSON.stringify(last_error)},"retry_at":${plain(retry_at)}}`
  );
}

export const schedulePageJson = (schedules: Schedule[], nextCursor: string | null): string =>
  `{"schedules":[${schedules.map(scheduleJson).join(',')}],"next_cursor":${JSON.stringify(nextCursor)}}`;
