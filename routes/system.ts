import { unavailable } from '../src/errors.ts';
import type { Engine } from '../src/verbs.ts';
import { version } from '../src/version.ts';
import type { App } from './http/connection/fastify.ts';
import { answer, operation } from './http/openapi/operation.ts';
import { ref } from './schemas/common.ts';
import { Health, Version } from './schemas/health.ts';

export function systemRoutes(app: App, engine: Engine, draining?: AbortSignal): void {
  app.route({
    method: 'GET',
    url: '/healthz',
    config: { verb: 'none' },
    schema: operation({
      operationId: 'getHealth',
      tags: ['Health'],
      summary: 'Is the process alive?',
      description: 'For liveness probes. It stays 200 while the database is away: a restart would not help.',
      answers: { 200: answer(ref(Health), 'The process is alive, whatever the state of the database.') },
    }),
    handler: async () => ({ status: 'ok' }) as const,
  });

  app.route({
    method: 'GET',
    url: '/readyz',
    config: { verb: 'none' },
    schema: operation({
      operationId: 'getReadiness',
      tags: ['Health'],
      summary: 'Does the database answer, and is it migrated?',
      description:
        'For readiness probes: whether an enqueue would work now. The 503 says why it would not. Of several databases, one ' +
        'that takes writes is enough: the 200 lists the others.',
      answers: { 200: answer(ref(Health), 'An enqueue would work now.') },
      refusals: ['unavailable'],
    }),
    handler: async () => {
      if (draining?.aborted) throw unavailable('This replica is stopping.');
      const { reason, notReady } = await engine.readiness();
      if (reason !== undefined) throw unavailable(reason);
      return { status: 'ok', ...(notReady.length > 0 ? { not_ready: notReady } : {}) } as const;
    },
  });

  app.route({
    method: 'GET',
    url: '/version',
    config: { verb: 'none' },
    schema: operation({
      operationId: 'getVersion',
      tags: ['Health'],
      summary: 'The versions of this Dibs',
      description:
        'The versions of Dibs and of Node.js. Replicas of two versions may serve beside each other.',
      answers: { 200: answer(ref(Version), 'The version of this replica.') },
      refusals: ['unavailable'],
    }),
    handler: async () => ({ version, node: process.versions.node }),
  });
}
