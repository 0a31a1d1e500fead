import type { FastifyRequest } from 'fastify';
import type { App } from './fastify.ts';
import { addOnRequest } from './knownRoute.ts';

const ENCODED = /^(%2e){1,2}$/i;

/**
 * Browsers and other clients resolve the parts `.` and `..` of a URL, encoded or not: nobody could reach a queue of that
 * name, and to pause the group `..` would pause its queue. Such a name may be encoded twice: `/queues/%252E%252E`. No
 * queue or schedule has a `%` in its name. A group `%2E` cannot be named in a path.
 */
export function readDotNames(app: App): void {
  app.addHook('onRoute', (route) => {
    if (!/^\/(queues|schedules)\/:/.test(route.url)) return;
    addOnRequest(route, (request: FastifyRequest, _, done) => {
      const params = request.params as Record<string, string>;
      for (const [name, given] of Object.entries(params))
        if (given.startsWith('%') && ENCODED.test(given)) params[name] = decodeURIComponent(given);
      done();
    });
  });
}
