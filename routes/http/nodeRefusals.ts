import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../../src/errors.ts';

/** Options under which Node's server leaves a request without `Host` to us, instead of answering without a body. */
export const leaveRefusalsToUs = { requireHostHeader: false };

/** Answers with problem documents, or serves, what Node's server would refuse with an empty body. */
export function refuseForNode(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _, done) => {
    if (request.headers.host === undefined && request.raw.httpVersionMinor === 1)
      done(invalidRequest([{ in: 'header', path: '/host', message: 'is required' }]));
    else done();
  });
  // RFC 9110, 10.1.1: an expectation that is not known need not be refused.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}
