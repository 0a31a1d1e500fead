import { Type } from 'typebox';
import type { Family } from '../src/metrics/family.ts';
import type { App } from './http/fastify.ts';
import { operation } from './http/operation.ts';

const PLAIN = 'text/plain; version=0.0.4; charset=utf-8';
const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** The text of metrics. prom-client is loaded at the first request for it: most replicas of a small Dibs never get one. */
async function textOf(families: Family[], contentType: typeof PLAIN | typeof OPEN_METRICS): Promise<string> {
  const { Registry } = await import('prom-client');
  const registry = new Registry();
  registry.setContentType(contentType as never);
  for (const { name, type, help, samples } of families) {
    const values = samples.map((sample) => ({ ...sample, metricName: sample.name }));
    const metric = { name, type, get: async () => ({ name: metric.name, type, help, values }) };
    registry.registerMetric(metric as never);
  }
  return registry.metrics();
}

const text = { schema: Type.String() };

export function metricsRoute(app: App): void {
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
          'In the format of OpenMetrics to whoever accepts it, else in that of Prometheus. A caller with queue patterns ' +
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
      const { families, isWhole } = await request.verbs.getMetrics({});
      const contentType = request.headers.accept?.includes('application/openmetrics-text')
        ? OPEN_METRICS
        : PLAIN;
      const all = isWhole ? [...families, ...app.requestCounts.families()] : families;
      return reply
        .header('vary', 'accept')
        .type(contentType)
        .send(await textOf(all, contentType));
    },
  });
}
