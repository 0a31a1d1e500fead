import { createVariables, type Variables } from './variables.ts';

/** What a client may take of connections, headers and time. */
export interface HttpLimits {
  maxConnections: number;
  /** The request line and the headers together. */
  maxHeaderBytes: number;
  maxHeaders: number;
  /** How long a connection may be idle. */
  keepAliveMs: number;
  /** How old a connection may become. 0: as old as it likes. */
  maxConnectionMs: number;
  /** How long a request may take to arrive, with its body; and a TLS handshake. */
  requestTimeoutMs: number;
  /** How long a client may take no byte of an answer. */
  answerTimeoutMs: number;
  /** How long a connection may have answers behind one that is not made yet, so many that it is not read. No variable sets it. */
  unreadMs: number;
}

export function readLimits({ integer }: Variables): HttpLimits {
  return {
    maxConnections: integer('MAX_CONNECTIONS'),
    maxHeaderBytes: integer('MAX_HEADER_BYTES'),
    maxHeaders: integer('MAX_HEADERS'),
    keepAliveMs: 1000 * integer('KEEP_ALIVE_SECONDS'),
    maxConnectionMs: 1000 * integer('MAX_CONNECTION_SECONDS'),
    requestTimeoutMs: 1000 * integer('REQUEST_TIMEOUT_SECONDS'),
    answerTimeoutMs: 1000 * integer('ANSWER_TIMEOUT_SECONDS'),
    // Longer than any call that waits for nothing but the database.
    unreadMs: 5000,
  };
}

/** The limits of an empty environment. */
export const HTTP_LIMITS = readLimits(createVariables({}));
