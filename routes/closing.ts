import type { ServerResponse } from 'node:http';
import type { App } from './fastify.ts';

const LOOK_MS = 50;

/**
 * Lets `app.close()` return as soon as the last answer is written: a connection that is merely kept open, or never sent
 * a request, would hold it up for more than a minute.
 */
export function closeWithLastAnswer(app: App): void {
  const answering = new Set<ServerResponse>();
  let timer: NodeJS.Timeout | undefined;

  app.server.on('request', (_, response: ServerResponse) => {
    answering.add(response);
    response.once('close', () => answering.delete(response));
  });
  app.addHook('preClose', (done) => {
    // Fastify says it in the answers to requests that come from now on.
    for (const response of answering) if (!response.headersSent) response.setHeader('connection', 'close');
    timer = setInterval(() => {
      if (answering.size === 0) app.server.closeAllConnections();
    }, LOOK_MS);
    done();
  });
  app.addHook('onClose', async () => clearInterval(timer));
}
