import type { Static } from 'typebox';
import type { Answer } from '../../src/enqueue/idempotency.ts';
import type { NewJob } from '../../src/enqueue/newJob.ts';
import type { Job as EngineJob } from '../../src/job.ts';
import { ref } from '../schemas/common.ts';
import { Job, type JobSpec } from '../schemas/job.ts';
import { completeBackoff } from './backoff.ts';
import { answer } from './operation.ts';
import { jobJson } from './serialize.ts';

/** The job that a body asks for. */
export const toNewJob = ({ backoff, ...job }: Static<typeof JobSpec>): NewJob =>
  backoff ? { ...job, backoff: completeBackoff(backoff) } : job;

const location = { Location: { type: 'string', description: 'The path of the job.' } };
const preference = {
  'Preference-Applied': {
    type: 'string',
    description: 'With `Prefer: wait`: for how many seconds it holds.',
  },
};

/** How a route describes what `enqueued` answers. */
export const enqueuedJob = {
  201: answer(ref(Job), 'The job.', location),
  200: answer(
    ref(Job),
    'Nothing was enqueued, as another job has the `unique_key`: that one, as it stands, with `deduplicated`.',
    location,
  ),
};

/** Answers 201 with a new job, 200 with one that has its unique key, and its Location. */
export const enqueued = (job: EngineJob): Answer => ({
  status: job.deduplicated ? 200 : 201,
  location: `/jobs/${job.id}`,
  body: jobJson(job),
});

/** How the route describes its answers that can be asked to wait. */
export const awaitedJob = {
  200: answer(
    ref(Job),
    'Nothing was enqueued, as another job has the `unique_key`: that one, as it stands, with `deduplicated`. Or, with ' +
      '`Prefer: wait`, the job, which is finished, with its payload and its `result`.',
    { ...location, ...preference },
  ),
  201: answer(ref(Job), 'The job.', { ...location, ...preference }),
};
