import type { FastifyReply } from 'fastify';

/** Calls `gone` when the connection is gone before the answer was written; at once, when it is gone already. */
export function onHangup({ raw }: FastifyReply, gone: () => void): void {
  if (raw.destroyed) {
    gone();
    return;
  }
  raw.on('close', () => {
    // `app.inject` closes before its socket, which stays whole, says that all is written.
    if (!raw.writableFinished && raw.socket?.destroyed) gone();
  });
}
