import type { FastifyReply } from 'fastify';
import type { Static } from 'typebox';
import type { Job as EngineJob, NewJob } from '../src/types.ts';
import { completeBackoff } from './backoff.ts';
import { jobJson } from './json.ts';
import { answer } from './operation.ts';
import { ref } from './schemas/common.ts';
import { Job, type JobSpec } from './schemas/job.ts';

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

/** How a route describes what sendCreated answers. */
export const createdJob = answer(ref(Job), 'The job.', location);

/** How the route describes its answers that can be asked to wait. */
export const awaitedJob = {
  200: answer(
    ref(Job),
    'With `Prefer: wait`: the job, which is finished, with its payload and its `result`.',
    {
      ...location,
      ...preference,
    },
  ),
  201: answer(ref(Job), 'The job.', { ...location, ...preference }),
};

/** Answers 201 with a new job and its Location. */
export const sendCreated = (reply: FastifyReply, job: EngineJob): FastifyReply =>
  reply.code(201).header('location', `/jobs/${job.id}`).type('application/json').send(jobJson(job));
