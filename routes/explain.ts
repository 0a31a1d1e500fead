import type { Engine } from '../src/engine.ts';
import type { App } from './http/fastify.ts';
import { answer, operation } from './http/operation.ts';
import { JobId, ref } from './schemas/common.ts';
import { Explanation } from './schemas/explain.ts';

export function explainRoute(app: App, engine: Engine): void {
  app.route({
    method: 'GET',
    url: '/jobs/:id/explain',
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
    handler: (request) => engine.jobs.explain(request.params.id),
  });
}
