import { Type } from 'typebox';
import type { Job } from '../src/job.ts';
import { traceIn } from '../src/traceparent.ts';
import {
  type Answer,
  enqueueAndReply,
  idempotencyHeaders,
  replayedHeader,
} from './http/answers/idempotency.ts';
import { finishedWithin, isSole, preferHeaders, preferredWait } from './http/answers/prefer.ts';
import type { App } from './http/connection/fastify.ts';
import { takeWait } from './http/connection/memory.ts';
import { rawShapes } from './http/json/body.ts';
import { bodyLimits } from './http/json/bodyLimits.ts';
import { enqueued, enqueuedOrFinishedAnswers, toNewJob } from './http/json/jobBody.ts';
import { jobListJson } from './http/json/serialize.ts';
import { answer, link, operation, REFUSALS_OF_JOBS } from './http/openapi/operation.ts';
import { ref } from './schemas/common.ts';
import { JobList, JobSpec, JobSpecList } from './schemas/job.ts';

const answerOne = ([job]: Job[]): Answer => enqueued(job as Job);

const answerAll = async (jobs: Job[]): Promise<Answer> => ({
  status: 201,
  location: null,
  body: await jobListJson(jobs),
});

export function enqueueRoutes(app: App, maxPayloadBytes: number): void {
  const raw = rawShapes(maxPayloadBytes);
  const limits = bodyLimits(maxPayloadBytes);

  app.route({
    method: 'POST',
    url: '/jobs',
    config: { verb: 'enqueue', raw: raw.job, idempotent: true },
    bodyLimit: limits.job,
    schema: {
      headers: Type.Object({ ...idempotencyHeaders.properties, ...preferHeaders.properties }),
      body: ref(JobSpec),
      ...operation({
        operationId: 'enqueueJob',
        tags: ['Producing'],
        summary: 'Enqueue a job',
        description:
          'The job is in the database when the answer comes. The payload is left out of the answer. With `Prefer: wait` ' +
          'the answer comes when the job is finished, or after that time.',
        answers: enqueuedOrFinishedAnswers,
        refusals: [...REFUSALS_OF_JOBS, 'idempotency_key_reused'],
      }),
    },
    links: {
      201: {
        look: link('getJob', '$response.body#/id', 'Look at the job, or wait for its end.'),
        explain: link('explainJob', '$response.body#/id', 'Why it is not running.'),
        cancel: link('cancelJob', '$response.body#/id', 'Cancel it.'),
      },
    },
    handler: (request, reply) => {
      const seconds = preferredWait(request.headers.prefer);
      const job = toNewJob(request.body, traceIn(request.headers));
      if (seconds === undefined) return enqueueAndReply(request, reply, [job], () => '', answerOne);
      takeWait(request);
      const afterwards = finishedWithin(seconds, request);
      // A sole waiter needs no time here: the job gets more when the wait becomes long (src/waiting/wait.ts).
      const waitedFor = { ...job, awaited_seconds: isSole(request) ? 0 : seconds };
      return enqueueAndReply(request, reply, [waitedFor], () => '', answerOne, afterwards);
    },
  });

  app.route({
    method: 'POST',
    url: '/jobs/batch',
    config: { verb: 'enqueue', raw: raw.jobs, idempotent: true },
    bodyLimit: limits.jobs,
    schema: {
      headers: idempotencyHeaders,
      body: ref(JobSpecList),
      ...operation({
        operationId: 'enqueueJobs',
        tags: ['Producing'],
        summary: 'Enqueue up to 1000 jobs, all or none',
        description:
          'The answer has them in the same order. One bad item refuses all; `errors[].path` names it. In the place of one ' +
          'whose `unique_key` another has stands that one, with `deduplicated`.',
        answers: { 201: answer(ref(JobList), 'The jobs.', replayedHeader) },
        refusals: [...REFUSALS_OF_JOBS, 'idempotency_key_reused'],
      }),
    },
    handler: (request, reply) => {
      const trace = traceIn(request.headers);
      const jobs = request.body.jobs.map((job) => toNewJob(job, trace));
      return enqueueAndReply(request, reply, jobs, (i) => `/jobs/${i}`, answerAll);
    },
  });
}
