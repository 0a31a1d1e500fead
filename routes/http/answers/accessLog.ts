import { idsOf } from '../../../src/traceparent.ts';
import type { App } from '../connection/fastify.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request began, on the clock of this process. */
    began: number;
  }
}

/**
 * Logs a line for each request when its answer is written, or its client is gone. It names the pattern of the route, not
 * the path, and no header but the ids: so nothing secret is in it.
 */
export function logRequests(app: App): void {
  app.decorateRequest('began', 0);
  app.addHook('onRequest', (request, _, done) => {
    request.began = performance.now();
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { headers, id, method, route, began, raw } = request;
    const sent = reply.getHeader('content-length');
    app.log.info(
      {
        reqId: id,
        method,
        route: route?.pattern,
        status: reply.statusCode,
        ms: Math.round((performance.now() - began) * 10) / 10,
        bytes: sent === undefined ? undefined : Number(sent),
        bytesIn: headers['content-length'] === undefined ? undefined : Number(headers['content-length']),
        traceId: idsOf(headers.traceparent)?.traceId,
        // Where nobody needs a key, the caller has no id.
        caller: request.caller?.id === undefined ? undefined : request.caller.name,
        aborted: raw.destroyed && !reply.raw.writableFinished ? true : undefined,
      },
      'request',
    );
    done();
  });
}
