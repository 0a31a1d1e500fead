import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';

/** Whom to tell when a connection closes. Pipelined requests share one. */
const told = new WeakMap<Socket, Set<() => void>>();

function toldOf(socket: Socket): Set<() => void> {
  let callbacks = told.get(socket);
  if (!callbacks) {
    const opened = new Set<() => void>();
    callbacks = opened;
    told.set(socket, opened);
    socket.once('close', () => {
      for (const gone of opened) gone();
    });
  }
  return callbacks;
}

/**
 * Calls `gone` when the connection closes before it has taken the whole answer, or at once when it is at its end already.
 * Node drops what is written to a connection at its end, and calls the answer finished all the same. Only an answer that
 * finishes on a living connection was taken. An answer that waits behind another one never hears of the close itself.
 */
export function onHangup({ raw, request }: FastifyReply, gone: () => void): void {
  const { socket } = request.raw;
  if (socket.destroyed) {
    gone();
    return;
  }
  const callbacks = toldOf(socket);
  callbacks.add(gone);
  raw.once('finish', () => {
    if (!socket.destroyed && !socket.errored) callbacks.delete(gone);
  });
}
