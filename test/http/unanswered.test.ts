import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createUnanswered } from '../../routes/http/connection/unanswered.ts';
import { until } from '../support/until.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).toReversed()) await one();
});

/** A connection that is watched, with a look every 50 ms, and its client. */
async function watched(tables?: string[]) {
  const warnings: string[] = [];
  const unanswered = createUnanswered((line) => warnings.push(line), 50, tables);
  undo.push(unanswered.close);
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  client.on('error', () => undefined);
  const [socket] = await accepted;
  socket.on('error', () => undefined);
  undo.push(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  unanswered.watch(socket);
  return { socket, client, warnings, write: (bytes: number) => socket.write(Buffer.alloc(bytes)) };
}

test.skipIf(process.platform !== 'linux')(
  'a connection is closed when ever more of what is sent is not acknowledged',
  async () => {
    const { socket, client, write } = await watched();
    client.pause();
    await until(() => {
      write(100_000);
      return socket.destroyed;
    });
  },
);

test('a connection whose client acknowledges what is sent is left alone', async () => {
  const { socket, client, write } = await watched();
  client.resume();
  for (let i = 0; i < 40; i++) {
    write(100);
    await sleep(25);
  }
  expect(socket.destroyed).toBe(false);
});

test.skipIf(process.platform !== 'linux')(
  'the log says once that nobody tells what is acknowledged',
  async () => {
    const { warnings } = await watched(['/nowhere/tcp', '/nowhere/tcp6']);
    await until(() => warnings.length > 0);
    await sleep(200);
    expect(warnings).toEqual([expect.stringMatching(/^a machine that vanishes .*\/nowhere\/tcp/)]);
  },
);

test.skipIf(process.platform !== 'linux')(
  'a machine without IPv6 has one of the tables, which is enough',
  async () => {
    const { warnings } = await watched(['/proc/self/net/tcp', '/nowhere/tcp6']);
    await sleep(200);
    expect(warnings).toEqual([]);
  },
);
