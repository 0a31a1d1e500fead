import { Type } from 'typebox';
import { ANYBODY, SCOPES } from '../src/access/caller.ts';
import { version } from '../src/version.ts';
import type { App } from './http/fastify.ts';
import { answer, operation } from './http/operation.ts';
import { PAGE_LIMIT, QueueName, ref } from './schemas/common.ts';
import { Overview } from './schemas/overview.ts';

export function overviewRoute(app: App, traceUrl: string | undefined): void {
  app.route({
    method: 'GET',
    url: '/overview',
    config: { verb: 'getOverview' },
    schema: {
      querystring: Type.Object(
        {
          queue: Type.Optional(ref(QueueName)),
          limit: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1000,
              default: PAGE_LIMIT,
              description: 'How many queues to show at most.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'getOverview',
        tags: ['Queues'],
        summary: 'All queues at a glance, those with trouble first',
        description:
          'With the numbers of the metrics, so it costs the same for any number of jobs. A duty counts while somebody looks, for a ' +
          'fiftieth of the time. The first look after five minutes without one finds old numbers, or none.',
        answers: { 200: answer(ref(Overview), 'The queues that this caller may see.') },
        refusals: [400],
      }),
    },
    handler: async (request) => {
      const { limit = PAGE_LIMIT, queue } = request.query;
      const caller = request.caller ?? ANYBODY;
      return {
        version,
        trace_url: traceUrl ?? null,
        caller: {
          name: caller.name,
          needs_key: caller.id !== undefined,
          scopes: SCOPES.filter(caller.may),
          queues: [...caller.grant.queues],
        },
        ...(await request.verbs.getOverview({ limit, queue })),
      };
    },
  });
}
