import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cancel } from '../../src/postgres/cancel.ts';
import { connectionOptions } from '../../src/postgres/connection.ts';
import { temporaryDirectory } from '../support/postgres.ts';

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: Server;
beforeEach(async () => {
  directory = await temporaryDirectory();
  server = createServer();
});
afterEach(async () => {
  server.close();
  await directory.remove();
});

/** The first bytes that the server is sent. */
async function received(): Promise<Buffer> {
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.end();
  return bytes;
}

test.each(['127.0.0.1', 'a Unix socket'])('a cancel request reaches a server on %s', async (host) => {
  const isUnix = host === 'a Unix socket';
  if (isUnix) server.listen(join(directory.path, '.s.PGSQL.5432'));
  else server.listen(0, host);
  await once(server, 'listening');
  const url = isUnix
    ? `postgres:///dibs?host=${encodeURIComponent(directory.path)}`
    : `postgres://${host}:${(server.address() as AddressInfo).port}/dibs`;
  const bytes = received();
  cancel({ processID: 4711, secretKey: 815 } as unknown as pg.ClientBase, connectionOptions(url));
  // PostgreSQL manual, "Message Formats": CancelRequest.
  const request = await bytes;
  expect([0, 4, 8, 12].map((at) => request.readInt32BE(at))).toEqual([16, 80877102, 4711, 815]);
});
