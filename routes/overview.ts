import { Type } from 'typebox';
import { ANYBODY, SCOPES } from '../src/caller.ts';
import { version } from '../src/version.ts';
import type { App } from './http/connection/fastify.ts';
import { answer, operation } from './http/openapi/operation.ts';
import { PAGE_LIMIT, QueueName, ref } from './schemas/common.ts';
import { Overview, Samples } from './schemas/overview.ts';

const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * 60;

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
          'It uses the numbers of the metrics, so it costs the same for any number of jobs. Dibs counts only while somebody asks, in a fiftieth of the time. The first request after five minutes without one may get old numbers, or none.',
        answers: { 200: answer(ref(Overview), 'The queues that this caller may see.') },
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

  app.route({
    method: 'GET',
    url: '/overview/samples',
    config: { verb: 'getSamples' },
    schema: {
      querystring: Type.Object(
        {
          queue: Type.Optional(ref(QueueName)),
          minutes: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: DAY_MINUTES,
              default: HOUR_MINUTES,
              description: 'How many minutes back. With more than 120, the points are farther apart.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'getSamples',
        tags: ['Queues'],
        summary: 'The last minutes of the busiest queues',
        description:
          'Dibs stores the numbers of the busiest 100 queues once a minute, for a day: for charts of the time before the page was opened. For longer times, collect the metrics.',
        answers: { 200: answer(ref(Samples), 'The queues that this caller may see.') },
      }),
    },
    handler: async (request) => {
      const { minutes = HOUR_MINUTES, queue } = request.query;
      return request.verbs.getSamples({ minutes, queue });
    },
  });
}
