import { Type } from 'typebox';
import type { Engine } from '../src/engine.ts';
import type { Answer } from '../src/idempotency.ts';
import { isUuid } from '../src/ids.ts';
import type { Job as EngineJob } from '../src/types.ts';
import { rawShapes } from './body.ts';
import { readCursor, writeCursor } from './cursor.ts';
import type { App } from './fastify.ts';
import { enqueuer, idempotencyHeaders } from './idempotency.ts';
import { jobJson, jobListJson, jobPageJson } from './json.ts';
import { createdJob, toNewJob } from './newJob.ts';
import { answer, operation } from './operation.ts';
import { JobId, JobStateName, oneOf, pageQuery, QueueName, ref } from './schemas/common.ts';
import { Job, JobList, JobPage, JobSpec, JobSpecList } from './schemas/job.ts';

const oneCreated = ([job]: EngineJob[]): Answer => ({
  status: 201,
  location: `/jobs/${job?.id}`,
  body: jobJson(job as EngineJob),
});

const allCreated = (jobs: EngineJob[]): Answer => ({ status: 201, location: null, body: jobListJson(jobs) });

export function jobRoutes(app: App, engine: Engine, maxPayloadBytes: number): void {
  const raw = rawShapes(maxPayloadBytes);
  const enqueueAndReply = enqueuer(engine);

  app.route({
    method: 'POST',
    url: '/jobs',
    config: { raw: raw.job },
    schema: {
      headers: idempotencyHeaders,
      body: ref(JobSpec),
      ...operation({
        operationId: 'enqueueJob',
        tags: ['Producing'],
        summary: 'Enqueue a job',
        description:
          'The job is in the database when the answer comes. The payload is left out of the answer.',
        answers: { 201: createdJob },
        refusals: [422, 429],
        takesBody: true,
      }),
    },
    handler: (request, reply) =>
      enqueueAndReply(request, reply, [toNewJob(request.body)], () => '', oneCreated),
  });

  app.route({
    method: 'POST',
    url: '/jobs/batch',
    config: { raw: raw.jobs },
    schema: {
      headers: idempotencyHeaders,
      body: ref(JobSpecList),
      ...operation({
        operationId: 'enqueueJobs',
        tags: ['Producing'],
        summary: 'Enqueue up to 1000 jobs, all or none',
        description:
          'The answer has them in the same order. One bad item refuses all; `errors[].path` names it.',
        answers: { 201: answer(ref(JobList), 'The jobs.') },
        refusals: [422, 429],
        takesBody: true,
      }),
    },
    handler: (request, reply) =>
      enqueueAndReply(request, reply, request.body.jobs.map(toNewJob), (i) => `/jobs/${i}`, allCreated),
  });

  app.route({
    method: 'GET',
    url: '/jobs',
    schema: {
      querystring: Type.Object(
        {
          queue: Type.Optional(ref(QueueName)),
          state: Type.Optional(ref(JobStateName)),
          include: Type.Optional(oneOf(['payload'], { description: 'What else to show.' })),
          order: Type.Optional(
            oneOf(['newest', 'oldest'], { default: 'newest', description: 'By when they were enqueued.' }),
          ),
          ...pageQuery,
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'listJobs',
        tags: ['Jobs'],
        summary: 'List jobs, newest first',
        description:
          'Keyset pages: jobs that come or go meanwhile make no other job appear twice or be skipped. A cursor goes ' +
          'with the filters that it was made with.',
        answers: { 200: answer(ref(JobPage), 'A page of jobs.') },
        refusals: [400],
      }),
    },
    handler: async (request, reply) => {
      const { queue, state, include, order = 'newest', limit = 100, cursor } = request.query;
      const listing = { of: 'jobs', queue, state, order };
      const jobs = await engine.jobs.list({
        queue,
        state,
        order,
        limit,
        payload: include === 'payload',
        after: cursor === undefined ? undefined : readCursor(listing, cursor, isUuid),
      });
      const last = jobs.length === limit ? jobs.at(-1) : undefined;
      const next = last ? writeCursor(listing, last.id) : null;
      return reply.type('application/json').send(jobPageJson(jobs, next));
    },
  });

  app.route({
    method: 'GET',
    url: '/jobs/:id',
    schema: {
      params: JobId,
      ...operation({
        operationId: 'getJob',
        tags: ['Jobs'],
        summary: 'Look at a job',
        answers: { 200: answer(ref(Job), 'The job, with its payload.') },
        refusals: [400, 404],
      }),
    },
    handler: async (request, reply) =>
      reply.type('application/json').send(jobJson(await engine.jobs.get(request.params.id))),
  });

  app.route({
    method: 'DELETE',
    url: '/jobs/:id',
    schema: {
      params: JobId,
      ...operation({
        operationId: 'cancelJob',
        tags: ['Jobs'],
        summary: 'Cancel a job',
        answers: {
          200: answer(ref(Job), 'It was waiting or dead, and is cancelled.'),
          202: answer(
            ref(Job),
            'It is with a worker, who sees `cancel_requested`: an ack still completes it, anything else makes it cancelled.',
          ),
        },
        refusals: [404, 409],
        takesBody: true,
      }),
    },
    handler: async (request, reply) => {
      const job = await engine.jobs.cancel(request.params.id);
      return reply
        .code(job.state === 'leased' ? 202 : 200)
        .type('application/json')
        .send(jobJson(job));
    },
  });

  app.route({
    method: 'POST',
    url: '/jobs/:id/retry',
    schema: {
      params: JobId,
      ...operation({
        operationId: 'retryJob',
        tags: ['Jobs'],
        summary: 'Make a dead or scheduled job ready',
        description: 'Its attempts start afresh. A job that waits already is answered as it is.',
        answers: { 200: answer(ref(Job), 'The job.') },
        refusals: [404, 409],
        takesBody: true,
      }),
    },
    handler: async (request, reply) =>
      reply.type('application/json').send(jobJson(await engine.jobs.retry(request.params.id))),
  });
}
