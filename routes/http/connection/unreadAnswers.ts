import type { Socket } from 'node:net';
import type { HttpLimits } from '../../../src/config/limits.ts';
import { onConnection } from './connections.ts';
import type { App } from './fastify.ts';

/** How often it looks for clients that do not read. */
const LOOKS = 6;

/**
 * Closes a connection whose client takes no byte of an answer for `answerTimeoutMs`. A client that reads slowly may take
 * as long as it needs. A request that waits for a job has no answer yet, so its connection stays.
 */
export function closeUnread(app: App, { answerTimeoutMs }: Pick<HttpLimits, 'answerTimeoutMs'>): void {
  // A fraction tells this limit from the one of idle connections, which Node's server sets.
  const timeoutMs = answerTimeoutMs + 0.5;
  const sockets = new Set<Socket>();
  /** Those with a part of an answer that the kernel has not taken. The socket itself watches whether it takes more. */
  const watched = new Set<Socket>();

  onConnection(app, (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      watched.delete(socket);
    });
  });

  const timer = setInterval(() => {
    for (const socket of sockets) {
      const isFull = socket.writableLength > 0;
      if (isFull === watched.has(socket)) continue;
      if (isFull) {
        watched.add(socket);
        socket.setTimeout(timeoutMs);
      } else {
        watched.delete(socket);
        // If the connection is idle by now, Node's server has set a time limit of its own.
        if (socket.timeout === timeoutMs) socket.setTimeout(0);
      }
    }
  }, timeoutMs / LOOKS);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
