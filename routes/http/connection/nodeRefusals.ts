import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Refusal } from '../../../src/errors.ts';
import { httpRefusal, type ProblemCode } from '../answers/httpRefusal.ts';
import { invalidPart, payloadTooLarge } from '../answers/invalidPart.ts';
import { toProblem } from '../answers/problems.ts';
import { NO_SNIFF } from '../security/noSniff.ts';

/** With these options, Node's server passes on a request without `Host`, instead of refusing it with an empty body. */
export const leaveRefusalsToUs = { requireHostHeader: false };

/** The refusal of a request that never reaches a route, by Node's error code. */
function refusalOfClient(code: string | undefined, maxHeaderBytes: number): Refusal<ProblemCode> {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return httpRefusal(
        'request_timeout',
        'The request did not arrive in time. Nothing was done. Send it again.',
      );
    case 'HPE_HEADER_OVERFLOW':
      return httpRefusal(
        'headers_too_large',
        `The request line and the headers are larger than ${maxHeaderBytes} bytes.`,
      );
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return payloadTooLarge('The chunk extensions of the body are too large.');
    default:
      return invalidPart(
        [{ in: 'header', path: '', message: 'must be valid HTTP' }],
        'The request is not valid HTTP.',
      );
  }
}

/** A whole answer as bytes. */
function rawAnswer(refusal: Refusal<ProblemCode>): string {
  const problem = toProblem(refusal);
  const body = JSON.stringify(problem);
  return (
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\ncontent-type: application/problem+json\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${randomUUID()}\r\n${NO_SNIFF.join(': ')}\r\nconnection: close\r\n\r\n${body}`
  );
}

/** How long a client that was refused may take to read the answer and to close. */
export const LINGER_MS = 1000;

/**
 * Answers a request that is not valid HTTP, too large in its headers, or too late. Then it ends the connection, also if
 * the client never closes its side.
 */
export function refuseClient({ code }: { code?: string }, socket: Socket, maxHeaderBytes: number): void {
  // Where the handshake of TLS failed, the client could not read an answer.
  if (!socket.writable || /^ERR_(SSL|TLS)_/.test(code ?? '')) {
    socket.destroy();
    return;
  }
  socket.end(rawAnswer(refusalOfClient(code, maxHeaderBytes)));
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Serves a request with an unknown `Expect`, as RFC 9110, 10.1.1 allows. Node's server refuses it with an empty body. */
export function serveAnyExpectation(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}
