import type { Socket } from 'node:net';
import type { HttpLimits } from '../../../src/config/limits.ts';
import { onConnection } from './connections.ts';
import type { App } from './fastify.ts';

/**
 * Closes a connection that was not read for `unreadMs`, while nothing is written to it. Node reads no more of a connection when many
 * answers stand behind one that is not made yet. Nor do we, when a body is refused there. Then nobody would hear that the client
 * hangs up, and what it took would be held until the answer in front is made: for up to a minute, if that one waits.
 */
export function closeUnreadConnections(app: App, { unreadMs }: Pick<HttpLimits, 'unreadMs'>): void {
  const sockets = new Set<Socket>();
  /** The connections that nobody reads, each with the time at which that began. */
  const unread = new Map<Socket, number>();

  onConnection(app, (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      unread.delete(socket);
    });
  });

  const timer = setInterval(() => {
    const now = performance.now();
    for (const socket of sockets) {
      const isUnread = socket.isPaused() && socket.writableLength === 0;
      const since = unread.get(socket);
      if (!isUnread) unread.delete(socket);
      else if (since === undefined) unread.set(socket, now);
      else if (now - since >= unreadMs) socket.destroy();
    }
  }, unreadMs / 2);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
