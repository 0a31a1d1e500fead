import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../../src/errors.ts';

/** With these options, Node's server passes on a request without `Host`, instead of refusing it with an empty body. */
export const leaveRefusalsToUs = { requireHostHeader: false };

/** Serves requests that Node's server would refuse with an empty body, or refuses them with a problem document. */
export function refuseForNode(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _, done) => {
    if (request.headers.host === undefined && request.raw.httpVersionMinor === 1)
      done(invalidRequest([{ in: 'header', path: '/host', message: 'is required' }]));
    else done();
  });
  // A request with an unknown `Expect` is served, as RFC 9110, 10.1.1 allows.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}
