import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Over = (isHungUp: boolean) => void;

/** Whom to tell when a connection closes. Pipelined requests share one. */
const told = new WeakMap<Socket, Set<Over>>();

function toldOf(socket: Socket): Set<Over> {
  let waiting = told.get(socket);
  if (!waiting) {
    const opened = new Set<Over>();
    waiting = opened;
    told.set(socket, opened);
    socket.once('close', () => {
      for (const over of opened) over(true);
      opened.clear();
    });
  }
  return waiting;
}

/**
 * Calls `over` once, when a connection is done with an answer: it has taken the whole answer, or it closed before, which is a
 * hang-up. At once, when the connection is at its end already. Node drops what is written to a connection at its end, and calls
 * the answer finished all the same. Only an answer that finishes on a living connection was taken. An answer that waits behind
 * another one never hears of the close itself.
 */
export function onceOver(socket: Socket, answer: ServerResponse, over: Over): void {
  if (socket.destroyed) {
    over(true);
    return;
  }
  const waiting = toldOf(socket);
  waiting.add(over);
  answer.once('finish', () => {
    if (!socket.destroyed && !socket.errored && waiting.delete(over)) over(false);
  });
}
