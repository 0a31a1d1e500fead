import type { RouteOptions } from 'fastify';
import type { Logger } from 'pino';
import { type Access, OPEN } from '../src/access/access.ts';
import { createFailures } from '../src/access/failures.ts';
import { HTTP_LIMITS, type HttpLimits } from '../src/config/limits.ts';
import type { Rates } from '../src/config/rates.ts';
import type { Engine, VerbName } from '../src/verbs.ts';
import { auditRoute } from './audit.ts';
import { claimRoutes } from './claims.ts';
import { enqueueRoutes } from './enqueue.ts';
import { explainRoutes } from './explain.ts';
import { logRequests } from './http/answers/accessLog.ts';
import { dashboardRoutes } from './http/answers/dashboard.ts';
import { handleError, methodNotAllowed, routeNotFound } from './http/answers/problems.ts';
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
import { giveBackTaken } from './http/connection/taken.ts';
import { closeUnread } from './http/connection/unreadAnswers.ts';
import { closeUnreadConnections } from './http/connection/unreadConnections.ts';
import { acceptJson, checkPresenceOfBody } from './http/json/body.ts';
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
import { settleRoute } from './settle.ts';
import { systemRoutes } from './system.ts';

/** The methods that have a route, or a 405, on every path. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;

/** The methods of each path. */
function methodsByPath(routes: RouteOptions[]): Map<string, Set<string>> {
  const methodsOf = new Map<string, Set<string>>();
  for (const { url, method } of routes) {
    const methods = methodsOf.get(url) ?? new Set();
    for (const m of [method].flat()) methods.add(m);
    methodsOf.set(url, methods);
  }
  return methodsOf;
}

/** Answers 405 with `Allow` to every method that a path has no route for. */
function refuseOtherMethods(app: App, methodsOf: Map<string, Set<string>>): void {
  for (const [url, methods] of methodsOf) {
    const others = METHODS.filter((m) => !methods.has(m));
    app.route({
      method: others,
      url,
      config: { verb: 'none' },
      schema: { hide: true },
      // Answers before the body is read: a bad body does not matter here.
      onRequest: methodNotAllowed([...methods].sort()),
      handler: () => undefined,
    });
  }
}

/**
 * The methods of the path that a URL has, if it has one. For methods such as PROPFIND, which no path has: 405s of their
 * own, for each path, would take more memory than all routes.
 */
function allowedAt(url: string, methodsOf: Map<string, Set<string>>): string[] | undefined {
  const path = url.split('?')[0] as string;
  const pattern = (template: string) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
  const template = methodsOf.has(path) ? path : [...methodsOf.keys()].find((url) => pattern(url).test(path));
  return template === undefined ? undefined : [...(methodsOf.get(template) as Set<string>)].sort();
}

const routesOf =
  (
    engine: Engine,
    maxPayloadBytes: number,
    options: { draining?: AbortSignal | undefined; traceUrl?: string | undefined; access?: Access } = {},
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

/** The HTTP service on an engine, not yet listening. */
export async function buildApp(options: {
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
}): Promise<App> {
  const { engine, logger, maxPayloadBytes, webPages, access = OPEN } = options;
  const { certificates, trustProxy, rates = {}, allowedOrigins = [], draining } = options;
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const app = createApp(logger, { limits, certificates, trustProxy });
  countRequests(app);
  if (options.accessLog) logRequests(app);
  tellAskers(app);
  const addRoutes = routesOf(engine, maxPayloadBytes, { draining, traceUrl: options.traceUrl, access });
  const routes: RouteOptions[] = [];
  let methodsOf = new Map<string, Set<string>>();

  app.setErrorHandler(handleError);
  app.setNotFoundHandler(routeNotFound);
  setSafeHeaders(app);
  await allowOrigins(app, allowedOrigins);
  // Answers before the body is read, as for a wrong method.
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) {
      done();
      return;
    }
    const isCommon = METHODS.some((method) => method === request.method);
    const allowed = isCommon ? undefined : allowedAt(request.url, methodsOf);
    if (allowed) methodNotAllowed(allowed)(request, reply);
    else routeNotFound(request, reply);
  });
  checkHeads(app, { access, webPages, maxHeaders: limits.maxHeaders });
  limitConnections(app, limits.maxConnections);
  if (certificates) {
    keepCertificates(app, certificates);
    logRefusedCertificates(app);
  }
  knowRoutes(app);
  readDotNames(app);
  authenticate(app, engine, access, {
    count: rates.requestsPerSecond ? await createCountRequest(app, rates.requestsPerSecond) : undefined,
    failures: rates.failuresPerMinute ? createFailures(rates.failuresPerMinute) : undefined,
  });
  closeWithLastAnswer(app, draining);
  closeUnread(app, limits);
  closeUnreadConnections(app, limits);
  giveBackTaken(app, engine);
  holdAnswers(app, engine.memory);
  acceptJson(app);
  serveAnyExpectation(app);
  for (const schema of namedSchemas) app.addSchema(schema);

  app.addHook('onRoute', (route) => {
    checkPresenceOfBody(route);
    routes.push(route);
  });
  addRoutes(app);
  docsRoutes(app, addRoutes);
  dashboardRoutes(app);
  methodsOf = methodsByPath(routes);
  refuseOtherMethods(app, methodsOf);
  await app.ready();
  return app;
}
