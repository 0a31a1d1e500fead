import type { FastifyReply } from 'fastify';

/** Calls `gone` when the connection is gone before the answer was written. */
export function onHangup(reply: FastifyReply, gone: () => void): void {
  reply.raw.once('close', () => {
    // `app.inject` closes before its socket, which stays whole, says that all is written.
    if (!reply.raw.writableFinished && reply.raw.socket?.destroyed) gone();
  });
}
