import type { Variables } from './variables.ts';

/** What a client may take of connections, headers and time. */
export interface HttpLimits {
  maxConnections: number;
  /** The request line and the headers together. */
  maxHeaderBytes: number;
  maxHeaders: number;
  /** How long a connection may be idle. */
  keepAliveMs: number;
  /** How long a request may take to arrive, with its body; and a TLS handshake. */
  requestTimeoutMs: number;
  /** How long a client may take no byte of an answer. */
  answerTimeoutMs: number;
  /** How long a connection may have answers behind one that is not made yet, so many that it is not read. No variable sets it. */
  unreadMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  maxConnections: 10_000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  // Longer than the idle time of the usual proxies, which is 60 s: who closes first must be the proxy.
  keepAliveMs: 75_000,
  // The slowest client for which this is enough sends 4.5 Mbit/s.
  requestTimeoutMs: 30_000,
  answerTimeoutMs: 30_000,
  // Longer than any call that waits for nothing but the database.
  unreadMs: 5000,
};

export function readLimits({ integer }: Variables): HttpLimits {
  const seconds = (name: string, fallbackMs: number) => 1000 * integer(name, fallbackMs / 1000, 1, 3600);
  return {
    maxConnections: integer('MAX_CONNECTIONS', HTTP_LIMITS.maxConnections, 1, 1_000_000),
    maxHeaderBytes: integer('MAX_HEADER_BYTES', HTTP_LIMITS.maxHeaderBytes, 1024, 256 * 1024),
    maxHeaders: integer('MAX_HEADERS', HTTP_LIMITS.maxHeaders, 10, 10_000),
    keepAliveMs: seconds('KEEP_ALIVE_SECONDS', HTTP_LIMITS.keepAliveMs),
    requestTimeoutMs: seconds('REQUEST_TIMEOUT_SECONDS', HTTP_LIMITS.requestTimeoutMs),
    answerTimeoutMs: seconds('ANSWER_TIMEOUT_SECONDS', HTTP_LIMITS.answerTimeoutMs),
    unreadMs: HTTP_LIMITS.unreadMs,
  };
}
