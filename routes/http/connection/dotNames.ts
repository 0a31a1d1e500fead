import type { FastifyRequest } from 'fastify';
import type { App } from './fastify.ts';
import { addOnRequest } from './knownRoute.ts';

const ENCODED = /^(%2e){1,2}$/i;

/**
 * Browsers and other clients resolve the parts `.` and `..` of a URL, encoded or not, so nobody could reach a queue of
 * that name. Such a name may be encoded twice: `/queues/%252E%252E`. No name has a `%`, so nothing else is meant by it.
 */
export function readDotNames(app: App): void {
  app.addHook('onRoute', (route) => {
    const [, parameter] = /^\/(?:queues|schedules)\/:(\w+)/.exec(route.url) ?? [];
    if (parameter === undefined) return;
    addOnRequest(route, (request: FastifyRequest, _, done) => {
      const params = request.params as Record<string, string>;
      const given = params[parameter] as string;
      if (given.startsWith('%') && ENCODED.test(given)) params[parameter] = decodeURIComponent(given);
      done();
    });
  });
}
