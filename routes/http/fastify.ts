import { randomUUID } from 'node:crypto';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { MAX_BODY_BYTES } from './body.ts';
import { leaveRefusalsToUs } from './nodeRefusals.ts';
import { handleError, rawProblem } from './problems.ts';
import { buildValidator } from './validation.ts';

/** Fastify with the options that decide what is accepted, and no routes yet. */
export const createApp = (logger: FastifyBaseLogger) =>
  Fastify({
    loggerInstance: logger,
    genReqId: () => randomUUID(),
    // A logger for each request cost it a microsecond or two; what is said of a request names its id itself.
    childLoggerFactory: (logger) => logger,
    // A line or two for each request would cost more than most requests; see logAnswers.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    http: leaveRefusalsToUs,
    routerOptions: { maxParamLength: 16_384 },
    // Answers are written by JSON.stringify or by hand: Fastify's own serialiser is not even loaded then.
    schemaController: { compilersFactory: { buildValidator, buildSerializer: () => () => JSON.stringify } },
    // Requests that arrive while the service closes are still served; Fastify's own answer would be no problem+json.
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
