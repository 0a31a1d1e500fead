import type { Logger } from 'pino';
import { type Access, OPEN } from '../src/access/access.ts';
import { createFailures } from '../src/access/failures.ts';
import { HTTP_LIMITS, type HttpLimits } from '../src/config/limits.ts';
import type { Rates } from '../src/config/rates.ts';
import type { Engine, VerbName } from '../src/verbs.ts';
import { auditRoute } from './audit.ts';
import { batchRoutes } from './batches.ts';
import { claimRoutes } from './claims.ts';
import { databaseRoutes } from './databases.ts';
import { enqueueRoutes } from './enqueue.ts';
import { explainRoutes } from './explain.ts';
import { logRequests } from './http/answers/accessLog.ts';
import { dashboardRoutes } from './http/answers/dashboard.ts';
import { refuseUnknownRoutes } from './http/answers/methods.ts';
import { handleError } from './http/answers/problems.ts';
import { countRequests } from './http/answers/requestCounts.ts';
import { tellAskers } from './http/connection/askers.ts';
import { limitConnections, logRefusedCertificates } from './http/connection/connections.ts';
import { readDotNames } from './http/connection/dotNames.ts';
import { type App, createApp } from './http/connection/fastify.ts';
import { closeWithLastAnswer } from './http/connection/gracefulClose.ts';
import { checkHeads } from './http/connection/head.ts';
import { knowRoutes } from './http/connection/knownRoute.ts';
import { holdAnswers } from './http/connection/memory.ts';
import { serveAnyExpectation } from './http/connection/nodeRefusals.ts';
import { closeOldConnections } from './http/connection/oldConnections.ts';
import { giveBackTaken } from './http/connection/taken.ts';
import { closeUnansweredConnections } from './http/connection/unanswered.ts';
import { closeUnread } from './http/connection/unreadAnswers.ts';
import { closeUnreadConnections } from './http/connection/unreadConnections.ts';
import { acceptJson, checkPresenceOfBody } from './http/json/body.ts';
import { refuseUnknownParameters } from './http/json/query.ts';
import { describingApp, docsRoutes } from './http/openapi/docs.ts';
import { authenticate } from './http/security/authenticate.ts';
import { type Certificates, keepCertificates } from './http/security/certificates.ts';
import { allowOrigins } from './http/security/cors.ts';
import { createCountRequest } from './http/security/requestRate.ts';
import { setSafeHeaders } from './http/security/safeHeaders.ts';
import type { WebPages } from './http/security/webPages.ts';
import { jobRoutes } from './jobs.ts';
import { keyRoutes } from './keys.ts';
import { metricsRoute } from './metrics.ts';
import { operationRoutes } from './operations.ts';
import { overviewRoute } from './overview.ts';
import { queueRoutes } from './queues.ts';
import { scheduleRoutes } from './schedules.ts';
import { namedSchemas } from './schemas/named.ts';
import { sessionRoutes } from './sessions.ts';
import { settleRoute } from './settle.ts';
import { systemRoutes } from './system.ts';

const routesOf =
  (
    engine: Engine,
    maxPayloadBytes: number,
    options: {
      draining?: AbortSignal | undefined;
      traceUrl?: string | undefined;
      access?: Access | undefined;
    } = {},
  ) =>
  (app: App) => {
    const { draining, traceUrl, access = OPEN } = options;
    systemRoutes(app, engine, draining);
    metricsRoute(app, engine);
    enqueueRoutes(app, maxPayloadBytes);
    jobRoutes(app, maxPayloadBytes);
    explainRoutes(app);
    claimRoutes(app, maxPayloadBytes);
    settleRoute(app, maxPayloadBytes);
    queueRoutes(app);
    databaseRoutes(app);
    batchRoutes(app, maxPayloadBytes);
    sessionRoutes(app);
    operationRoutes(app);
    overviewRoute(app, traceUrl);
    scheduleRoutes(app, maxPayloadBytes);
    keyRoutes(app, access);
    auditRoute(app);
  };

/** The OpenAPI document, without an engine behind it. */
export async function openApiDocument(logger: Logger): Promise<object> {
  const app = await describingApp(routesOf({} as Engine, 1), logger);
  return app.swagger();
}

/** An operation of the document, and the verb that says what it needs. */
export interface Declared {
  method: string;
  /** As the document writes it: `/jobs/{id}`. */
  path: string;
  operationId: string;
  verb: VerbName | 'none';
}

/** Every operation of the document, in its order. */
export function declaredOperations(logger: Logger): Declared[] {
  const app = createApp(logger);
  const declared: Declared[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const { operationId } = (schema ?? {}) as { operationId?: string };
    if (operationId === undefined || method === 'HEAD') return;
    const verb = config?.verb as Declared['verb'];
    declared.push({ method: String(method), path: url.replaceAll(/:(\w+)/g, '{$1}'), operationId, verb });
  });
  routesOf({} as Engine, 1)(app);
  return declared;
}

/** What the HTTP service serves, and how. */
export interface ServiceOptions {
  engine: Engine;
  logger: Logger;
  maxPayloadBytes: number;
  /** Tells who sends a request. Without it, nobody needs a key. */
  access?: Access | undefined;
  /** How many requests a second a caller may send, and how many wrong keys a minute an address. None: as many as they like. */
  rates?: Partial<Rates>;
  /** The origins whose pages may read answers. `*`: all. */
  allowedOrigins?: string[];
  /** Undefined: web pages of all sites may send requests. */
  webPages?: WebPages | undefined;
  /** Undefined: plain HTTP. */
  certificates?: Certificates | undefined;
  trustProxy?: string[] | undefined;
  /** Where a trace can be looked at. It has `{trace_id}`. */
  traceUrl?: string | undefined;
  limits?: Partial<HttpLimits> | undefined;
  /** Log a line for each request. */
  accessLog?: boolean | undefined;
  /** Aborted when this replica is about to stop, and serves on only until nobody sends it requests any more. */
  draining?: AbortSignal;
}

/**
 * What holds for every request to this port, whatever protocol it speaks. Call what this returns when all routes are there: it refuses
 * the other methods of their paths.
 */
export async function receiveRequests(app: App, options: ServiceOptions): Promise<() => void> {
  const { engine, webPages, access = OPEN, certificates, allowedOrigins = [], draining } = options;
  const limits = { ...HTTP_LIMITS, ...options.limits };
  app.setErrorHandler(handleError);
  countRequests(app);
  if (options.accessLog) logRequests(app);
  tellAskers(app);
  setSafeHeaders(app);
  await allowOrigins(app, allowedOrigins);
  const refuseOtherMethods = refuseUnknownRoutes(app);
  checkHeads(app, { access, webPages, maxHeaders: limits.maxHeaders });
  limitConnections(app, limits.maxConnections);
  if (certificates) {
    keepCertificates(app, certificates);
    logRefusedCertificates(app);
  }
  knowRoutes(app);
  closeOldConnections(app, limits);
  closeWithLastAnswer(app, draining);
  closeUnread(app, limits);
  closeUnreadConnections(app, limits);
  closeUnansweredConnections(app);
  giveBackTaken(app, engine);
  holdAnswers(app, engine.memory);
  serveAnyExpectation(app);
  return refuseOtherMethods;
}

/**
 * The REST API, as a plugin of Fastify. Its errors, its parser and its authentication are its own: another protocol is another plugin
 * beside this one, and brings others.
 */
export async function restApi(app: App, options: ServiceOptions): Promise<void> {
  const { engine, maxPayloadBytes, access = OPEN, rates = {}, draining, traceUrl } = options;
  app.setErrorHandler(handleError);
  readDotNames(app);
  authenticate(app, engine, access, {
    count: rates.requestsPerSecond ? await createCountRequest(app, rates.requestsPerSecond) : undefined,
    failures: rates.failuresPerMinute ? createFailures(rates.failuresPerMinute) : undefined,
  });
  acceptJson(app);
  for (const schema of namedSchemas) app.addSchema(schema);
  app.addHook('onRoute', checkPresenceOfBody);
  app.addHook('onRoute', refuseUnknownParameters);
  const addRoutes = routesOf(engine, maxPayloadBytes, { draining, traceUrl, access });
  addRoutes(app);
  docsRoutes(app, addRoutes);
  dashboardRoutes(app);
}

/** The HTTP service on an engine, not yet listening. */
export async function buildApp(options: ServiceOptions): Promise<App> {
  const { logger, certificates, trustProxy } = options;
  const app = createApp(logger, { limits: { ...HTTP_LIMITS, ...options.limits }, certificates, trustProxy });
  const refuseOtherMethods = await receiveRequests(app, options);
  await app.register((rest) => restApi(rest as unknown as App, options));
  refuseOtherMethods();
  await app.ready();
  return app;
}

/**
 * Probes and the metrics of `service`, for a port of their own where nobody needs a key: the network decides who reaches it. It is plain
 * HTTP, also where the API has TLS: who probes a replica inside a cluster has no certificates.
 */
export async function buildProbes(
  service: App,
  options: Pick<ServiceOptions, 'engine' | 'logger' | 'maxPayloadBytes' | 'limits' | 'draining'>,
): Promise<App> {
  const { engine, logger, draining } = options;
  const app = createApp(logger);
  const refuseOtherMethods = await receiveRequests(app, options);
  authenticate(app, engine, OPEN, { count: undefined, failures: undefined });
  for (const schema of namedSchemas) app.addSchema(schema);
  systemRoutes(app, engine, draining);
  metricsRoute(app, engine, service);
  refuseOtherMethods();
  await app.ready();
  return app;
}
