import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';

interface Client {
  name: string | undefined;
  /** In milliseconds since 1970. A connection may last longer than its certificate. */
  validTo: number;
}

const NOBODY: Client = { name: undefined, validTo: 0 };
const PLAIN_NAME = /^[^\p{C}]{1,256}$/u;

/** A connection keeps its certificate. To look into it takes 0.2 ms, and into this map less than 1 µs. */
const clients = new WeakMap<TLSSocket, Client>();

function clientOf(socket: TLSSocket): Client {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return NOBODY;
  // With several CNs it is a list, and none of them is the name.
  const name: unknown = certificate.toLegacyObject().subject?.CN;
  if (typeof name !== 'string' || !PLAIN_NAME.test(name)) return NOBODY;
  return { name, validTo: Date.parse(certificate.validTo) };
}

/**
 * The name (CN of the subject) in the certificate with which a client opened its connection. Undefined without a
 * certificate, and for one that is expired, or that no authority in TLS_CLIENT_CA vouches for.
 */
export function clientName({ raw: { socket } }: Pick<FastifyRequest, 'raw'>): string | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  let client = clients.get(socket);
  if (client === undefined) {
    client = clientOf(socket);
    clients.set(socket, client);
  }
  return client.validTo > Date.now() ? client.name : undefined;
}
