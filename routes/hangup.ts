import type { FastifyReply } from 'fastify';

/** Aborts when the connection is gone before the answer was written. */
export function hangup(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
