import type { FastifyRequest } from 'fastify';
import type { Credential } from '../../../src/access/access.ts';
import { idsOf } from '../../../src/traceparent.ts';
import { timesSent } from '../connection/head.ts';
import { clientName } from './clientCertificate.ts';

const BEARER = 'Bearer ';

/** The token in `Authorization: Bearer <token>`. */
function tokenIn(authorization: string): string | undefined {
  if (authorization.startsWith(BEARER)) return authorization.slice(BEARER.length).trimStart();
  return /^bearer +(.*)$/i.exec(authorization)?.[1];
}

/** Why a header is no credential, if it is none. `rawHeaders` has each one that was sent. */
function flawIn(token: string | undefined, rawHeaders: string[]): string | undefined {
  if (timesSent(rawHeaders, 'authorization') > 1) return 'there are two headers Authorization';
  return token === undefined ? 'the header Authorization has another scheme than Bearer' : undefined;
}

/** What a request shows to say who sends it. The header goes before the certificate. */
export function credentialOf(request: FastifyRequest): Credential {
  const { headers, raw } = request;
  const { authorization } = headers;
  const certificate = clientName(request);
  const connection = raw.socket;
  const ids = { reqId: request.id, traceId: idsOf(headers.traceparent)?.traceId };
  if (authorization === undefined) {
    const flaw = certificate === undefined ? 'there is no Authorization' : undefined;
    return { token: undefined, flaw, certificate, connection, ids };
  }
  const token = tokenIn(authorization);
  const flaw = flawIn(token, raw.rawHeaders);
  return { token: token ?? authorization, flaw, certificate, connection, ids };
}
