import { Type } from 'typebox';
import type { App } from './http/connection/fastify.ts';
import { answer, operation } from './http/openapi/operation.ts';
import { InQueue, JobId, QueueName, ref } from './schemas/common.ts';
import { Explanation, QueueErrors, QueueExplanation, Workers } from './schemas/explain.ts';
import { JobHistory } from './schemas/history.ts';

export function explainRoutes(app: App): void {
  app.route({
    method: 'GET',
    url: '/jobs/:id/history',
    config: { verb: 'getJobHistory' },
    schema: {
      params: JobId,
      ...operation({
        operationId: 'getJobHistory',
        tags: ['Jobs'],
        summary: 'What happened to my job?',
        description:
          'Each attempt that ended otherwise than by an ack, and what somebody did to the job, oldest first. It is kept for 30 days, ' +
          'also when the job is gone.',
        answers: { 200: answer(ref(JobHistory), 'What happened.') },
        refusals: ['job_not_found'],
      }),
    },
    handler: (request) => request.verbs.getJobHistory(request.params),
  });

  app.route({
    method: 'GET',
    url: '/jobs/:id/explain',
    config: { verb: 'explainJob' },
    schema: {
      params: JobId,
      ...operation({
        operationId: 'explainJob',
        tags: ['Jobs'],
        summary: 'Why is my job not running?',
        description: 'The one reason, as a `code` for programs and in words.',
        answers: { 200: answer(ref(Explanation), 'The reason.') },
        refusals: ['job_not_found'],
      }),
    },
    handler: (request) => request.verbs.explainJob(request.params),
  });

  app.route({
    method: 'GET',
    url: '/queues/:queue/explain',
    config: { verb: 'explainQueue' },
    schema: {
      params: InQueue,
      ...operation({
        operationId: 'explainQueue',
        tags: ['Queues'],
        summary: 'Why does my claim get nothing?',
        description:
          'What a claim from this queue would get now. If it would get nothing, the one reason, as a `code` for programs ' +
          'and in words.',
        answers: { 200: answer(ref(QueueExplanation), 'The reason.') },
        refusals: ['queue_not_found'],
      }),
    },
    handler: (request) => request.verbs.explainQueue(request.params),
  });

  app.route({
    method: 'GET',
    url: '/queues/:queue/errors',
    config: { verb: 'getQueueErrors' },
    schema: {
      params: InQueue,
      ...operation({
        operationId: 'getQueueErrors',
        tags: ['Queues'],
        summary: 'Why are jobs dead?',
        description:
          'The newest 5,000 dead jobs, grouped by the first line of `last_error`. Errors that differ in numbers and ids only ' +
          'are one. Those of most jobs come first, up to 100.',
        answers: { 200: answer(ref(QueueErrors), 'The errors.') },
        refusals: ['queue_not_found'],
      }),
    },
    handler: (request) => request.verbs.getQueueErrors(request.params),
  });

  app.route({
    method: 'GET',
    url: '/workers',
    config: { verb: 'listWorkers' },
    schema: {
      querystring: Type.Object({ queue: Type.Optional(ref(QueueName)) }, { additionalProperties: false }),
      ...operation({
        operationId: 'listWorkers',
        tags: ['Queues'],
        summary: 'Who works now?',
        description:
          'Workers by the `worker` of their claims, with their leases. A worker without a lease is not seen. Up to 1,000 ' +
          'workers, those with most leases first, of the 20,000 leases that end last.',
        answers: {
          200: answer(ref(Workers), 'The workers that have leases in queues that this caller may see.'),
        },
      }),
    },
    handler: (request) => request.verbs.listWorkers(request.query),
  });
}
