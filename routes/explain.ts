import type { App } from './http/fastify.ts';
import { answer, operation } from './http/operation.ts';
import { InQueue, JobId, ref } from './schemas/common.ts';
import { Explanation, QueueExplanation } from './schemas/explain.ts';

export function explainRoutes(app: App): void {
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
        refusals: [400, 404],
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
        refusals: [400, 404],
      }),
    },
    handler: (request) => request.verbs.explainQueue(request.params),
  });
}
