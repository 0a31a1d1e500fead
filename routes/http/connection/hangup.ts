import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Is told what a connection does with one answer. */
export interface Watcher {
  /** The client hung up before it had the whole answer. It may be told more than once. */
  hungUp(): void;
  /** The connection is done with the answer: it has taken the whole, or it is closed. */
  left(): void;
}

/** Whom to tell when a connection ends. Pipelined requests share one. */
const told = new WeakMap<Socket, Set<Watcher>>();

function toldOf(socket: Socket): Set<Watcher> {
  let watchers = told.get(socket);
  if (!watchers) {
    const opened = new Set<Watcher>();
    watchers = opened;
    told.set(socket, opened);
    // Node closes its half when the client has ended its own. That takes some passes of the event loop.
    socket.once('end', () => {
      for (const watcher of opened) watcher.hungUp();
    });
    socket.once('close', () => {
      for (const watcher of opened) {
        watcher.hungUp();
        watcher.left();
      }
      opened.clear();
    });
  }
  return watchers;
}

/**
 * Tells what a connection does with an answer, at once when it is at its end already. Node drops what is written to a connection
 * at its end, and calls the answer finished all the same. Only an answer that finishes on a living connection was taken. An
 * answer that waits behind another one never hears of the close itself.
 */
export function watch(socket: Socket, answer: ServerResponse, watcher: Watcher): void {
  if (socket.readableEnded || socket.destroyed) watcher.hungUp();
  if (socket.destroyed) {
    watcher.left();
    return;
  }
  const watchers = toldOf(socket);
  watchers.add(watcher);
  // Before Node's own listener: that one writes the next answer, and a failure of that write says nothing of this answer.
  answer.prependOnceListener('finish', () => {
    if (!socket.readableEnded && !socket.destroyed && !socket.errored && watchers.delete(watcher))
      watcher.left();
  });
}
