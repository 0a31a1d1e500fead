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

/** How a route describes what sendCreated answers. */
export const createdJob = answer(ref(Job), 'The job.', {
  Location: { type: 'string', description: 'The path of the job.' },
});

/** Answers 201 with a new job and its Location. */
export const sendCreated = (reply: FastifyReply, job: EngineJob): FastifyReply =>
  reply.code(201).header('location', `/jobs/${job.id}`).type('application/json').send(jobJson(job));
