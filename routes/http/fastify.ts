import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { BODY_LIMIT } from './bodyLimits.ts';
import { EarlyAnswer } from './earlyAnswers.ts';
import { leaveRefusalsToUs, refuseClient } from './nodeRefusals.ts';
import { handleError } from './problems.ts';
import { buildValidator } from './validation.ts';

/** How long a request may take to arrive, with its body. The slowest client for which this is enough sends 4.5 Mbit/s. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Fastify without routes. Its options decide which requests are accepted. */
export const createApp = (logger: FastifyBaseLogger, requestTimeoutMs = REQUEST_TIMEOUT_MS) =>
  Fastify({
    loggerInstance: logger,
    genReqId: () => randomUUID(),
    // A logger for each request costs 1 to 2 µs. Each log line about a request names its id itself.
    childLoggerFactory: (logger) => logger,
    // A log line for each request would cost more than most requests. For LOG_LEVEL=debug see logCalls in src/concerns.ts.
    logController: new LogController({ disableRequestLogging: true }),
    // No plugin waits for anything. On a busy machine Swagger UI may take longer than the 10 s of the default.
    pluginTimeout: 0,
    bodyLimit: BODY_LIMIT,
    requestTimeout: requestTimeoutMs,
    http: {
      ...leaveRefusalsToUs,
      ServerResponse: EarlyAnswer as typeof ServerResponse,
      requestTimeout: requestTimeoutMs,
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 10),
    },
    routerOptions: { maxParamLength: 16_384 },
    // JSON.stringify or our own code writes the answers, so Fastify's serialiser is not loaded.
    schemaController: { compilersFactory: { buildValidator, buildSerializer: () => () => JSON.stringify } },
    // Requests that arrive while the service closes are still served. Fastify's own 503 is not problem+json.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      handleError(error, request, reply);
    },
    clientErrorHandler: refuseClient,
  }).withTypeProvider<TypeBoxTypeProvider>();

export type App = ReturnType<typeof createApp>;
