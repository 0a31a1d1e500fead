import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BODY_LIMIT } from '../json/bodyLimits.ts';
import { LINGER_MS } from './nodeRefusals.ts';

/** Whether the rest of a body costs little: it is read, and the connection serves further requests. */
function isShort({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= BODY_LIMIT;
}

/**
 * Reads no more of a connection, and ends it after its last answer. The client may read that answer while it still sends:
 * if the connection were destroyed at once, with bytes that nobody has read, the client would see a reset instead.
 */
function readNoMore(socket: Socket): void {
  socket.pause();
  const stayPaused = () => socket;
  const endSlowly = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
  // Node's server resumes it to throw away the rest of a body. In chunks of one byte, that takes a second for each 10 MB.
  // No function literals here: see docs/decisions/0045-garbage-dies-young.md.
  socket.resume = stayPaused;
  socket.destroySoon = endSlowly;
}

/**
 * An answer may be there before the body of its request: a refusal by the head, or an answer of a route that reads no body.
 * Unless the rest of the body is short, nobody reads it.
 */
export class EarlyAnswer extends ServerResponse {
  override writeHead(...head: [number, ...unknown[]]): this {
    if (!this.req.complete && !isShort(this.req)) {
      this.setHeader('connection', 'close');
      readNoMore(this.req.socket);
    }
    return super.writeHead(...(head as [number, OutgoingHttpHeaders]));
  }
}
