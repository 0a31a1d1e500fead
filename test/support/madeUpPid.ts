import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where the message BackendKeyData begins. Undefined while it has not come (PostgreSQL manual, "Message Formats"). */
function keyDataAt(bytes: Buffer): number | undefined {
  let at = 0;
  while (at + 5 <= bytes.length) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (end > bytes.length) return undefined;
    if (bytes[at] === 'K'.charCodeAt(0)) return at;
    at = end;
  }
  return undefined;
}

/** Passes on what a server sends, but for the number of its process. */
function passOn(far: Socket, near: Socket): void {
  let start: Buffer | undefined = Buffer.alloc(0);
  far.on('data', (chunk) => {
    // A lone N is no message: it answers whether the server speaks TLS.
    if (start === undefined || String(chunk) === 'N') return void near.write(chunk);
    start = Buffer.concat([start, chunk]);
    const at = keyDataAt(start);
    if (at === undefined) {
      // Before it, the server asks for the password. The client must hear that.
      near.write(chunk);
      return;
    }
    const from = start.length - chunk.length;
    start.writeInt32BE(1, at + 5);
    near.write(start.subarray(from));
    start = undefined;
  });
}

/**
 * A server as Dibs sees it behind a pooler: one that makes up the number of the process. Dibs then takes for granted that the next
 * transaction has another connection.
 */
export async function madeUpPid(url: string): Promise<{ url: string; close(): void }> {
  const server = new URL(url);
  const sockets = new Set<Socket>();
  const relay = createServer((near) => {
    const far = connect(Number(server.port), server.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    near.pipe(far);
    passOn(far, near);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String((relay.address() as AddressInfo).port);
  return {
    url: through.href,
    close() {
      relay.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
