import type { Static } from 'typebox';
import type { Job as EngineJob } from '../../../src/job.ts';
import { isFinished } from '../../../src/job.ts';
import type { Trace } from '../../../src/traceparent.ts';
import type { NewJob } from '../../../src/verbs/enqueue.ts';
import type { Backoff } from '../../../src/verbs/queues.ts';
import { ref } from '../../schemas/common.ts';
import { DEFAULT_BACKOFF, Job, type JobSpec } from '../../schemas/job.ts';
import { type Answer, replayedHeader } from '../answers/idempotency.ts';
import { answer, answerLike } from '../openapi/operation.ts';
import { jobJson } from './serialize.ts';

/** Times have a resolution of a microsecond. Far smaller numbers would underflow in the database's arithmetic. */
const toMicros = (seconds: number) => Math.round(seconds * 1e6) / 1e6;

/** A backoff with a default for each field that was left out. */
export function completeBackoff(asked: Partial<Backoff>): Backoff {
  const { kind, base_seconds, max_seconds, jitter } = { ...DEFAULT_BACKOFF, ...asked };
  return {
    kind,
    base_seconds: toMicros(base_seconds),
    max_seconds: toMicros(max_seconds),
    jitter: toMicros(jitter),
  };
}

/** The job that a body asks for, in the trace of its request. */
export function toNewJob(spec: Static<typeof JobSpec>, trace?: Trace): NewJob {
  const job = spec.backoff ? { ...spec, backoff: completeBackoff(spec.backoff) } : (spec as NewJob);
  return trace ? { ...job, trace } : job;
}

/** An ack or nack whose follow-ups are jobs for the engine. */
export const withFollowUps = <I extends { enqueue?: Static<typeof JobSpec>[] }>(item: I, trace?: Trace) => ({
  ...item,
  enqueue: item.enqueue?.map((job) => toNewJob(job, trace)),
});

/** 201 with the new job. 200 with the job that already has its unique key, or with the one that is finished already. */
export const enqueued = (job: EngineJob): Answer => ({
  status: job.deduplicated || isFinished(job.state) ? 200 : 201,
  location: `/jobs/${job.id}`,
  body: jobJson(job),
});

const location = { Location: { type: 'string', description: 'The path of the job.' } };
const preference = {
  'Preference-Applied': {
    type: 'string',
    description: 'With `Prefer: wait`: for how many seconds it holds.',
  },
};

/** The answers of `enqueued`, for the OpenAPI document. */
export const enqueuedAnswers = {
  201: answerLike(Job, { queue: 'reports', priority: 0 }, 'The job.', location),
  200: answerLike(
    Job,
    { queue: 'reports', priority: 0, unique_key: 'daily', deduplicated: true },
    'Nothing was enqueued, as another job has the `unique_key`: that one, as it stands, with `deduplicated`.',
    location,
  ),
};

/** The same for a route that also takes `Prefer: wait` and an `Idempotency-Key`. */
export const enqueuedOrFinishedAnswers = {
  200: answerLike(
    Job,
    { unique_key: 'welcome-ada', deduplicated: true },
    'Nothing was enqueued, as another job has the `unique_key`: that one, as it stands, with `deduplicated`. Or, with ' +
      '`Prefer: wait`, the job, which is finished, with its payload and its `result`.',
    { ...location, ...preference, ...replayedHeader },
  ),
  201: answer(ref(Job), 'The job.', { ...location, ...preference, ...replayedHeader }),
};
