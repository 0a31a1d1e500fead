import type { FastifyReply } from 'fastify';

/** Calls `gone` when the connection is gone before the answer was written. */
export function onHangup(reply: FastifyReply, gone: () => void): void {
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone();
  });
}
