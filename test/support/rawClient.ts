import { connect, type Socket } from 'node:net';
import { until } from './until.ts';

/** A client on a socket of its own, which sends what it likes. */
export interface RawClient {
  socket: Socket;
  /** All that it was answered so far. */
  answer: string;
  /** The status of the first answer, when it is there. */
  status(): Promise<number>;
  /** When the connection is gone. */
  closed: Promise<void>;
}

/** Opens a client that sends these bytes. */
export function rawClient(url: string, bytes = '', { reads = true } = {}): RawClient {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  const client: RawClient = {
    socket,
    answer: '',
    status: async () => Number((await until(() => /^HTTP\/1\.1 (\d+)/.exec(client.answer)))[1]),
    closed: new Promise((resolve) => socket.once('close', () => resolve())),
  };
  if (reads)
    socket.on('data', (chunk) => {
      client.answer += chunk;
    });
  socket.on('error', () => undefined);
  socket.write(bytes);
  return client;
}

/** The head of a POST with a JSON body. */
export const head = (path: string, header: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;

export const headOf = (path: string, bytes: number) => head(path, `Content-Length: ${bytes}`);
