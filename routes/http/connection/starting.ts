import type { Logger } from 'pino';
import type { HttpLimits } from '../../../src/config/limits.ts';
import { unavailable } from '../../../src/errors.ts';
import { sendProblem } from '../answers/problems.ts';
import { type Certificates, keepCertificates } from '../security/certificates.ts';
import { setSafeHeaders } from '../security/safeHeaders.ts';
import { limitConnections } from './connections.ts';
import { type App, createApp } from './fastify.ts';

/**
 * What listens until the service can serve: `/healthz` is 200, everything else 503 with the reason that `why` gives. Each answer ends
 * its connection, so that the next one reaches the service.
 */
export function startingApp(
  logger: Logger,
  why: () => string,
  options: { limits: HttpLimits; certificates: Certificates | undefined },
): App {
  const app = createApp(logger, options);
  setSafeHeaders(app);
  limitConnections(app, options.limits.maxConnections);
  if (options.certificates) keepCertificates(app, options.certificates);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('connection', 'close');
    if (request.url.split('?')[0] === '/healthz' && /^(GET|HEAD)$/.test(request.method))
      return reply.send({ status: 'ok' });
    return sendProblem(reply, unavailable(why()));
  });
  return app;
}
