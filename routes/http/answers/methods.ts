import type { RouteOptions } from 'fastify';
import type { App } from '../connection/fastify.ts';
import { methodNotAllowed, routeNotFound } from './problems.ts';

/** The methods that have a route, or a 405, on every path. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;

/** The methods of each path. */
type Methods = Map<string, Set<string>>;

function note(methodsOf: Methods, { url, method }: RouteOptions): void {
  const methods = methodsOf.get(url) ?? new Set();
  for (const m of [method].flat()) methods.add(m);
  methodsOf.set(url, methods);
}

/**
 * The methods of the path that a URL has, if it has one. For methods such as PROPFIND, which no path has: 405s of their
 * own, for each path, would take more memory than all routes.
 */
function allowedAt(url: string, methodsOf: Methods): string[] | undefined {
  const path = url.split('?')[0] as string;
  const pattern = (template: string) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
  const template = methodsOf.has(path) ? path : [...methodsOf.keys()].find((url) => pattern(url).test(path));
  return template === undefined ? undefined : [...(methodsOf.get(template) as Set<string>)].sort();
}

/** `/jobs/` is no job without an id. What `*` stands for may be empty. */
function hasEmptyPart(params: Record<string, string>): boolean {
  for (const name in params) if (params[name] === '' && name !== '*') return true;
  return false;
}

/**
 * Answers 404 where no route is, before the body is read. Call what this returns when all routes are there: from then on a
 * method that a path has no route for is 405, with `Allow`.
 */
export function refuseUnknownRoutes(app: App): () => void {
  const methodsOf: Methods = new Map();
  let isWhole = false;
  app.setNotFoundHandler(routeNotFound);
  app.addHook('onRoute', (route) => {
    if (!isWhole) note(methodsOf, route);
  });
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) {
      if (hasEmptyPart(request.params as Record<string, string>)) routeNotFound(request, reply);
      else done();
      return;
    }
    const isCommon = METHODS.some((method) => method === request.method);
    const allowed = isCommon ? undefined : allowedAt(request.url, methodsOf);
    if (allowed) methodNotAllowed(allowed)(request, reply);
    else routeNotFound(request, reply);
  });

  return () => {
    isWhole = true;
    for (const [url, methods] of methodsOf)
      app.route({
        method: METHODS.filter((m) => !methods.has(m)),
        url,
        config: { verb: 'none' },
        schema: { hide: true },
        // Answers before the body is read: a bad body does not matter here.
        onRequest: methodNotAllowed([...methods].sort()),
        handler: () => undefined,
      });
  };
}
