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
/** What Linux knows of TCP. Not /proc/net: that is gone where /proc shows processes only (ProcSubset=pid of systemd). */
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];

/** What is known of a connection: its bytes without an acknowledgement at the last look, and how often these grew in a row. */
interface Sent {
  bytes: number;
  grown: number;
}

const isLinux = process.platform === 'linux';

/** The inode of a connection's socket. Undefined where it is none of the system's. @throws where /proc is not readable */
function inodeOf(socket: Socket): string | undefined {
  const { fd } = (socket as unknown as { _handle?: { fd?: number } })._handle ?? {};
  if (fd === undefined || fd < 0) return undefined;
  return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
}

/** Adds how many bytes of each connection were sent and not acknowledged, by its inode. */
function readTable(text: string, bytesOf: Map<string, number>): void {
  for (const line of text.split('\n').slice(1)) {
    const [, , , , queues = '', , , , , inode = ''] = line.trim().split(/\s+/);
    bytesOf.set(inode, Number.parseInt(queues, 16));
  }
}

/** `tx_queue` in proc_net_tcp(5). A machine without IPv6 has one table of two. @throws where there is none */
async function unacknowledged(tables: string[]): Promise<Map<string, number>> {
  const bytesOf = new Map<string, number>();
  const read = await Promise.allSettled(
    tables.map(async (table) => readTable(await readFile(table, 'latin1'), bytesOf)),
  );
  if (read.every(({ status }) => status === 'rejected')) throw (read[0] as PromiseRejectedResult).reason;
  return bytesOf;
}

/**
 * Closes connections to which something is written all the time, and from which no acknowledgement comes. A cable that is
 * cut and a machine without power close no connection, and TCP tries for 15 minutes (tcp_retries2 in tcp(7)). `warn` hears once
 * that the system does not tell what is acknowledged.
 */
export function createUnanswered(warn: (line: string) => void, everyMs = EVERY_MS, tables = TABLES) {
  const watched = new Map<Socket, Sent & { inode: string }>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let hasWarned = false;

  function unreadable(error: unknown): void {
    const { message } = error as Error;
    if (!hasWarned) warn(`a machine that vanishes is noticed when TCP gives up, after minutes: ${message}`);
    hasWarned = true;
  }

  function findInode(socket: Socket): string | undefined {
    try {
      return isLinux && !socket.destroyed ? inodeOf(socket) : undefined;
    } catch (error) {
      unreadable(error);
      return undefined;
    }
  }

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const bytesOf = await unacknowledged(tables).catch(unreadable);
    isLooking = false;
    if (!bytesOf) return;
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
      const inode = findInode(socket);
      if (inode === undefined || watched.has(socket)) return () => undefined;
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
  const unanswered = createUnanswered((line) => app.log.warn(line));
  app.decorate('closeUnanswered', unanswered.watch);
  app.addHook('onClose', async () => unanswered.close());
}
