import { ANYBODY } from '../src/caller.ts';
import { textOf } from '../src/metrics/family.ts';
import { inSlices } from '../src/slices.ts';
import type { Engine } from '../src/verbs.ts';
import type { App } from './http/connection/fastify.ts';
import { operation } from './http/openapi/operation.ts';
import { ref } from './schemas/common.ts';
import { MetricsText } from './schemas/health.ts';

const PLAIN = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

const text = { schema: ref(MetricsText) };

/** `counted`: the app whose requests are told. */
export function metricsRoute(
  app: App,
  engine: Pick<Engine, 'inMetricsSlot'>,
  counted: Pick<App, 'requestCounts'> = app,
): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    config: { verb: 'getMetrics' },
    schema: {
      ...operation({
        operationId: 'getMetrics',
        tags: ['Health'],
        summary: 'Metrics for Prometheus',
        description:
          'In the OpenMetrics format if the client accepts it, else in the Prometheus format. A caller with queue patterns ' +
          'gets the metrics of its queues only. docs/metrics.md explains each.',
        answers: {
          200: {
            description: 'The metrics.',
            content: { 'text/plain': text, 'application/openmetrics-text': text },
          },
        },
      }),
    },
    handler: async (request, reply) => {
      const isOpenMetrics = request.headers.accept?.includes('application/openmetrics-text') === true;
      const { visible } = request.caller ?? ANYBODY;
      const written = await engine.inMetricsSlot(JSON.stringify([visible, isOpenMetrics]), async () => {
        const { families, isWhole } = await request.verbs.getMetrics({});
        const all = isWhole ? [...families, ...counted.requestCounts.families()] : families;
        return inSlices(textOf(all, isOpenMetrics));
      });
      return reply
        .header('vary', 'accept')
        .type(isOpenMetrics ? OPEN_METRICS : PLAIN)
        .send(written);
    },
  });
}
