import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

/** A client on a TLS connection of its own, which sends what it likes. */
export interface TlsClient {
  socket: TLSSocket;
  /** All that it was answered so far. */
  answer: string;
  /** When the connection is gone, its error if there was one. */
  closed: Promise<Error | undefined>;
}

/** Opens a client that sends these bytes. It trusts any server, unless `options` say otherwise. */
export function tlsClient(url: string, bytes = '', options: ConnectionOptions = {}): TlsClient {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options });
  let error: Error | undefined;
  const client: TlsClient = {
    socket,
    answer: '',
    closed: new Promise((resolve) => socket.once('close', () => resolve(error))),
  };
  socket.on('data', (chunk) => {
    client.answer += chunk;
  });
  socket.on('error', (cause) => {
    error = cause;
  });
  socket.write(bytes);
  return client;
}

export const GET = (path: string, connection = 'close') =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: ${connection}\r\n\r\n`;
