import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * The address of the client, for limits and the audit. Behind a proxy of TRUST_PROXY it is the last one in
 * `X-Forwarded-For` that is no such proxy. What is no address, such as one with a port, counts as the proxy's own: a client
 * must not get a new limit with each port.
 */
export function clientAddress({ ip, raw }: Pick<FastifyRequest, 'ip' | 'raw'>): string {
  return isIP(ip) > 0 ? ip : (raw.socket.remoteAddress ?? '');
}

/** Tells callers apart, for limits. Where nobody needs a key, the address is the caller. */
export const callerId = (request: FastifyRequest): string => request.caller?.id ?? clientAddress(request);
