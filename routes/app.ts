import type { RouteOptions } from 'fastify';
import type { Logger } from 'pino';
import type { Engine } from '../src/engine.ts';
import { claimRoutes } from './claims.ts';
import { enqueueRoutes } from './enqueue.ts';
import { explainRoutes } from './explain.ts';
import { acceptJson, checkPresenceOfBody } from './http/body.ts';
import { describingApp, docsRoutes } from './http/docs.ts';
import { type App, createApp } from './http/fastify.ts';
import { closeWithLastAnswer } from './http/gracefulClose.ts';
import { refuseForNode } from './http/nodeRefusals.ts';
import { handleError, methodNotAllowed, routeNotFound } from './http/problems.ts';
import { jobRoutes } from './jobs.ts';
import { queueRoutes } from './queues.ts';
import { scheduleRoutes } from './schedules.ts';
import { namedSchemas } from './schemas/named.ts';
import { settleRoute } from './settle.ts';
import { systemRoutes } from './system.ts';

/** Every method that HTTP clients use. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;

/** Answers 405 with `Allow` to every method that a path has no route for. */
function refuseOtherMethods(app: App, routes: RouteOptions[]): void {
  const methodsOf = new Map<string, Set<string>>();
  for (const { url, method } of routes) {
    const methods = methodsOf.get(url) ?? new Set();
    for (const m of [method].flat()) methods.add(m);
    methodsOf.set(url, methods);
  }
  for (const [url, methods] of methodsOf) {
    const others = METHODS.filter((m) => !methods.has(m));
    app.route({
      method: others,
      url,
      schema: { hide: true },
      // Answers before the body is read: a bad body does not matter here.
      onRequest: methodNotAllowed([...methods].sort()),
      handler: () => undefined,
    });
  }
}

const routesOf = (engine: Engine, maxPayloadBytes: number) => (app: App) => {
  systemRoutes(app, engine);
  enqueueRoutes(app, engine, maxPayloadBytes);
  jobRoutes(app, engine);
  explainRoutes(app, engine);
  claimRoutes(app, engine, maxPayloadBytes);
  settleRoute(app, engine, maxPayloadBytes);
  queueRoutes(app, engine);
  scheduleRoutes(app, engine, maxPayloadBytes);
};

/** The OpenAPI document, without an engine behind it. */
export async function openApiDocument(logger: Logger): Promise<object> {
  const app = await describingApp(routesOf({} as Engine, 1), logger);
  return app.swagger();
}

/** The HTTP service on an engine, not yet listening. */
export async function buildApp(options: {
  engine: Engine;
  logger: Logger;
  maxPayloadBytes: number;
}): Promise<App> {
  const { engine, logger, maxPayloadBytes } = options;
  const app = createApp(logger);
  const addRoutes = routesOf(engine, maxPayloadBytes);
  const routes: RouteOptions[] = [];

  app.setErrorHandler(handleError);
  app.setNotFoundHandler(routeNotFound);
  // Answers before the body is read, as for a wrong method.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) routeNotFound(request, reply);
    else done();
  });
  closeWithLastAnswer(app);
  acceptJson(app);
  refuseForNode(app);
  for (const schema of namedSchemas) app.addSchema(schema);

  app.addHook('onRoute', (route) => {
    checkPresenceOfBody(route);
    routes.push(route);
  });
  addRoutes(app);
  docsRoutes(app, addRoutes);
  refuseOtherMethods(app, [...routes]);
  await app.ready();
  return app;
}
