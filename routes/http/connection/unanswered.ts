import { readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { App } from './fastify.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** From now on, until the returned function is called or the connection is closed. */
    closeUnanswered(socket: Socket): () => void;
  }
}

/** As often as lines are written. */
const EVERY_MS = 3000;
/** So many looks in a row that find more bytes without an acknowledgement than the one before: lines of 9 s. */
const MOST_GROWN = 3;

/** What is known of a connection: its bytes without an acknowledgement at the last look, and how often these grew in a row. */
interface Sent {
  bytes: number;
  grown: number;
}

/** The inode of a connection's socket. Undefined where the system does not tell it. */
function inodeOf(socket: Socket): string | undefined {
  const { fd } = (socket as unknown as { _handle?: { fd?: number } })._handle ?? {};
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
  } catch {
    return undefined;
  }
}

/** Adds how many bytes of each connection were sent and not acknowledged, by its inode. */
function readTable(text: string, bytesOf: Map<string, number>): void {
  for (const line of text.split('\n').slice(1)) {
    const [, , , , queues = '', , , , , inode = ''] = line.trim().split(/\s+/);
    bytesOf.set(inode, Number.parseInt(queues, 16));
  }
}

/** `tx_queue` in proc_net_tcp(5). Empty where the system has no such files: only Linux has. */
async function unacknowledged(): Promise<Map<string, number>> {
  const bytesOf = new Map<string, number>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6'])
    readTable(await readFile(file, 'latin1').catch(() => ''), bytesOf);
  return bytesOf;
}

/**
 * Closes connections to which something is written all the time, and from which no acknowledgement comes. A cable that is
 * cut and a machine without power close no connection, and TCP tries for 15 minutes (tcp_retries2 in tcp(7)).
 */
export function createUnanswered(everyMs = EVERY_MS) {
  const watched = new Map<Socket, Sent & { inode: string }>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const bytesOf = await unacknowledged();
    isLooking = false;
    for (const [socket, sent] of watched) {
      const bytes = bytesOf.get(sent.inode) ?? 0;
      if (bytes === 0 || bytes < sent.bytes) sent.grown = 0;
      else if (bytes > sent.bytes) sent.grown++;
      sent.bytes = bytes;
      if (sent.grown > MOST_GROWN) socket.destroy();
    }
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /** From now on, until the returned function is called or the connection is closed. */
    watch(socket: Socket): () => void {
      const inode = inodeOf(socket);
      if (inode === undefined || watched.has(socket) || socket.destroyed) return () => undefined;
      function forget(): void {
        socket.off('close', forget);
        watched.delete(socket);
        if (watched.size === 0) stop();
      }
      watched.set(socket, { inode, bytes: 0, grown: 0 });
      timer ??= setInterval(() => void look(), everyMs).unref();
      socket.once('close', forget);
      return forget;
    },
    close(): void {
      watched.clear();
      stop();
    },
  };
}

export function closeUnansweredConnections(app: App): void {
  const unanswered = createUnanswered();
  app.decorate('closeUnanswered', unanswered.watch);
  app.addHook('onClose', async () => unanswered.close());
}
