import { randomUUID } from 'node:crypto';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { MAX_BODY_BYTES } from './body.ts';
import { leaveRefusalsToUs } from './nodeRefusals.ts';
import { handleError, rawProblem } from './problems.ts';
import { buildValidator } from './validation.ts';

/** Fastify without routes. Its options decide which requests are accepted. */
export const createApp = (logger: FastifyBaseLogger) =>
  Fastify({
    loggerInstance: logger,
    genReqId: () => randomUUID(),
    // A logger for each request costs 1 to 2 µs. Each log line about a request names its id itself.
    childLoggerFactory: (logger) => logger,
    // A log line for each request would cost more than most requests. See logAnswers for LOG_LEVEL=debug.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    http: leaveRefusalsToUs,
    routerOptions: { maxParamLength: 16_384 },
    // JSON.stringify or our own code writes the answers, so Fastify's serialiser is not loaded.
    schemaController: { compilersFactory: { buildValidator, buildSerializer: () => () => JSON.stringify } },
    // Requests that arrive while the service closes are still served. Fastify's own 503 is not problem+json.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      handleError(error, request, reply);
    },
    clientErrorHandler: (_, socket) => {
      if (socket.writable) socket.end(rawProblem());
      else socket.destroy();
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

export type App = ReturnType<typeof createApp>;
