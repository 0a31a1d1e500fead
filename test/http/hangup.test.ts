import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import { watch } from '../../routes/http/connection/hangup.ts';

const REQUEST = 'GET / HTTP/1.1\r\nhost: h\r\n\r\n';

/**
 * Sends requests on one connection, which `answer` answers and closes. Returns how many of them were told of a hang-up, once
 * the connection is closed.
 */
async function toldOf(
  requests: number,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<number> {
  let told = 0;
  const server = createServer((request, response) => {
    let isHungUp = false;
    watch(request.socket, response, {
      hungUp() {
        isHungUp = true;
      },
      left() {
        if (isHungUp) told++;
      },
    });
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined).resume();
  client.write(REQUEST.repeat(requests));
  await once(client, 'close');
  server.close();
  await once(server, 'close');
  return told;
}

test('a connection that closes before the answer is a hang-up', async () => {
  expect(await toldOf(1, ({ socket }) => socket.destroy())).toBe(1);
});

test('an answer that comes between the end of the connection and its close is a hang-up', async () => {
  const told = toldOf(1, ({ socket }, response) => {
    socket.destroy();
    response.end('jobs');
  });
  expect(await told).toBe(1);
});

test('an answer of which the connection took a part only is a hang-up', async () => {
  const told = toldOf(1, ({ socket }, response) => {
    response.end(Buffer.alloc(64 * 2 ** 20));
    socket.destroy();
  });
  expect(await told).toBe(1);
});

test('so is an answer that waits behind that of another request of the connection', async () => {
  let arrived = 0;
  const told = toldOf(20, ({ socket }, response) => {
    if (++arrived > 1) response.end('jobs');
    if (arrived === 20) socket.destroy();
  });
  expect(await told).toBe(20);
});

test('a connection that closes behind the answer is none', async () => {
  const told = toldOf(1, ({ socket }, response) => {
    response.end('jobs', () => socket.end());
  });
  expect(await told).toBe(0);
});

/** Sends three requests on one connection, and resets it as soon as it has read the answer `taken`. */
const RESETS = `
  const [port, request] = process.argv.slice(1);
  const socket = require('node:net').connect(port, '127.0.0.1', () => socket.write(request.repeat(3)));
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => String(chunk).includes('taken') && socket.resetAndDestroy());
`;

test('nor is one that breaks when it has taken the answer, and the one behind it cannot be written any more', async () => {
  const hungUp: number[] = [];
  const answers: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const at = answers.push(response) - 1;
    watch(request.socket, response, { hungUp: () => hungUp.push(at), left: () => undefined });
    if (answers.length < 3) return;
    answers[1]?.end('behind');
    answers[2]?.end('behind');
    answers[0]?.end('taken');
    // This process hears of the reset only when it writes again.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = spawn(process.execPath, ['-e', RESETS, `${port}`, REQUEST]);
  await once(client, 'exit');
  server.close();
  await once(server, 'close');
  expect(answers).toHaveLength(3);
  expect(hungUp).not.toContain(0);
  expect(hungUp).toContain(2);
});
