import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onConnection } from './connections.ts';
import type { App } from './fastify.ts';

const LOOK_MS = 50;

/**
 * Lets `app.close()` return as soon as the last answer is written. By default, a connection that is idle, never sent a
 * request, or is in its TLS handshake, delays it by more than a minute. While `draining` is aborted, each answer ends its
 * connection, so that the client sends its next request elsewhere.
 */
export function closeWithLastAnswer(app: App, draining?: AbortSignal): void {
  // The last answer of each connection is enough: a connection answers in order. A listener for each request costs 1 µs.
  const lastAnswers = new Map<Socket, ServerResponse | undefined>();
  /** Under TLS, these are below the sockets that requests have. */
  const connections = new Set<Socket>();
  const unfinished = () =>
    [...lastAnswers.values()].filter((last) => last !== undefined && !last.writableFinished);
  let timer: NodeJS.Timeout | undefined;

  app.server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  onConnection(app, (socket) => {
    lastAnswers.set(socket, undefined);
    socket.once('close', () => lastAnswers.delete(socket));
  });
  app.server.on('request', ({ socket }, response: ServerResponse) => {
    lastAnswers.set(socket, response);
    if (isDraining && !response.headersSent) response.setHeader('connection', 'close');
  });
  let isDraining = false;
  draining?.addEventListener('abort', () => {
    isDraining = true;
  });
  app.addHook('preClose', (done) => {
    // Fastify itself sets this header for requests that come from now on.
    for (const response of unfinished())
      if (!response?.headersSent) response?.setHeader('connection', 'close');
    timer = setInterval(() => {
      if (unfinished().length > 0) return;
      app.server.closeAllConnections();
      for (const socket of connections) socket.destroy();
    }, LOOK_MS);
    done();
  });
  app.addHook('onClose', async () => clearInterval(timer));
}
