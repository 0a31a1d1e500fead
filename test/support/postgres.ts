import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbedded } from '../../src/embedded/index.ts';
import { fillDataDir } from './cluster.ts';

/** A directory, until `remove` is called. */
export async function temporaryDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'dibs-test-'));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** A DATA_DIR with a PostgreSQL that never ran, until `remove` is called. */
export async function filledDataDir() {
  const directory = await temporaryDirectory();
  fillDataDir(directory.path);
  return directory;
}

export function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}

/** The processes of the PostgreSQL under a DATA_DIR, its first one first. None when it has ended. */
export function postgresPids(dataDir: string): number[] {
  let postmaster: number;
  try {
    postmaster = Number(
      readFileSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').split('\n')[0],
    );
  } catch {
    return [];
  }
  if (parentOf(String(postmaster)) === 0) return [];
  const children = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && parentOf(pid) === postmaster);
  return [postmaster, ...children.map(Number)];
}

export function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // A backend that has ended by itself.
    }
  }
}

interface Relay extends Server {
  /** From now on, what either side sends is lost, and so are new connections. Nobody is told. */
  swallow(): void;
  cut(): Promise<void>;
}

/** A relay with a fixed address to a server whose port may change. */
export async function openRelay(port: number, target: () => number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let swallows = false;
  const relay = createServer((near) => {
    if (swallows) {
      sockets.add(near.resume().on('error', () => undefined));
      near.on('close', () => sockets.delete(near));
      return;
    }
    const far = connect(target(), '127.0.0.1');
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
      socket.on('data', (chunk) => {
        if (!swallows && !other.write(chunk)) socket.pause();
      });
      other.on('drain', () => socket.resume());
    }
  }).listen(port, '127.0.0.1');
  await once(relay, 'listening');
  return Object.assign(relay, {
    swallow() {
      swallows = true;
    },
    async cut() {
      const closed = once(relay, 'close');
      relay.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  });
}

/** A PostgreSQL that can go away and come back at the same address. */
export async function unreliablePostgres() {
  const directory = await filledDataDir();
  let server: EmbeddedPostgres | undefined;
  let relay: Awaited<ReturnType<typeof openRelay>> | undefined;
  let target = 0;
  let url = '';
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();

  async function start(): Promise<string> {
    if (server) return url;
    server = await startEmbedded({
      dataDir: directory.path,
      log: () => undefined,
      settings: { fsync: 'off' },
    });
    const direct = new URL(server.url);
    target = Number(direct.port);
    relay = await openRelay(port, () => target);
    direct.port = String(port);
    url = direct.href;
    return url;
  }

  async function stop(): Promise<void> {
    await server?.stop();
    await relay?.cut();
    server = undefined;
    relay = undefined;
  }

  await start();
  return {
    url,
    start,
    stop,
    /** Stops all its processes. Connections stay open and new ones are accepted, but nothing is answered. */
    freeze: () => signalAll(postgresPids(directory.path), 'SIGSTOP'),
    thaw: () => signalAll(postgresPids(directory.path), 'SIGCONT'),
    /** The network loses every packet: a black hole. */
    vanish: () => relay?.swallow(),
    /** The network works again. The connections of before are gone. */
    async appear() {
      await relay?.cut();
      relay = await openRelay(port, () => target);
    },
    async remove() {
      signalAll(postgresPids(directory.path), 'SIGCONT');
      await stop();
      await directory.remove();
    },
  };
}
