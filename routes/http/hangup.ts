import type { FastifyReply } from 'fastify';

/** Calls `gone` when the connection closes before the answer is written, or at once when it is closed already. */
export function onHangup({ raw }: FastifyReply, gone: () => void): void {
  if (raw.destroyed) {
    gone();
    return;
  }
  raw.on('close', () => {
    // In `app.inject`, `close` comes before `writableFinished` is true, and the socket is not destroyed.
    if (!raw.writableFinished && raw.socket?.destroyed) gone();
  });
}
