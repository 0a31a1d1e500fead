import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { BODY_LIMIT } from '../json/bodyLimits.ts';
import type { RawShape } from '../json/openJson.ts';
import type { App } from './fastify.ts';

declare module 'fastify' {
  interface FastifyRequest {
    route: KnownRoute;
  }
}

/** What a request is read by. Fastify's `routeOptions` is made anew each time that it is asked for. */
export interface KnownRoute {
  /** The method and the path, without parameters. */
  name: string;
  /** The name for metrics and the access log. Undefined for a route that only refuses a method. */
  pattern: string | undefined;
  bodyLimit: number;
  raw: RawShape | undefined;
  isIdempotent: boolean;
}

type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;

/** Adds a hook to a route. It runs before the body is read, after the hooks of all routes. */
export function addOnRequest(route: RouteOptions, hook: Hook): void {
  route.onRequest = [...[route.onRequest ?? []].flat(), hook] as NonNullable<RouteOptions['onRequest']>;
}

/** Lets each request know its route. */
export function knowRoutes(app: App): void {
  app.decorateRequest('route', null as unknown as KnownRoute);
  app.addHook('onRoute', (route) => {
    const { config = {}, bodyLimit = BODY_LIMIT, method, url } = route;
    const known = {
      name: `${method} ${url}`,
      pattern: Array.isArray(method) ? undefined : `${method} ${url}`,
      bodyLimit,
      raw: config.raw,
      isIdempotent: config.idempotent === true,
    };
    addOnRequest(route, (request, _, done) => {
      request.route = known;
      done();
    });
  });
}
