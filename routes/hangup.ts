import type { FastifyReply } from 'fastify';

/** Aborts when the connection is gone before the answer was written. */
export function hangup(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    // `app.inject` closes before its socket, which stays whole, says that all is written.
    if (!reply.raw.writableFinished && reply.raw.socket?.destroyed) gone.abort();
  });
  return gone.signal;
}
