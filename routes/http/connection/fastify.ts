import { randomUUID } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, type FastifyHttpOptions, LogController } from 'fastify';
import { HTTP_LIMITS, type HttpLimits } from '../../../src/config/limits.ts';
import { handleError } from '../answers/problems.ts';
import { BODY_LIMIT } from '../json/bodyLimits.ts';
import { buildValidator } from '../json/validation.ts';
import type { Certificates } from '../security/certificates.ts';
import { EarlyAnswer } from './earlyAnswers.ts';
import { leaveRefusalsToUs, refuseClient } from './nodeRefusals.ts';

export interface ServerOptions {
  limits?: HttpLimits | undefined;
  /** Undefined: plain HTTP. */
  certificates?: Certificates | undefined;
  trustProxy?: string[] | undefined;
}

/** What Node's server needs to know. */
function serverOptions({ limits = HTTP_LIMITS, certificates }: ServerOptions) {
  const { requestTimeoutMs, maxHeaderBytes } = limits;
  const http = {
    ...leaveRefusalsToUs,
    ServerResponse: EarlyAnswer as typeof ServerResponse,
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.ceil(requestTimeoutMs / 10),
    maxHeaderSize: maxHeaderBytes,
  };
  if (certificates === undefined) return { http };
  return { https: { ...http, ...certificates.options, handshakeTimeout: requestTimeoutMs } };
}

/** The id that a request brings along, if it may be one: 1 to 128 printable characters. */
const sentId = (id: unknown): string | undefined =>
  typeof id === 'string' && /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/.test(id) ? id : undefined;

/** Fastify without routes. Its options decide which requests are accepted. */
export function createApp(logger: FastifyBaseLogger, options: ServerOptions = {}) {
  const { limits = HTTP_LIMITS, trustProxy = [] } = options;
  const app = Fastify({
    loggerInstance: logger,
    genReqId: ({ headers }) => sentId(headers['x-request-id']) ?? randomUUID(),
    // A logger for each request costs 1 to 2 µs. Each log line about a request names its id itself.
    childLoggerFactory: (logger) => logger,
    // A log line for each request would cost more than most requests. For LOG_LEVEL=debug see logCalls in src/concerns.ts.
    logController: new LogController({ disableRequestLogging: true }),
    // No plugin waits for anything. On a busy machine Swagger UI may take longer than the 10 s of the default.
    pluginTimeout: 0,
    bodyLimit: BODY_LIMIT,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveMs,
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    ...serverOptions(options),
    routerOptions: { maxParamLength: 16_384 },
    // JSON.stringify or our own code writes the answers, so Fastify's serialiser is not loaded.
    schemaController: { compilersFactory: { buildValidator, buildSerializer: () => () => JSON.stringify } },
    // Requests that arrive while the service closes are still served. Fastify's own 503 is not problem+json.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      handleError(error, request, reply);
    },
    clientErrorHandler: (error, socket) => refuseClient(error, socket, limits.maxHeaderBytes),
    // The server of HTTPS has all that the routes use of the server of HTTP.
  } as FastifyHttpOptions<Server, FastifyBaseLogger>).withTypeProvider<TypeBoxTypeProvider>();
  // Node would silently leave out headers beyond a number. Those beyond maxHeaders are refused (head.ts).
  app.server.maxHeadersCount = 0;
  return app;
}

export type App = ReturnType<typeof createApp>;
